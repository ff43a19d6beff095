#include "assay/host/clocks.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <initializer_list>
#include <utility>
#include <vector>

#include "assay/host/clock_quality.h"
#include "assay/host/placement.h"

namespace assay::host {
namespace {

// A clock made for a test: each reading is the next of some, the last one for ever.
class made_clock {
 public:
  explicit made_clock(std::vector<std::uint64_t> readings) : readings_(std::move(readings)) {}
  std::uint64_t operator()() { return readings_[std::min(next_++, readings_.size() - 1)]; }

 private:
  std::vector<std::uint64_t> readings_;
  std::size_t next_ = 0;
};

TEST(clock_steps, show_the_resolution_of_a_clock_that_is_read_more_slowly_than_it_steps) {
  made_clock clock({0, 40, 90, 160, 200, 270});  // 40, 50, 70, 40, 70
  EXPECT_EQ(clock_steps_of(std::ref(clock), 1'000'000).resolution, 10U);
}

TEST(clock_steps, show_the_resolution_of_a_clock_that_stands_still_between_its_steps) {
  made_clock clock({0, 0, 0, 4000, 4000, 8000, 8000, 8000, 16000});
  EXPECT_EQ(clock_steps_of(std::ref(clock), 1'000'000).resolution, 4000U);
}

// Steps of a clock as it is seen: each `count` times, in the order in which they are given.
std::vector<std::uint64_t> seen(
    std::initializer_list<std::pair<std::uint64_t, std::size_t>> steps) {
  std::vector<std::uint64_t> all;
  for (const auto& [step, count] : steps) all.insert(all.end(), count, step);
  return all;
}

TEST(step_of, a_coarse_clock_is_not_how_its_steps_scatter) {
  EXPECT_EQ(step_of(seen({{3'999'998, 9}, {4'000'001, 9}, {8'000'001, 2}}), true), 4'000'001U);
  EXPECT_EQ(step_of(seen({{10'000'000, 5}}), true), 10'000'000U);
}

TEST(step_of, an_update_that_was_split_does_not_count) {
  EXPECT_EQ(step_of(seen({{1, 1}, {3'999'999, 1}, {4'000'000, 20}}), true), 4'000'000U);
  EXPECT_EQ(step_of(seen({{3, 40}, {40, 4000}, {50, 3000}, {70, 3000}}), false), 10U);
}

TEST(step_of, a_clock_that_rounds_its_steps_is_not_how_they_are_rounded) {
  // 279.365 ns of the power management timer: four to six of them a reading.
  EXPECT_EQ(
      step_of(seen({{1117, 2000}, {1118, 2000}, {1396, 500}, {1397, 500}, {1676, 100}}), false),
      279U);
  EXPECT_EQ(step_of(seen({{9, 100}, {10, 4000}, {11, 100}, {20, 900}, {30, 90}, {31, 90}}), false),
            10U);
}

TEST(step_of, a_clock_that_steps_by_its_unit_has_that_step) {
  EXPECT_EQ(step_of(seen({{18, 300}, {19, 3000}, {20, 3000}, {21, 300}, {35, 60}}), false), 1U);
  EXPECT_EQ(step_of(seen({{40, 3000}, {41, 3000}, {52, 3000}}), false), 1U);
  EXPECT_EQ(step_of(seen({{40, 300}, {47, 300}, {60, 300}, {71, 300}}), false), 7U);
  EXPECT_EQ(step_of(seen({{1, 9000}, {2, 900}}), true), 1U);
}

TEST(step_of, nothing_is_none) { EXPECT_EQ(step_of({}, true), 0U); }

TEST(measure_clocks, finds_that_a_coarse_clock_steps_by_milliseconds) {
  timespec least;
  ASSERT_EQ(clock_getres(CLOCK_MONOTONIC_COARSE, &least), 0);
  const auto clocks = measure_clocks();
  const auto coarse = std::ranges::find(clocks, "CLOCK_MONOTONIC_COARSE", &clock_report::name);
  ASSERT_NE(coarse, clocks.end());
  EXPECT_EQ(coarse->resolution_ns, static_cast<double>(least.tv_nsec));
}

TEST(clock_steps, are_none_of_a_clock_that_does_not_move) {
  made_clock clock({7});
  const clock_steps seen = clock_steps_of(std::ref(clock), 1'000'000);
  EXPECT_EQ(seen.resolution, 0U);
  EXPECT_GT(seen.readings, 0U);
}

TEST(clock_steps, count_those_that_go_back) {
  made_clock clock({10, 20, 15, 30, 29, 40});
  EXPECT_EQ(clock_steps_of(std::ref(clock), 1'000'000).backwards, 2U);
}

TEST(clock_cost, is_that_of_a_reading) {
  EXPECT_GT(clock_cost(now_ns), 0);
  EXPECT_LT(clock_cost(now_ns), 1'000'000);
}

TEST(measure_clocks, finds_that_the_steady_clock_does_not_go_back_and_agrees) {
  const auto bound_before = bound_to();
  const auto clocks = measure_clocks();
  EXPECT_EQ(bound_to(), bound_before);
  const auto steady = std::ranges::find(clocks, "steady_clock", &clock_report::name);
  ASSERT_NE(steady, clocks.end());
  EXPECT_EQ(steady->unusable_because, "");
  EXPECT_EQ(steady->backwards, 0U);
  EXPECT_GT(steady->resolution_ns, 0);
  EXPECT_GT(steady->cost_ns, 0);
  ASSERT_TRUE(steady->agreements);
  for (const auto& pair : *steady->agreements) EXPECT_LE(pair.least_offset, pair.most_offset);
}

TEST(clock_agreements, find_a_clock_that_goes_back_on_another_processor) {
  const auto found = clock_agreements(+[]() -> std::uint64_t {
    // A clock of each processor: the higher its number, the further it is behind.
    return now_ns() - 1'000'000 * static_cast<std::uint64_t>(sched_getcpu());
  });
  for (const auto& pair : found) {
    EXPECT_GT(pair.backwards, 0U);
    EXPECT_LT(pair.most_offset, 0);
  }
}

TEST(time_stamp_counter, advances_as_the_steady_clock_does_where_it_is_usable) {
  const auto& facts = time_stamp_counter_facts();
  if (!facts.unusable_because.empty()) GTEST_SKIP() << facts.unusable_because;
  const std::uint64_t outer_start = now_ns();
  const std::uint64_t start = time_stamp_begin();
  const std::uint64_t inner_start = now_ns();
  while (now_ns() < inner_start + 1'000'000) {
  }
  const std::uint64_t inner = now_ns() - inner_start;
  const double ns = static_cast<double>(time_stamp_end() - start) * facts.ns_per_tick;
  const std::uint64_t outer = now_ns() - outer_start;
  EXPECT_GE(ns, static_cast<double>(inner) * 0.99);
  EXPECT_LE(ns, static_cast<double>(outer) * 1.01);
}

}  // namespace
}  // namespace assay::host
