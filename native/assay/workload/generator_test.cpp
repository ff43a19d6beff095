#include "assay/workload/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "assay/random/engine.h"
#include "assay/random/splitmix64.h"

namespace assay::workload {
namespace {

using drawn_operation = std::pair<std::uint64_t, operation>;

// The first `count` operations, drawn in batches of `lengths` in turn.
std::vector<drawn_operation> draw(generator& next, std::size_t count,
                                  const std::vector<std::size_t>& lengths = {512}) {
  std::vector<drawn_operation> operations;
  operation_batch batch;
  for (std::size_t i = 0; operations.size() < count; ++i) {
    next.fill(batch, std::min(lengths[i % lengths.size()], count - operations.size()));
    for (std::size_t j = 0; j < batch.size; ++j) {
      operations.emplace_back(batch.keys[j], batch.kinds[j]);
    }
  }
  return operations;
}

std::array<double, operation_kinds> kinds_of(const std::vector<drawn_operation>& operations) {
  std::array<double, operation_kinds> count{};
  for (const auto& [key, kind] : operations) ++count[static_cast<std::size_t>(kind)];
  return count;
}

TEST(generator, draws_the_same_operations_however_they_are_divided_into_batches) {
  for (const auto layout : {key_layout::dense, key_layout::sparse}) {
    const key_space space(1000, layout, 3);
    const mix mix{20, 10, 70};
    const auto expected = draw(*make_generator(space, {.mix = mix}, 11), 5000);
    EXPECT_EQ(draw(*make_generator(space, {.mix = mix}, 11), 5000, {1}), expected);
    EXPECT_EQ(draw(*make_generator(space, {.mix = mix}, 11), 5000, {7, 512, 1, 64}), expected);
    EXPECT_NE(draw(*make_generator(space, {.mix = mix}, 12), 5000), expected);
  }
}

TEST(generator, draws_every_key_of_a_small_space_and_no_other) {
  for (const auto layout : {key_layout::dense, key_layout::sparse}) {
    const key_space space(50, layout, 3);
    std::set<std::uint64_t> keys;
    for (const auto& [key, kind] : draw(*make_generator(space, {.mix = {50, 50, 0}}, 1), 5000)) {
      EXPECT_TRUE(space.contains(key));
      keys.insert(key);
    }
    EXPECT_EQ(keys.size(), 50U);
  }
}

TEST(generator, draws_keys_to_the_end_of_the_largest_range) {
  const std::uint64_t range = std::uint64_t{1} << 40;
  const auto operations =
      draw(*make_generator({range, key_layout::dense, 0}, {.mix = {0, 0, 100}}, 1), 10'000);
  const auto [least, most] = std::ranges::minmax_element(operations);
  EXPECT_GE(least->first, 1U);
  EXPECT_LE(most->first, range);
  EXPECT_GT(most->first, range / 1000 * 999);
}

TEST(generator, never_draws_a_kind_at_0_percent_and_always_one_at_100) {
  const key_space space(10, key_layout::dense, 0);
  const auto all_of = [&](const mix& mix, std::vector<operation> allowed) {
    return std::ranges::all_of(
        draw(*make_generator(space, {.mix = mix}, 4), 50'000),
        [&](const auto& drawn) { return std::ranges::count(allowed, drawn.second) == 1; });
  };
  EXPECT_TRUE(all_of({100, 0, 0}, {operation::insert}));
  EXPECT_TRUE(all_of({0, 100, 0}, {operation::erase}));
  EXPECT_TRUE(all_of({0, 0, 100}, {operation::find}));
  EXPECT_TRUE(all_of({50, 50, 0}, {operation::insert, operation::erase}));
  EXPECT_TRUE(all_of({50, 0, 50}, {operation::insert, operation::find}));
  EXPECT_TRUE(all_of({0, 50, 50}, {operation::erase, operation::find}));
}

TEST(generator, draws_the_same_keys_whatever_the_mix) {
  const key_space space(1000, key_layout::sparse, 3);
  const auto keys = [&](const mix& mix) {
    std::vector<std::uint64_t> drawn;
    for (const auto& [key, kind] : draw(*make_generator(space, {.mix = mix}, 11), 2000)) {
      drawn.push_back(key);
    }
    return drawn;
  };
  const auto expected = keys({20, 10, 70});
  for (const mix& mix : {mix{100, 0, 0}, {0, 100, 0}, {0, 0, 100}, {50, 50, 0}}) {
    EXPECT_EQ(keys(mix), expected);
  }
}

// The extreme points, which no test that draws would meet.
TEST(operation_chooser, holds_at_both_ends) {
  for (const std::uint64_t end : {operation_chooser::fine_end, operation_chooser::coarse_end}) {
    const auto chooser = [&](const mix& mix) { return operation_chooser(mix, end); };
    for (const std::uint64_t point : {std::uint64_t{0}, end - 1}) {
      EXPECT_EQ(chooser({100, 0, 0}).at(point), operation::insert);
      EXPECT_EQ(chooser({0, 100, 0}).at(point), operation::erase);
      EXPECT_EQ(chooser({0, 0, 100}).at(point), operation::find);
      EXPECT_EQ(chooser({0, 0, 0, 0, 0, 0, 100}).at(point), operation::iterate);
    }
    EXPECT_EQ(chooser({100, 0, 0}).only(), operation::insert);
    EXPECT_EQ(chooser({0, 100, 0}).only(), operation::erase);
    EXPECT_EQ(chooser({0, 0, 100}).only(), operation::find);
    EXPECT_EQ(chooser({0, 0, 0, 0, 100}).only(), operation::size);
    EXPECT_EQ(chooser({0, 0, 0, 0, 0, 0, 100}).only(), operation::iterate);
    for (const mix& several : {mix{50, 50, 0}, {50, 0, 50}, {0, 50, 50}, {20, 10, 70}}) {
      EXPECT_EQ(chooser(several).only(), std::nullopt);
    }
    EXPECT_EQ(chooser({0, 0, 50, 0, 0, 0, 50}).only(), std::nullopt);
    EXPECT_EQ(chooser({0, 0, 0, 0, 0, 50, 50}).only(), std::nullopt);
    const operation_chooser thirds = chooser({33.3, 33.3, 33.4});
    EXPECT_EQ(thirds.at(0), operation::insert);
    EXPECT_EQ(thirds.at(end - 1), operation::find);
    // Percentages that add to 100 only nearly leave no room for what is at 0.
    EXPECT_EQ(chooser({33.3, 66.69999999, 0}).at(end - 1), operation::erase);
    EXPECT_EQ(chooser({99.99999999, 0, 0}).at(end - 1), operation::insert);
    EXPECT_EQ(chooser({33.3, 0, 33.3, 33.39999}).at(end - 1), operation::range);
    EXPECT_EQ(chooser({60, 0, 40.00001}).at(end - 1), operation::find);
  }
}

TEST(operation_chooser, gives_each_of_seven_kinds_its_share_and_three_by_two_comparisons) {
  const operation_chooser choose({10, 5, 0, 20, 25, 30, 10}, operation_chooser::coarse_end);
  EXPECT_FALSE(choose.has_three_kinds());
  std::array<int, operation_kinds> seen{};
  for (std::uint64_t percent = 0; percent < 100; ++percent) {
    const operation first = choose.at(percent * 1'000'000);
    EXPECT_EQ(choose.at(percent * 1'000'000 + 999'999), first);
    ++seen[static_cast<std::size_t>(first)];
  }
  EXPECT_EQ(seen, (std::array<int, operation_kinds>{10, 5, 0, 20, 25, 30, 10}));

  std::vector<std::uint64_t> points;
  std::vector<operation> one_by_one;
  for (std::uint64_t percent = 0; percent < 100; ++percent) {
    points.push_back(percent * 1'000'000);
    one_by_one.push_back(choose.at(points.back()));
  }
  std::vector<operation> at_once(points.size());
  choose.at(points, at_once);
  EXPECT_EQ(at_once, one_by_one);

  const operation_chooser three({20, 10, 70});
  EXPECT_TRUE(three.has_three_kinds());
  random::splitmix64 draw(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t point = draw() >> operation_chooser::fine_shift;
    EXPECT_EQ(three.of_three(point), three.at(point));
  }
}

// Keys and kinds are each as frequent as asked, and independent of each other although one draw
// gives both: a chi-square test of the joint counts against the product of the wanted
// probabilities.
TEST(generator, draws_keys_uniformly_and_kinds_by_the_mix_independently_of_each_other) {
  constexpr std::size_t drawn_kinds = 3;
  const std::array<double, drawn_kinds> share{0.2, 0.1, 0.7};
  for (const std::uint64_t range : {2U, 3U, 16U, 100U, 255U}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      constexpr std::size_t count = 300'000;
      std::vector<std::array<double, operation_kinds>> seen(range);
      const auto next = make_generator({range, key_layout::dense, 0}, {.mix = {20, 10, 70}}, seed);
      for (const auto& [key, kind] : draw(*next, count)) {
        ++seen[key - 1][static_cast<std::size_t>(kind)];
      }
      double chi_square = 0;
      for (const auto& of_key : seen) {
        for (std::size_t kind = 0; kind < drawn_kinds; ++kind) {
          const double expected = count * share[kind] / static_cast<double>(range);
          chi_square += (of_key[kind] - expected) * (of_key[kind] - expected) / expected;
        }
      }
      const auto freedom = static_cast<double>(range * drawn_kinds - 1);
      EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom))
          << range << " keys, seed " << seed;
      EXPECT_GT(chi_square, freedom - 5 * std::sqrt(2 * freedom))
          << range << " keys, seed " << seed;
    }
  }
}

TEST(generator, draws_rare_kinds_as_often_as_asked) {
  constexpr double count = 1'000'000;
  const auto next = make_generator({1000, key_layout::dense, 0}, {.mix = {0.1, 0.05, 99.85}}, 2);
  const auto kinds = kinds_of(draw(*next, static_cast<std::size_t>(count)));
  EXPECT_NEAR(kinds[0], count * 0.001, 5 * std::sqrt(count * 0.001));
  EXPECT_NEAR(kinds[1], count * 0.0005, 5 * std::sqrt(count * 0.0005));
}

// Options that are drawn in different ways.
std::vector<options> all_ways() {
  std::vector<options> ways;
  for (const auto draws : {draws::one, draws::two}) {
    for (const auto bounding : {bounding::multiply, bounding::modulo}) {
      ways.push_back({.draws = draws, .bounding = bounding, .mix = {20, 10, 70}});
      ways.push_back({.draws = draws, .bounding = bounding, .mix = {10, 5, 20, 25, 15, 15, 10}});
    }
  }
  return ways;
}

TEST(generator, draws_keys_and_kinds_as_often_as_asked_in_every_way_and_independently) {
  constexpr std::size_t count = 300'000;
  constexpr std::uint64_t range = 50;
  for (const options& options : all_ways()) {
    std::vector<std::array<double, operation_kinds>> seen(range);
    const auto next = make_generator({range, key_layout::sparse, 0}, options, 3);
    const key_space space(range, key_layout::sparse, 0);
    for (const auto& [key, kind] : draw(*next, count)) {
      if (kind == operation::range) continue;  // lengths move the first keys of those that end all
      ++seen[space.spread().inverse(key) - 1][static_cast<std::size_t>(kind)];
    }
    double chi_square = 0;
    double freedom = -1;
    for (const auto& of_key : seen) {
      for (std::size_t kind = 0; kind < operation_kinds; ++kind) {
        const double share = options.mix.shares()[kind] / 100;
        if (share == 0 || kind == static_cast<std::size_t>(operation::range)) continue;
        const double expected = count * share / static_cast<double>(range);
        chi_square += (of_key[kind] - expected) * (of_key[kind] - expected) / expected;
        ++freedom;
      }
    }
    EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom));
    EXPECT_GT(chi_square, freedom - 5 * std::sqrt(2 * freedom));
  }
}

TEST(generator, draws_the_same_in_every_way_however_it_is_divided_into_batches) {
  for (const options& options : all_ways()) {
    const key_space space(1000, key_layout::dense, 3);
    const auto expected = draw(*make_generator(space, options, 11), 3000);
    EXPECT_EQ(draw(*make_generator(space, options, 11), 3000, {7, 512, 1, 64}), expected);
  }
}

// The first numbers of the engine, taken apart by hand.
TEST(generator, takes_two_numbers_modulo_as_setbench_does) {
  const auto numbers = random::make_number_source({}, 9);
  std::array<std::uint64_t, 2000> pairs;
  numbers->fill(pairs);
  const auto operations = draw(
      *make_generator({1000, key_layout::dense, 0},
                      {.draws = draws::two, .bounding = bounding::modulo, .mix = {20, 10, 70}}, 9),
      1000);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    EXPECT_EQ(operations[i].first, pairs[2 * i] % 1000 + 1);
    const double percent = static_cast<double>(pairs[2 * i + 1] % 100'000'000) / 1e6;
    EXPECT_EQ(operations[i].second, percent < 20   ? operation::insert
                                    : percent < 30 ? operation::erase
                                                   : operation::find);
  }
}

