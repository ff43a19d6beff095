#include "assay/random/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::random {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using numbers = std::vector<double>;

std::vector<std::string> split(const std::string& text, char at) {
  std::istringstream in(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

numbers numbers_in(const std::string& text) {
  numbers all;
  for (const auto& word : split(text, ' ')) all.push_back(std::stod(word));
  return all;
}

// One answer, as a real number.
double ask(decision& of, const std::string& call, const std::string& values,
           const std::string& more) {
  const numbers a = call == "choose" ? numbers{} : numbers_in(values);
  const numbers b = numbers_in(more);
  if (call == "choose") return static_cast<double>(of.choose(std::stoull(values)));
  if (call == "normal") return of.normal();
  if (call == "noisy") return of.noisy(a[0], b[0]);
  if (call == "estimated") return of.estimated(a[0], b[0]);
  if (call == "arg_min") return static_cast<double>(of.arg_min(a, b[0]));
  if (call == "arg_max") return static_cast<double>(of.arg_max(a, b[0]));
  if (call == "arg_min_estimated") return static_cast<double>(of.arg_min_estimated(a, b));
  if (call == "arg_max_estimated") return static_cast<double>(of.arg_max_estimated(a, b));
  throw std::invalid_argument(call);
}

TEST(decisions, are_those_of_the_shared_vectors) {
  std::ifstream file(DECISION_VECTORS);
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    ++rows;
    const auto fields = split(line, '\t');
    ASSERT_EQ(fields.size(), 7U) << line;
    const decisions program(std::stoull(fields[0]));
    EXPECT_EQ(program.seed_of(fields[1]), std::stoull(fields[2])) << line;
    decision drawn = program.named(fields[1]);
    for (const double expected : numbers_in(fields[6])) {
      const double answer = ask(drawn, fields[3], fields[4], fields[5]);
      // Mathematical libraries differ in the last bit.
      EXPECT_NEAR(answer, expected, 1e-12 * std::abs(expected)) << line;
    }
  }
  EXPECT_EQ(rows, 14);
}

TEST(seed_of_a_decision, is_the_stream_of_the_published_hash_of_its_name) {
  EXPECT_EQ(seed_of_decision(5, ""), derive_seed(5, 0xcbf29ce484222325));
  EXPECT_EQ(seed_of_decision(5, "foobar"), derive_seed(5, 0x85944171f73967e8));
}

// How often each candidate is chosen, over this many decisions of one name.
template <class Choose>
std::vector<double> shares(std::size_t candidates, Choose choose_in) {
  constexpr int seeds = 20'000;
  std::vector<double> share(candidates);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    decision drawn = decisions(seed).named("tie");
    ++share[choose_in(drawn)];
  }
  for (double& count : share) count /= seeds;
  return share;
}

// Five standard deviations of a share of 20,000.
constexpr double tolerance = 5 * 0.0036;

TEST(a_choice, is_as_likely_for_each_candidate_and_for_each_of_equals) {
  for (const double share : shares(7, [](decision& one) { return one.choose(7); })) {
    EXPECT_NEAR(share, 1 / 7.0, tolerance);
  }
  const auto tied =
      shares(4, [](decision& one) { return one.arg_min(std::array<double, 4>{2, 1, 3, 1}); });
  EXPECT_EQ(tied[0] + tied[2], 0);
  EXPECT_NEAR(tied[1], 0.5, tolerance);
  // P2 is the case of P3 in which all costs are 0.
  const auto nothing =
      shares(3, [](decision& one) { return one.arg_max(std::array<double, 3>{}, 1); });
  for (const double share : nothing) EXPECT_NEAR(share, 1 / 3.0, tolerance);
}

TEST(noise, decides_between_costs_that_differ_by_less_than_it) {
  const std::array<double, 2> costs{100, 101};
  const auto share_of_lower = [&](double c) {
    return shares(2, [&](decision& one) { return one.arg_min(costs, c); })[0];
  };
  EXPECT_EQ(share_of_lower(0), 1);
  // ln 1.01 in standard deviations of a difference of two: 7.04 and 0.0704.
  EXPECT_EQ(share_of_lower(0.001), 1);
  EXPECT_NEAR(share_of_lower(0.1), 0.528, tolerance);
}

TEST(estimates, are_chosen_as_often_as_they_would_be_right) {
  const std::array<double, 2> means{10, 11};
  const std::array<double, 2> errors{0.6, 0.8};  // together 1, so that the means are 1 apart in it
  const auto least = shares(2, [&](decision& one) { return one.arg_min_estimated(means, errors); });
  EXPECT_NEAR(least[0], 0.8413, tolerance);
  const auto greatest =
      shares(2, [&](decision& one) { return one.arg_max_estimated(means, errors); });
  EXPECT_NEAR(greatest[1], 0.8413, tolerance);
}

TEST(decisions, are_repeated_one_by_one) {
  const decisions first(1);
  decisions other(2);
  other.fix("b", first.seed_of("b"));
  constexpr std::size_t many = 1'000'000'000;
  EXPECT_EQ(other.named("b").choose(many), first.named("b").choose(many));
  EXPECT_NE(other.named("a").choose(many), first.named("a").choose(many));
  EXPECT_NE(first.named("a").choose(many), first.named("b").choose(many));
  EXPECT_EQ(other.seed_of("b"), first.seed_of("b"));
}

TEST(decisions, draw_nothing_where_randomness_is_off_but_what_is_fixed) {
  decisions off = decisions::none();
  const std::array<double, 3> costs{2, 1, 1};
  EXPECT_EQ(off.named("a").arg_min(costs, 5), 1U);
  EXPECT_EQ(off.named("a").estimated(3, 2), 3);
  EXPECT_EQ(off.named("a").choose(9), 0U);
  EXPECT_THROW(static_cast<void>(off.seed_of("a")), std::invalid_argument);
  off.fix("a", 5);
  EXPECT_EQ(off.named("a").choose(1000), decision(5).choose(1000));
}

TEST(a_decision, says_what_it_cannot_decide) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refuses = [](auto act, const std::string& words) {
    EXPECT_THAT(std::function<void()>([act] {
                  decision one(1);
                  static_cast<void>(act(one));
                }),
                ThrowsMessage<std::invalid_argument>(HasSubstr(words)));
  };
  const numbers two{1, 2};
  refuses([](decision& one) { return one.choose(0); }, "no candidate");
  refuses([](decision& one) { return one.arg_min({}); }, "no candidate");
  refuses([](decision& one) { return one.arg_max_estimated({}, {}); }, "no candidate");
  refuses([](decision& one) { return one.arg_min(numbers{1, nan}); },
          "value of candidate 1 of 2 is not a number");
  refuses([&](decision& one) { return one.arg_min(two, -0.1); }, "C is -0.1: ");
  refuses([&](decision& one) { return one.arg_max(two, 10.1); }, "from 0, none, to 10");
  refuses([](decision& one) { return one.noisy(1, nan); }, "randomness C is");
  refuses([](decision& one) { return one.estimated(nan, 1); }, "the estimate is not a number");
  refuses([&](decision& one) { return one.arg_min_estimated(two, numbers{1}); },
          "2 estimates and 1 standard errors");
  refuses([&](decision& one) { return one.arg_min_estimated(two, numbers{1, -2}); },
          "standard error of candidate 1 of 2 is -2: ");
  refuses([](decision& one) { return one.estimated(1, std::numeric_limits<double>::infinity()); },
          "must be a finite number");
}

}  // namespace
}  // namespace assay::random
