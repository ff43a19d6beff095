#include "assay/trial/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <stop_token>
#include <vector>

#include "assay/host/clock.h"

namespace assay::trial {
namespace {

std::vector<double> first_of(arrival_times times, int number) {
  std::vector<double> due;
  for (int i = 0; i < number; ++i, times.advance()) due.push_back(times.next_ns());
  return due;
}

TEST(arrival_times, even_ones_of_all_threads_are_even_together) {
  std::vector<double> due;
  for (unsigned i = 0; i < 3; ++i) {
    const auto own = first_of({{.rate = 3e6, .spacing = spacing::even}, {i, 3}, 1}, 1000);
    due.insert(due.end(), own.begin(), own.end());
  }
  std::ranges::sort(due);
  for (std::size_t i = 0; i < due.size(); ++i) {
    EXPECT_NEAR(due[i], static_cast<double>(i) * 1000 / 3, 1e-6);
  }
}

// Exponential gaps: mean and deviation are equal, and a gap is below the mean's ln 2 as often as
// not.
TEST(arrival_times, poisson_ones_have_exponential_gaps_at_the_threads_part_of_the_rate) {
  constexpr int number = 100'000;
  const auto due = first_of({{.rate = 1e6}, {1, 4}, 1}, number + 1);
  double sum = due[0], squares = due[0] * due[0];
  int short_ones = due[0] < 4000 * std::numbers::ln2;
  for (std::size_t i = 1; i < number; ++i) {
    const double gap = due[i] - due[i - 1];
    EXPECT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    short_ones += gap < 4000 * std::numbers::ln2;
  }
  EXPECT_NEAR(sum / number, 4000, 4000 * 5 / std::sqrt(number));
  EXPECT_NEAR(std::sqrt(squares / number - std::pow(sum / number, 2)), 4000, 4000 * 0.03);
  EXPECT_NEAR(short_ones, number / 2.0, 5 * std::sqrt(number) / 2);
}

TEST(arrival_times, of_threads_are_independent_and_of_a_seed_the_same) {
  const arrivals chosen{.rate = 1e6};
  EXPECT_EQ(first_of({chosen, {0, 2}, 1}, 10), first_of({chosen, {0, 2}, 1}, 10));
  EXPECT_NE(first_of({chosen, {0, 2}, 1}, 10), first_of({chosen, {1, 2}, 2}, 10));
}

TEST(arrival_times, passes_over_exactly_those_that_are_due) {
  for (const auto spacing : {spacing::even, spacing::poisson}) {
    const arrivals chosen{.rate = 1e6, .spacing = spacing};
    const auto due = first_of({chosen, {0, 1}, 5}, 2000);
    arrival_times times(chosen, {0, 1}, 5);
    EXPECT_EQ(times.pass_until(due[99]), 100U);
    EXPECT_EQ(times.next_ns(), due[100]);
    EXPECT_EQ(times.pass_until(due[100] - 0.001), 0U);
    EXPECT_EQ(times.pass_until(due[1000]), 901U);
  }
}

// Nobody could draw what a rate of 10^12 leaves in a minute.
TEST(arrival_times, passes_over_more_than_can_be_drawn) {
  for (const auto spacing : {spacing::even, spacing::poisson}) {
    arrival_times times({.rate = 1e12, .spacing = spacing}, {0, 1}, 5);
    const double minute_ns = 60e9;
    EXPECT_NEAR(static_cast<double>(times.pass_until(minute_ns)), 60e12, 10'000);
    EXPECT_GT(times.next_ns(), minute_ns - 0.01);
    EXPECT_LT(times.next_ns(), minute_ns + 0.1);
  }
}

TEST(wait_until, returns_when_it_is_time_and_not_before) {
  for (const std::uint64_t wait_ns : {0ULL, 1000ULL, 100'000ULL, 6'000'000ULL}) {
    const std::uint64_t due = host::now_ns() + wait_ns;
    const std::uint64_t woken = wait_until(due, {});
    EXPECT_GE(woken, due);
    EXPECT_LE(woken, host::now_ns());
  }
}

TEST(wait_until, does_not_outlast_a_stop) {
  std::stop_source stop;  // NOLINT(misc-const-correctness): the thread that it stops
  stop.request_stop();
  const std::uint64_t century = host::now_ns() + 3'200'000'000'000'000'000;
  EXPECT_LT(wait_until(century, stop.get_token()), century);
}

}  // namespace
}  // namespace assay::trial
