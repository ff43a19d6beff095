#include "assay/trial/latency.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>

namespace assay::trial {
namespace {

using workload::operation;

// The gaps between timed operations.
std::map<std::size_t, int> gaps_of(latency_sampling sampling, int timed) {
  latency_recorder recorder(sampling, {50, 50, 0}, 7);
  recorder.pass(recorder.untimed());
  recorder.timed(operation::insert, 1);
  std::map<std::size_t, int> gaps;
  for (int i = 0; i < timed; ++i) {
    ++gaps[recorder.untimed() + 1];
    recorder.pass(recorder.untimed());
    recorder.timed(operation::insert, 1);
  }
  return gaps;
}

TEST(latency_recorder, times_all_or_one_in_so_many_at_random_gaps) {
  EXPECT_EQ(gaps_of(1, 100), (std::map<std::size_t, int>{{1, 100}}));
  constexpr int timed = 100'000;
  for (const latency_sampling sampling : {2U, 3U, 64U}) {
    const auto gaps = gaps_of(sampling, timed);
    EXPECT_EQ(gaps.size(), 2 * sampling - 1);
    EXPECT_EQ(gaps.begin()->first, 1U);
    EXPECT_EQ(gaps.rbegin()->first, 2 * sampling - 1);
    double sum = 0;
    for (const auto& [gap, count] : gaps) {
      sum += static_cast<double>(gap) * count;
      const double expected = timed / (2.0 * sampling - 1);
      EXPECT_NEAR(count, expected, 6 * std::sqrt(expected)) << gap;
    }
    const double deviation = sampling / std::sqrt(3.0 * timed);
    EXPECT_NEAR(sum / timed, sampling, 6 * deviation);
  }
}

// What a map does at every 64th operation is seen by one in 64 as often as it happens.
TEST(latency_recorder, sees_what_is_periodic_as_often_as_it_is) {
  latency_recorder recorder(64, {100, 0, 0}, 3);
  std::uint64_t operations = 0;
  int timed = 0;
  int on_period = 0;
  while (timed < 100'000) {
    operations += recorder.untimed();
    recorder.pass(recorder.untimed());
    recorder.timed(operation::insert, 1);
    on_period += ++operations % 64 == 0;
    ++timed;
  }
  EXPECT_NEAR(on_period, timed / 64.0, 6 * std::sqrt(timed / 64.0));
}

TEST(latency_recorder, begins_threads_at_different_operations) {
  std::set<std::size_t> first;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    first.insert(latency_recorder(64, {100, 0, 0}, seed).untimed());
  }
  EXPECT_GT(first.size(), 20U);
}

TEST(latency_recorder, counts_by_kind_and_only_once_the_measured_interval_has_begun) {
  latency_recorder recorder(1, {50, 0, 40, 10}, 1);
  recorder.timed(operation::insert, 5);
  recorder.forget();
  recorder.timed(operation::find, 6);  // under way as it began
  recorder.begin();
  recorder.timed(operation::insert, 7);
  recorder.timed(operation::range, 9);
  recorder.timed(operation::range, 11);
  const latencies& durations = recorder.durations();
  EXPECT_EQ(durations[0]->count(), 1U);
  EXPECT_EQ(durations[0]->max(), 7U);
  EXPECT_FALSE(durations[1]);
  EXPECT_EQ(durations[2]->count(), 1U);
  EXPECT_EQ(durations[3]->count(), 2U);
  EXPECT_FALSE(durations[4]);

  latencies sums;
  merge(sums, durations);
  merge(sums, durations);
  EXPECT_EQ(sums[0]->count(), 2U);
  EXPECT_FALSE(sums[1]);
  EXPECT_EQ(sums[3]->count(), 4U);
}

}  // namespace
}  // namespace assay::trial