TEST(generator, ends_ranges_after_as_many_keys_as_asked_or_with_the_space) {
  operation_batch batch;
  const options options{.mix = {0, 0, 50, 50}, .lengths = {.least = 3, .most = 6}};
  const auto next = make_generator({100, key_layout::dense, 0}, options, 1);
  std::array<int, 7> lengths{};
  int clipped = 0;
  for (int i = 0; i < 100; ++i) {
    next->fill(batch, 100);
    for (std::size_t j = 0; j < batch.size; ++j) {
      if (batch.kinds[j] != operation::range) continue;
      const std::uint64_t length = batch.last_keys[j] - batch.keys[j] + 1;
      ASSERT_GE(length, 1U);
      ASSERT_LE(length, 6U);
      ASSERT_LE(batch.last_keys[j], 100U);
      if (batch.last_keys[j] == 100) {
        ++clipped;
      } else {
        ++lengths[length];
      }
    }
  }
  EXPECT_GT(clipped, 0);
  EXPECT_EQ(lengths[0] + lengths[1] + lengths[2], 0);
  for (const std::size_t length : {3U, 4U, 5U, 6U}) EXPECT_NEAR(lengths[length], 1200, 200);
}

TEST(generator, draws_the_same_keys_whatever_the_lengths_of_ranges) {
  const auto kinds_and_keys = [](const range_lengths& lengths) {
    return draw(*make_generator({1000, key_layout::dense, 0},
                                {.mix = {20, 10, 20, 50}, .lengths = lengths}, 1),
                2000, {100, 3});
  };
  EXPECT_EQ(kinds_and_keys({1, 1}), kinds_and_keys({1, 999}));
}

TEST(mix, implies_the_share_of_keys_that_are_present) {
  EXPECT_EQ((mix{30, 10, 60}.steady_share()), 0.75);
  EXPECT_EQ((mix{10, 0, 90}.steady_share()), 1);
  EXPECT_EQ((mix{0, 10, 90}.steady_share()), 0);
  EXPECT_EQ((mix{0, 0, 100}.steady_share()), 0.5);
}

}  // namespace
}  // namespace assay::workload
