// Every distribution against its exact law: counts of drawn indices by chi-square, over cells of
// neighbouring indices whose probabilities are computed from the law's definition and not by the
// code that draws.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/random/xoshiro256pp.h"
#include "assay/workload/bell.h"
#include "assay/workload/check.h"
#include "assay/workload/generator.h"
#include "assay/workload/histogram.h"
#include "assay/workload/index_source.h"
#include "assay/workload/latest.h"
#include "assay/workload/scramble.h"
#include "assay/workload/strips.h"
#include "assay/workload/zipf.h"

namespace assay::workload {
namespace {

using kind = distribution_kind;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t largest_range = std::uint64_t{1} << 40;

struct drawn_index {
  std::uint64_t index;
  std::uint64_t fraction;

  friend bool operator==(const drawn_index&, const drawn_index&) = default;
};

std::vector<drawn_index> draw(index_source& source, std::size_t count,
                              const std::vector<std::size_t>& lengths = {512}) {
  std::vector<drawn_index> drawn;
  std::array<std::uint64_t, 512> indices;
  std::array<std::uint64_t, 512> fractions;
  for (std::size_t i = 0; drawn.size() < count; ++i) {
    const std::size_t length = std::min(lengths[i % lengths.size()], count - drawn.size());
    source.fill(std::span(indices).first(length), std::span(fractions).first(length));
    for (std::size_t j = 0; j < length; ++j) drawn.push_back({indices[j], fractions[j]});
  }
  return drawn;
}

std::unique_ptr<index_source> source_of(const distribution& keys, std::uint64_t range,
                                        std::uint64_t seed = 7, thread_place place = {}) {
  return make_index_source({range, key_layout::dense, 3}, {.keys = keys, .mix = {0, 0, 100}}, seed,
                           place);
}

std::vector<drawn_index> draw(const distribution& keys, std::uint64_t range, std::size_t count,
                              std::uint64_t seed = 7) {
  return draw(*source_of(keys, range, seed), count);
}

// Neighbouring indices, up to but without `end`, and the weight of all of them.
struct cell {
  std::uint64_t end;
  double weight;
};

// How many standard deviations the chi-square statistic of what was drawn lies above its mean, or
// below it if negative. Each cell is split by the highest bit of the fraction, which must be
// independent of the index; cells in which few draws are expected are merged with their neighbours.
// An index beyond the last cell counts as a great deviation.
double deviation(const std::vector<drawn_index>& drawn, const std::vector<cell>& cells) {
  const double total = std::accumulate(cells.begin(), cells.end(), 0.0,
                                       [](double sum, const cell& c) { return sum + c.weight; });
  constexpr double fewest = 20;
  std::vector<std::uint64_t> ends;
  std::vector<double> expected;
  double gathered = 0;
  for (const auto& cell : cells) {
    gathered += cell.weight / total * static_cast<double>(drawn.size());
    if (gathered < fewest && cell.end != cells.back().end) continue;
    if (gathered < fewest && !ends.empty()) {
      ends.back() = cell.end;
      expected.back() += gathered;
    } else {
      ends.push_back(cell.end);
      expected.push_back(gathered);
    }
    gathered = 0;
  }
  std::vector<std::array<double, 2>> seen(ends.size());
  for (const auto& [index, fraction] : drawn) {
    const auto at = std::ranges::upper_bound(ends, index) - ends.begin();
    if (static_cast<std::size_t>(at) == ends.size()) return 1e9;
    ++seen[static_cast<std::size_t>(at)][fraction >> 63];
  }
  double chi_square = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (const double count : seen[i]) {
      chi_square += (count - expected[i] / 2) * (count - expected[i] / 2) / (expected[i] / 2);
    }
  }
  const double freedom = 2 * static_cast<double>(ends.size()) - 1;
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

// A cell for each index.
std::vector<cell> each_index(std::uint64_t range, const std::function<double(double)>& weight) {
  std::vector<cell> cells;
  for (std::uint64_t i = 0; i < range; ++i) {
    cells.push_back({i + 1, weight(static_cast<double>(i))});
  }
  return cells;
}

double log_gamma(double x) {
  return std::lgamma(x);  // NOLINT(concurrency-mt-unsafe): there is one thread
}

// The sum of k^-s for k from a to b, by the Euler-Maclaurin formula if there are many.
double power_sum(double s, double a, double b) {
  if (b - a < 64) {
    double sum = 0;
    for (int before = 0; before <= static_cast<int>(b - a); ++before) {
      sum += std::pow(b - before, -s);
    }
    return sum;
  }
  const double ln = std::log(b / a);
  const double integral = std::pow(a, 1 - s) * (s == 1 ? ln : std::expm1((1 - s) * ln) / (1 - s));
  const auto f = [s](double x) { return std::pow(x, -s); };
  return integral + (f(a) + f(b)) / 2 + s / 12 * (f(a) / a - f(b) / b);
}

// Cells of at most 3% of their end each, over which the law differs much less than over a strip.
std::vector<cell> zipf_cells(double s, std::uint64_t range) {
  std::vector<cell> cells;
  for (std::uint64_t first = 1; first <= range;) {
    const std::uint64_t last = std::min(
        range, std::max(first, static_cast<std::uint64_t>(static_cast<double>(first) * 1.03)));
    cells.push_back({last, power_sum(s, static_cast<double>(first), static_cast<double>(last))});
    first = last + 1;
  }
  return cells;
}

class zipf_of : public ::testing::TestWithParam<double> {};

TEST_P(zipf_of, follows_its_law_over_small_and_large_ranges) {
  for (const std::uint64_t range :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{10}, std::uint64_t{257},
        std::uint64_t{1000}, std::uint64_t{1'000'000}, std::uint64_t{1'000'000'000},
        largest_range}) {
    const auto drawn = draw({.kind = kind::zipf, .exponent = GetParam()}, range, 500'000);
    EXPECT_LT(std::abs(deviation(drawn, zipf_cells(GetParam(), range))), 5) << range << " keys";
  }
}

INSTANTIATE_TEST_SUITE_P(exponents, zipf_of,
                         ::testing::Values(0, 0.5, 0.99, 1, 1.0000001, 1.2, 2, 5, 1000));

// Tails, where a wrong law shows last: the share of draws beyond each power of ten.
TEST(zipf, has_the_tail_of_its_law) {
  constexpr std::size_t count = 1'000'000;
  for (const double s : {0.99, 1.0, 1.2}) {
    const auto drawn = draw({.kind = kind::zipf, .exponent = s}, largest_range, count, 11);
    const double whole = power_sum(s, 1, 100) + power_sum(s, 101, 0x1p40);
    for (int power = 3; power <= 12; ++power) {
      const double from = std::pow(10, power);
      const double share = power_sum(s, from + 1, 0x1p40) / whole;
      const auto beyond = std::ranges::count_if(
          drawn, [&](const drawn_index& each) { return static_cast<double>(each.index) >= from; });
      EXPECT_NEAR(static_cast<double>(beyond), share * count,
                  5 * std::sqrt(share * (1 - share) * count))
          << s << ", from " << from;
    }
  }
}

TEST(zipf, is_set_up_alike_for_every_range_and_never_from_more_strips) {
  for (const std::uint64_t range : {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{65},
                                    std::uint64_t{255}, std::uint64_t{256}, std::uint64_t{257},
                                    std::uint64_t{300}, std::uint64_t{100'000}, largest_range}) {
    const auto hats = zipf(1, range).hats();
    EXPECT_LE(hats.size(), strip_table::most_strips);
    std::uint64_t next = 0;
    for (const auto& hat : hats) {
      EXPECT_EQ(hat.first, next);
      EXPECT_GT(hat.width, 0U);
      next += hat.width;
    }
    EXPECT_EQ(next, range);
  }
}

// The formula of Gray et al. (1994, section 3.2), which YCSB uses.
std::vector<drawn_index> draw_by_grays_formula(double s, std::uint64_t range, std::size_t count) {
  const auto n = static_cast<double>(range);
  const double zeta = power_sum(s, 1, 100) + power_sum(s, 101, n);
  const double alpha = 1 / (1 - s);
  const double eta = (1 - std::pow(2 / n, 1 - s)) / (1 - (1 + std::pow(0.5, s)) / zeta);
  random::xoshiro256pp engine(1);
  std::vector<drawn_index> drawn(count);
  for (auto& each : drawn) {
    const double u = static_cast<double>(engine() >> 11) * 0x1p-53;
    const double uz = u * zeta;
    each.index = uz < 1 ? 0
                 : uz < 1 + std::pow(0.5, s)
                     ? 1
                     : static_cast<std::uint64_t>(n * std::pow(eta * u - eta + 1, alpha));
    each.fraction = engine();
  }
  return drawn;
}

TEST(chi_square, finds_laws_that_are_a_little_wrong) {
  constexpr std::uint64_t range = 1'000'000;
  constexpr std::size_t count = 500'000;
  const auto cells = zipf_cells(0.99, range);
  const auto drawn = draw({.kind = kind::zipf, .exponent = 0.99}, range, count);
  EXPECT_LT(std::abs(deviation(drawn, cells)), 5);
  // A neighbouring exponent.
  EXPECT_GT(deviation(drawn, zipf_cells(0.98, range)), 5);
  EXPECT_GT(deviation(draw({.kind = kind::zipf, .exponent = 1}, range, count), cells), 5);
  // The approximation.
  EXPECT_GT(deviation(draw_by_grays_formula(0.99, range, count), cells), 5);
  // An index too many, or too few.
  auto shifted = drawn;
  for (auto& each : shifted) ++each.index;
  EXPECT_GT(deviation(shifted, cells), 5);
  // Strips from which everything is kept: a staircase above the law.
  std::vector<cell> staircase;
  for (const auto& hat : zipf(0.99, largest_range).hats()) {
    staircase.push_back(
        {hat.first + hat.width, static_cast<double>(hat.width) * std::exp(hat.log_height)});
  }
  EXPECT_GT(
      deviation(draw({.kind = kind::zipf, .exponent = 0.99}, largest_range, count), staircase), 5);
  // A choice of operation that depends on the key.
  auto dependent = drawn;
  for (auto& each : dependent)
    each.fraction = each.index % 16 < 8 ? each.fraction | 1UL << 63 : each.fraction;
  EXPECT_GT(deviation(dependent, cells), 5);
}

// What keys are drawn without evaluating the law must be below it, wherever in its strip.
template <class Law>
void expect_squeezes_below(const Law& law) {
  for (const auto& hat : law.hats()) {
    const strip strip{hat.first, hat.width, 0, 0};
    for (int part = 0; part <= 20; ++part) {
      const std::uint64_t distance = (hat.width - 1) * static_cast<unsigned>(part) / 20;
      const std::uint64_t index = hat.rising ? strip.last() - distance : hat.first + distance;
      const double line = 1 - hat.fall * static_cast<double>(distance);
      EXPECT_TRUE(line <= 0 || law.keeps(strip, index, line * (1 - 1e-10))) << index;
      EXPECT_FALSE(law.keeps(strip, index, 1 + 1e-9)) << index;
    }
  }
}

TEST(strips, are_squeezed_from_below_and_never_pierce_their_hats) {
  for (const std::uint64_t range : {std::uint64_t{1000}, std::uint64_t{1'000'003}, largest_range}) {
    const auto keys = static_cast<double>(range);
    for (const double s : {0.0, 0.5, 1.0, 2.0, 20.0}) expect_squeezes_below(zipf(s, range));
    for (const double mean : {0.0, 0.3, 1.0}) {
      for (const double spread : {0.00001, 0.1, 10.0}) {
        expect_squeezes_below(bell(normal(mean * keys, spread * keys, range), range));
      }
    }
    for (const double p : {1e-9, 0.01, 0.5, 0.999}) {
      expect_squeezes_below(bell(binomial(range - 1, p), range));
    }
    for (const double mean : {0.001, 0.1, 10.0}) {
      expect_squeezes_below(bell(exponential(mean * keys), range));
    }
  }
}

TEST(strips, never_draw_a_part_of_weight_0) {
  constexpr std::uint64_t range = 1000;
  for (const std::vector<double>& weights :
       {std::vector<double>{0, 1}, {1, 0, 0}, {0, 0, 0, 5, 0}, {1, 0, 1e-300, 1e300, 0, 1e300}}) {
    std::vector<double> seen(weights.size());
    for (const auto& each : draw({.kind = kind::empirical, .weights = weights}, range, 100'000)) {
      // The part that holds an index: parts begin at floor(i * range / n).
      std::size_t part = weights.size() - 1;
      while (part * range / weights.size() > each.index) --part;
      ++seen[part];
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_TRUE(weights[i] > 0 || seen[i] == 0) << i;
    }
  }
  const std::array none{hat{0, 10, -infinity}};
  EXPECT_THROW(strip_table{none}, std::invalid_argument);
}

TEST(hot_set, follows_its_law) {
  for (const std::uint64_t range : {std::uint64_t{2}, std::uint64_t{1000}, largest_range}) {
    for (const auto& [operations, keys] : {std::pair{90.0, 10.0},
                                           {50.0, 50.0},
                                           {100.0, 10.0},
                                           {90.0, 100.0},
                                           {100.0, 100.0},
                                           {1.0, 1.0},
                                           {0.01, 99.0}}) {
      const std::uint64_t hot = hot_keys(keys, range);
      const auto part_of = [](std::uint64_t whole, std::uint64_t part) {
        return whole * part / 20;
      };
      const auto share_of = [&](std::uint64_t whole, std::uint64_t part) {
        const std::uint64_t keys_in_it = part_of(whole, part) - part_of(whole, part - 1);
        return static_cast<double>(keys_in_it) / static_cast<double>(whole);
      };
      std::vector<cell> cells;
      for (std::uint64_t part = 1; part <= 20; ++part) {
        cells.push_back(
            {part_of(hot, part), (hot == range ? 100 : operations) * share_of(hot, part)});
      }
      const std::uint64_t cold = range - hot;
      for (std::uint64_t part = 1; cold > 0 && part <= 20; ++part) {
        cells.push_back({hot + part_of(cold, part), (100 - operations) * share_of(cold, part)});
      }
      const auto drawn =
          draw({.kind = kind::hot_set, .operations_percent = operations, .keys_percent = keys},
               range, 200'000);
      EXPECT_LT(std::abs(deviation(drawn, cells)), 5) << operations << " " << keys << " " << range;
    }
  }
}

TEST(hot_set, has_at_least_one_hot_key) {
  EXPECT_EQ(hot_keys(0.001, 10), 1U);
  EXPECT_EQ(hot_keys(10, 25), 3U);
  EXPECT_EQ(hot_keys(100, 7), 7U);
}

TEST(exponential, follows_its_law) {
  for (const std::uint64_t range : {std::uint64_t{2}, std::uint64_t{100}, std::uint64_t{100'000}}) {
    for (const double percent : {0.01, 1.0, 10.0, 100.0, 1e6}) {
      const double mean = percent / 100 * static_cast<double>(range);
      const auto cells = each_index(range, [&](double k) { return std::exp(-k / mean); });
      const auto drawn = draw({.kind = kind::exponential, .mean_percent = percent}, range, 500'000);
      EXPECT_LT(std::abs(deviation(drawn, cells)), 5) << percent << "% of " << range;
    }
  }
}

// Cells of equal width, with the probability between their ends of a law that is given by its
// distribution function.
std::vector<cell> equal_cells(std::uint64_t range, std::uint64_t count,
                              const std::function<double(double)>& below) {
  std::vector<cell> cells;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t first = range / count * i;
    const std::uint64_t end = i + 1 == count ? range : range / count * (i + 1);
    cells.push_back({end, below(static_cast<double>(end)) - below(static_cast<double>(first))});
  }
  return cells;
}

TEST(exponential, follows_its_law_over_the_largest_range) {
  for (const double percent : {1.0, 10.0, 100.0}) {
    const double mean = percent / 100 * 0x1p40;
    const auto cells =
        equal_cells(largest_range, 2000, [&](double x) { return -std::exp(-x / mean); });
    const auto drawn =
        draw({.kind = kind::exponential, .mean_percent = percent}, largest_range, 500'000);
    EXPECT_LT(std::abs(deviation(drawn, cells)), 5) << percent;
  }
}

TEST(normal, follows_its_law) {
  for (const std::uint64_t range : {std::uint64_t{2}, std::uint64_t{100}, std::uint64_t{1000},
                                    std::uint64_t{1'000'000}, largest_range}) {
    for (const auto& [mean, spread] : {std::pair{50.0, 10.0},
                                       {0.0, 30.0},
                                       {100.0, 30.0},
                                       {33.3, 0.5},
                                       {50.0, 1000.0},
                                       {-40.0, 20.0},
                                       {130.0, 5.0}}) {
      const double m = mean / 100 * static_cast<double>(range);
      const double d = spread / 100 * static_cast<double>(range);
      // By the upper tail above the mean and the lower one below, so that neither loses its digits.
      const auto cells = equal_cells(range, std::min<std::uint64_t>(range, 1000), [&](double x) {
        const double middle = std::clamp(m, 0.0, static_cast<double>(range));
        const double z = (x - m) / d / std::numbers::sqrt2;
        const double z_middle = (middle - m) / d / std::numbers::sqrt2;
        return m < 0 || (x > middle && m <= middle) ? std::erfc(z_middle) - std::erfc(z)
                                                    : std::erfc(-z) - std::erfc(-z_middle);
      });
      const auto drawn =
          draw({.kind = kind::normal, .mean_percent = mean, .deviation_percent = spread}, range,
               500'000);
      EXPECT_LT(std::abs(deviation(drawn, cells)), 5)
          << mean << "% and " << spread << "% of " << range;
    }
  }
}

TEST(normal, may_be_narrower_than_a_key) {
  for (const auto& each :
       draw({.kind = kind::normal, .mean_percent = 45, .deviation_percent = 1e-200}, 10, 1000)) {
    EXPECT_EQ(each.index, 4U);
  }
  // On the border of two keys, each of which then has half.
  const auto drawn =
      draw({.kind = kind::normal, .mean_percent = 50, .deviation_percent = 1e-3}, 10, 100'000);
  EXPECT_LT(std::abs(deviation(drawn, {{4, 0}, {5, 0.5}, {6, 0.5}})), 5);
}

TEST(binomial, follows_its_law) {
  for (const std::uint64_t range : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{20},
                                    std::uint64_t{1001}, std::uint64_t{200'000}}) {
    const double n = static_cast<double>(range) - 1;
    for (const double p : {0.00001, 0.01, 0.3, 0.5, 0.97}) {
      const auto cells = each_index(range, [&](double k) {
        return std::exp(log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1) +
                        k * std::log(p) + (n - k) * std::log1p(-p));
      });
      const auto drawn = draw({.kind = kind::binomial, .p = p}, range, 300'000);
      EXPECT_LT(std::abs(deviation(drawn, cells)), 5) << p << " of " << range;
    }
  }
}

// Where the law is the normal one but for terms of 1 / deviation, or Poisson's but for terms of p.
TEST(binomial, follows_its_law_over_the_largest_range) {
  const double n = 0x1p40 - 1;
  for (const double p : {0.1, 0.5}) {
    const double mean = n * p;
    const double spread = std::sqrt(n * p * (1 - p));
    std::vector<cell> cells{{static_cast<std::uint64_t>(mean - 5 * spread), 2.9e-7}};
    for (int step = -99; step <= 100; ++step) {
      const auto end = static_cast<std::uint64_t>(mean + 0.05 * step * spread);
      const auto to = (static_cast<double>(end) - 0.5 - mean) / spread / std::numbers::sqrt2;
      const auto from =
          (static_cast<double>(cells.back().end) - 0.5 - mean) / spread / std::numbers::sqrt2;
      cells.push_back({end, (std::erf(to) - std::erf(from)) / 2});
    }
    cells.push_back({largest_range, 2.9e-7});
    const auto drawn = draw({.kind = kind::binomial, .p = p}, largest_range, 500'000);
    EXPECT_LT(std::abs(deviation(drawn, cells)), 5) << p;
  }
  for (const double mean : {0.5, 3.0, 40.0}) {
    const auto cells = each_index(
        200, [&](double k) { return std::exp(k * std::log(mean) - mean - log_gamma(k + 1)); });
    const auto drawn = draw({.kind = kind::binomial, .p = mean / n}, largest_range, 500'000);
    EXPECT_LT(std::abs(deviation(drawn, cells)), 5) << mean;
  }
}

TEST(binomial, of_certain_tries_is_certain) {
  for (const auto& each : draw({.kind = kind::binomial, .p = 0}, 1000, 1000))
    EXPECT_EQ(each.index, 0U);
  for (const auto& each : draw({.kind = kind::binomial, .p = 1}, 1000, 1000))
    EXPECT_EQ(each.index, 999U);
  for (const auto& each : draw({.kind = kind::binomial, .p = 0.5}, 1, 1000))
    EXPECT_EQ(each.index, 0U);
}

TEST(empirical, follows_its_law) {
  const std::vector<double> weights{1, 0, 3, 0.5, 1e-9, 20, 2};
  for (const std::uint64_t range :
       {std::uint64_t{7}, std::uint64_t{10}, std::uint64_t{1000}, largest_range}) {
    std::vector<cell> cells;
    for (std::uint64_t i = 0; i < 7; ++i) {
      const std::uint64_t first = range * i / 7;
      const std::uint64_t end = range * (i + 1) / 7;
      for (std::uint64_t part = 1; part <= 4; ++part) {
        const std::uint64_t from = first + (end - first) * (part - 1) / 4;
        const std::uint64_t to = first + (end - first) * part / 4;
        cells.push_back(
            {to, weights[i] * static_cast<double>(to - from) / static_cast<double>(end - first)});
      }
    }
    const auto drawn = draw({.kind = kind::empirical, .weights = weights}, range, 300'000);
    EXPECT_LT(std::abs(deviation(drawn, cells)), 5) << range;
  }
}

TEST(empirical, adds_the_weights_of_parts_that_begin_in_one_key) {
  const auto drawn =
      draw({.kind = kind::empirical, .weights = {1, 2, 3, 4, 5, 6, 7, 1e-3}}, 3, 300'000);
  // Parts begin at floor(3 i / 8): 0, 0, 0, 1, 1, 1, 2, 2.
  EXPECT_LT(std::abs(deviation(drawn, {{1, 6}, {2, 15}, {3, 7.001}})), 5);
}

TEST(empirical, adds_huge_weights_without_overflow) {
  const auto drawn =
      draw({.kind = kind::empirical, .weights = {1e308, 1e308, 1.5e308}}, 3, 100'000);
  EXPECT_LT(std::abs(deviation(drawn, {{1, 2}, {2, 2}, {3, 3}})), 5);
}

TEST(sequential, walks_the_threads_part_in_order_and_over_again) {
  const auto indices = [](std::uint64_t range, thread_place place, std::size_t count) {
    std::vector<std::uint64_t> walked;
    for (const auto& each : draw(*source_of({.kind = kind::sequential}, range, 7, place), count)) {
      walked.push_back(each.index);
    }
    return walked;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(indices(5, {0, 1}, 7), ElementsAre(0, 1, 2, 3, 4, 0, 1));
  EXPECT_THAT(indices(5, {0, 2}, 3), ElementsAre(0, 1, 0));
  EXPECT_THAT(indices(5, {1, 2}, 4), ElementsAre(2, 3, 4, 2));
  EXPECT_THAT(indices(2, {2, 3}, 2), ElementsAre(1, 1));
  EXPECT_THAT(indices(2, {0, 3}, 2), ElementsAre(0, 0));
  EXPECT_EQ(indices(largest_range, {4095, 4096}, 1)[0], largest_range / 4096 * 4095);
}

const std::vector<distribution> all_kinds{
    {.kind = kind::zipf, .exponent = 0.99},
    {.kind = kind::zipf, .exponent = 2, .scrambled = true},
    {.kind = kind::hot_set},
    {.kind = kind::binomial, .p = 0.3},
    {.kind = kind::exponential, .mean_percent = 10},
    {.kind = kind::normal},
    {.kind = kind::empirical, .weights = {3, 1, 2}},
    {.kind = kind::sequential},
};

TEST(distributions, do_not_depend_on_how_draws_are_divided_into_batches) {
  for (const auto& keys : all_kinds) {
    const auto expected = draw(keys, 100'000, 5000);
    EXPECT_EQ(draw(*source_of(keys, 100'000), 5000, {1}), expected);
    EXPECT_EQ(draw(*source_of(keys, 100'000), 5000, {7, 512, 1, 64, 128}), expected);
    EXPECT_NE(draw(*source_of(keys, 100'000, 8), 5000), expected);
  }
}

TEST(distributions, are_drawn_by_generators_with_their_mix) {
  for (const auto& keys : all_kinds) {
    const key_space space(1000, key_layout::sparse, 3);
    const auto next = make_generator(space, {.keys = keys, .mix = {20, 10, 70}}, 5);
    operation_batch batch;
    std::array<double, operation_kinds> kinds{};
    for (int i = 0; i < 100; ++i) {
      next->fill(batch, 500);
      for (std::size_t j = 0; j < batch.size; ++j) {
        EXPECT_TRUE(space.contains(batch.keys[j]));
        ++kinds[static_cast<std::size_t>(batch.kinds[j])];
      }
    }
    EXPECT_NEAR(kinds[0], 10'000, 500);
    EXPECT_NEAR(kinds[1], 5'000, 350);
    EXPECT_NEAR(kinds[2], 35'000, 600);
  }
}

TEST(scramble, has_every_index_once) {
  for (const std::uint64_t range : {1U, 2U, 3U, 4U, 5U, 8U, 9U, 100U, 255U, 256U, 257U, 20'000U}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const scramble order(range, seed);
      std::vector<bool> seen(range);
      for (std::uint64_t i = 0; i < range; ++i) {
        const std::uint64_t to = order(i);
        ASSERT_LT(to, range);
        EXPECT_FALSE(seen[to]);
        seen[to] = true;
      }
    }
  }
}

TEST(scramble, gives_the_same_with_every_instruction_set) {
  for (const std::uint64_t range : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{257},
                                    std::uint64_t{1'000'000'000}, largest_range}) {
    std::vector<std::uint64_t> indices(43);
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i * 987'654'321 % range;
    for (const auto instructions : {host::instruction_set::scalar, host::instruction_set::avx2,
                                    host::instruction_set::avx512}) {
      if (instructions > host::best_instruction_set()) break;
      const scramble order(range, 5, instructions);
      auto scrambled = indices;
      order.apply(scrambled);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        EXPECT_EQ(scrambled[i], order(indices[i])) << range;
      }
    }
  }
}

// Over many seeds, each of the first indices comes to lie in any tenth of the range with the same
// probability, and two neighbours independently of each other; 99 degrees of freedom.
TEST(scramble, spreads_neighbours_over_the_range_without_favour) {
  for (const std::uint64_t range : {std::uint64_t{1000}, std::uint64_t{1'000'000}, largest_range}) {
    for (std::uint64_t first = 0; first < 3; ++first) {
      std::array<double, 100> count{};
      for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
        const scramble order(range, seed);
        ++count[order(first) / ((range + 9) / 10) * 10 + order(first + 1) / ((range + 9) / 10)];
      }
      double chi_square = 0;
      for (const double seen : count) chi_square += (seen - 200) * (seen - 200) / 200;
      EXPECT_LT(chi_square, 99 + 5 * std::sqrt(2 * 99.0)) << range << " " << first;
    }
  }
}

// How the first tenth of a range is spread over its hundredths, for many seeds: not once much less
// evenly than by chance, as some seeds of a scramble of three rounds were. (What is drawn without
// replacement has a chi-square statistic of 0.9 times the usual.)
TEST(scramble, leaves_no_pattern_with_any_seed) {
  for (const std::uint64_t range :
       {std::uint64_t{1000}, std::uint64_t{10'000}, std::uint64_t{20'000}}) {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const scramble order(range, seed);
      std::array<double, 100> count{};
      for (std::uint64_t i = 0; i < range / 10; ++i) ++count[order(i) * 100 / range];
      const double expected = static_cast<double>(range) / 1000;
      double chi_square = 0;
      for (const double seen : count)
        chi_square += (seen - expected) * (seen - expected) / expected;
      EXPECT_LT(chi_square / 0.9, 99 + 6 * std::sqrt(2 * 99.0)) << range << ", seed " << seed;
    }
  }
}

// The gaps between the places of the first 1000 indices, which for random places are exponentially
// distributed; a lattice, as multiplication alone gives, has but a few different ones.
TEST(scramble, spreads_the_first_indices_like_random_ones) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const scramble order(1'000'000'000, seed);
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < 1000; ++i) places.push_back(order(i));
    std::ranges::sort(places);
    std::array<double, 3> gaps{};
    for (std::size_t i = 1; i < places.size(); ++i) {
      const double gap = static_cast<double>(places[i] - places[i - 1]) / 1e6;
      ++gaps[gap < std::log(1.5) ? 0 : gap < std::log(3) ? 1 : 2];
    }
    for (const double seen : gaps) EXPECT_NEAR(seen, 333, 5 * std::sqrt(222)) << seed;
  }
}

TEST(scramble, is_the_same_for_all_threads_of_a_trial_and_differs_between_trials) {
  const distribution keys{
      .kind = kind::hot_set, .operations_percent = 100, .keys_percent = 0.1, .scrambled = true};
  const auto hottest = [&](std::uint64_t space_seed, std::uint64_t seed) {
    std::set<std::uint64_t> seen;
    const auto source = make_index_source({10'000, key_layout::dense, space_seed},
                                          {.keys = keys, .mix = {0, 0, 100}}, seed, {});
    for (const auto& each : draw(*source, 1000)) seen.insert(each.index);
    return seen;
  };
  EXPECT_EQ(hottest(1, 5).size(), 10U);
  EXPECT_EQ(hottest(1, 5), hottest(1, 6));
  EXPECT_NE(hottest(1, 5), hottest(2, 5));
}

// Performs what a generator of latest keys draws on the set of indices that a map would hold.
struct latest_threads {
  latest_threads(double exponent, std::uint64_t range, unsigned threads, const mix& mix)
      : space(range, key_layout::dense, 0) {
    for (std::uint64_t i = 0; i < latest_prefilled(range); ++i) held.insert(i);
    for (unsigned i = 0; i < threads; ++i) {
      generators.push_back(
          make_generator(space, {.keys = {.kind = kind::latest, .exponent = exponent}, .mix = mix},
                         i, {i, threads}));
    }
  }

  // A batch of each thread, of which it performs `performed`.
  void perform(std::size_t size, std::size_t performed) {
    for (const auto& generator : generators) {
      generator->fill(batch, size);
      for (std::size_t i = 0; i < performed; ++i) {
        const std::uint64_t index = batch.keys[i] - 1;
        switch (batch.kinds[i]) {
          case operation::insert:
            inserted.push_back(index);
            failed += static_cast<int>(!held.insert(index).second);
            break;
          case operation::erase:
            erased.push_back(index);
            failed += static_cast<int>(held.erase(index) == 0);
            break;
          default:
            found.push_back(index);
            missed += static_cast<int>(!held.contains(index));
            break;
        }
      }
      generator->feedback(batch, performed);
    }
  }

  key_space space;
  std::vector<std::unique_ptr<generator>> generators;
  operation_batch batch;
  std::set<std::uint64_t> held;
  std::vector<std::uint64_t> inserted;
  std::vector<std::uint64_t> erased;
  std::vector<std::uint64_t> found;
  int failed = 0;
  int missed = 0;
};

TEST(latest, inserts_new_keys_in_order_and_erases_the_oldest) {
  latest_threads one(0.99, 1000, 1, {50, 50, 0});
  for (int i = 0; i < 10; ++i) one.perform(50, 50);
  for (std::size_t i = 0; i < one.inserted.size(); ++i) EXPECT_EQ(one.inserted[i], 500 + i);
  for (std::size_t i = 0; i < one.erased.size(); ++i) EXPECT_EQ(one.erased[i], i);
  EXPECT_EQ(one.failed, 0);
}

TEST(latest, has_threads_insert_in_turn) {
  latest_threads three(0.99, 3000, 3, {100, 0, 0});
  three.perform(100, 100);
  const std::set<std::uint64_t> inserted(three.inserted.begin(), three.inserted.end());
  EXPECT_EQ(inserted.size(), 300U);
  EXPECT_EQ(*inserted.begin(), 1500U);
  EXPECT_EQ(*inserted.rbegin(), 1799U);
  EXPECT_EQ(three.inserted[1], 1503U);
}

TEST(latest, draws_again_what_was_not_performed) {
  latest_threads one(0.99, 1000, 1, {100, 0, 0});
  one.perform(50, 20);
  one.perform(50, 50);
  for (std::size_t i = 0; i < one.inserted.size(); ++i) EXPECT_EQ(one.inserted[i], 500 + i);
  EXPECT_EQ(one.inserted.size(), 70U);
}

TEST(latest, begins_again_with_the_first_key_behind_the_last) {
  latest_threads one(0.99, 100, 1, {50, 50, 0});
  for (int i = 0; i < 400; ++i) one.perform(2, 2);
  EXPECT_GT(one.inserted.size(), 300U);
  for (std::size_t i = 0; i < one.inserted.size(); ++i) EXPECT_EQ(one.inserted[i], (50 + i) % 100);
}

TEST(latest, finds_by_zipfs_law_of_the_age_among_what_is_held) {
  // Erases halve what is held, and halve it again: both the law over more than that, cut off, and
  // new laws are met.
  for (const double s : {0.0, 0.99, 1.5}) {
    for (const unsigned to_erase : {0U, 400U, 480U}) {
      latest_threads one(s, 1000, 1, {0, 100, 0});
      one.perform(to_erase, to_erase);
      // From here on only searches, by the same thread, which knows of the erases.
      const auto source = source_of({.kind = kind::latest, .exponent = s}, 1000);
      operation_batch batch;
      batch.kinds.fill(operation::erase);
      source->feedback(batch, to_erase);
      const std::vector<operation> finds(512, operation::find);
      std::vector<drawn_index> ages;
      std::array<std::uint64_t, 512> indices;
      std::array<std::uint64_t, 512> fractions;
      for (int i = 0; i < 200; ++i) {
        source->fill(indices, fractions);
        source->settle(finds, indices);
        for (std::size_t j = 0; j < indices.size(); ++j) {
          EXPECT_TRUE(one.held.contains(indices[j]));
          ages.push_back({499 - indices[j], fractions[j]});
        }
      }
      EXPECT_LT(std::abs(deviation(ages, zipf_cells(s, 500 - to_erase))), 5)
          << s << " " << to_erase;
    }
  }
}

TEST(latest, finds_what_is_held_while_threads_insert_and_erase) {
  latest_threads two(0.99, 10'000, 2, {10, 10, 80});
  for (int i = 0; i < 300; ++i) two.perform(100, 100);
  // A thread takes the other to be as far as itself, which it is but for the spread of the mix.
  EXPECT_LT(two.missed, 0.15 * static_cast<double>(two.found.size()));
  EXPECT_EQ(two.failed, 0);
  latest_threads one(0.99, 10'000, 1, {10, 10, 80});
  for (int i = 0; i < 300; ++i) one.perform(100, 100);
  // The batch's own erases are known after it.
  EXPECT_LT(one.missed, 0.002 * static_cast<double>(one.found.size()));
}

TEST(latest, survives_that_nothing_is_left) {
  latest_threads one(0.99, 100, 1, {0, 50, 50});
  for (int i = 0; i < 50; ++i) one.perform(10, 10);
  EXPECT_TRUE(one.held.empty());
  for (const std::uint64_t index : one.found) EXPECT_LT(index, 100U);
}

TEST(latest, wants_feedback_and_the_others_do_not) {
  EXPECT_TRUE(source_of({.kind = kind::latest}, 100)->wants_feedback());
  EXPECT_TRUE(prefill_is_first_keys({.keys = {.kind = kind::latest}, .mix = {50, 50, 0}}));
  for (const auto& keys : all_kinds) {
    EXPECT_FALSE(source_of(keys, 100)->wants_feedback());
    EXPECT_FALSE(prefill_is_first_keys({.keys = keys, .mix = {50, 50, 0}}));
  }
}

TEST(check, accepts_what_can_be_drawn) {
  for (const auto& keys : all_kinds) {
    for (const std::uint64_t range : {std::uint64_t{1}, std::uint64_t{2}, largest_range}) {
      EXPECT_NO_THROW(check(keys, range));
    }
  }
  EXPECT_NO_THROW(check({.kind = kind::zipf, .exponent = 0}, 10));
  EXPECT_NO_THROW(
      check({.kind = kind::hot_set, .operations_percent = 100, .keys_percent = 100}, 10));
  EXPECT_NO_THROW(check({.kind = kind::normal, .mean_percent = -10, .deviation_percent = 1}, 10));
}

TEST(check, names_the_member_at_fault_and_what_it_must_be) {
  const auto message = [](const distribution& keys, std::uint64_t range = 10) -> std::string {
    try {
      check(keys, range);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message({.kind = kind::zipf, .exponent = -0.5}),
            "exponent must be a number of at least 0, not -0.5");
  EXPECT_EQ(message({.kind = kind::zipf, .exponent = not_a_number}),
            "exponent must be a number of at least 0, not nan");
  EXPECT_EQ(message({.kind = kind::latest, .exponent = infinity}),
            "exponent must be a number of at least 0, not inf");
  EXPECT_EQ(message({.kind = kind::hot_set, .keys_percent = 0}),
            "keys_percent must be above 0 and at most 100, not 0");
  EXPECT_EQ(message({.kind = kind::hot_set, .operations_percent = 100.5}),
            "operations_percent must be above 0 and at most 100, not 100.5");
  EXPECT_EQ(message({.kind = kind::hot_set, .operations_percent = not_a_number}),
            "operations_percent must be above 0 and at most 100, not nan");
  EXPECT_EQ(message({.kind = kind::binomial, .p = 1.5}), "p must be from 0 to 1, not 1.5");
  EXPECT_EQ(message({.kind = kind::exponential, .mean_percent = 0}),
            "mean_percent must be a number above 0, not 0");
  EXPECT_EQ(message({.kind = kind::normal, .deviation_percent = -1}),
            "deviation_percent must be a number above 0, not -1");
  EXPECT_EQ(message({.kind = kind::normal, .mean_percent = 500, .deviation_percent = 1}),
            "mean_percent must be from 0 to 100, or at most 30 times the "
            "deviation_percent outside, not 500");
  EXPECT_EQ(message({.kind = kind::normal, .mean_percent = not_a_number}),
            "mean_percent must be a number, not nan");
  EXPECT_EQ(message({.kind = kind::empirical, .weights = {1, -2}}),
            "weights[1] must be a number of at least 0, not -2");
  EXPECT_EQ(message({.kind = kind::empirical, .weights = {0, 0}}),
            "at least one of weights must be above 0");
  EXPECT_EQ(message({.kind = kind::empirical}), "at least one of weights must be above 0");
  EXPECT_EQ(message({.kind = kind::zipf}, largest_range + 1),
            "key_range must be from 1 to 2^40, not 1099511627777");
}

}  // namespace
}  // namespace assay::workload
