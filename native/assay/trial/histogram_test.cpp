#include "assay/trial/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/random/xoshiro256pp.h"

namespace assay::trial {
namespace {

// Durations of all magnitudes: as many of each number of bits, and both ends of each power of two.
std::vector<std::uint64_t> durations_of_all_sizes() {
  random::xoshiro256pp engine(1);
  std::vector<std::uint64_t> durations{0};
  for (int bits = 1; bits <= 43; ++bits) {
    const std::uint64_t first = std::uint64_t{1} << (bits - 1);
    for (int i = 0; i < 100; ++i) durations.push_back(first + engine() % first);
    durations.insert(durations.end(), {first, 2 * first - 1});
  }
  return durations;
}

TEST(histogram, counts_a_duration_in_a_bucket_that_is_within_a_thousandth_of_it) {
  for (const std::uint64_t duration : durations_of_all_sizes()) {
    histogram one;
    one.add(duration);
    ASSERT_EQ(one.buckets().size(), 1U);
    const auto [lowest, highest, count] = one.buckets()[0];
    EXPECT_EQ(count, 1U);
    EXPECT_LE(lowest, duration);
    EXPECT_GE(highest, duration);
    EXPECT_LE(static_cast<double>(highest - lowest), 0.001 * static_cast<double>(lowest));
    if (duration < 2048) {
      EXPECT_EQ(lowest, highest);
    }
    EXPECT_EQ(one.max(), duration);
    EXPECT_EQ(one.percentile(50), duration);  // no percentile is above the maximum
  }
}

TEST(histogram, has_buckets_without_gaps_and_overlaps) {
  histogram all;
  for (std::uint64_t duration = 0; duration < 10'000; ++duration) all.add(duration);
  std::uint64_t next = 0;
  for (const auto& [lowest, highest, count] : all.buckets()) {
    EXPECT_EQ(lowest, next);
    if (highest < 10'000) {
      EXPECT_EQ(count, highest - lowest + 1);
    }
    next = highest + 1;
  }
}

TEST(histogram, gives_percentiles_within_a_thousandth_of_the_exact_ones) {
  random::xoshiro256pp engine(2);
  for (const int size : {1, 2, 3, 10, 999, 10'000}) {
    histogram measured;
    std::vector<std::uint64_t> exact;
    for (int i = 0; i < size; ++i) {
      const std::uint64_t duration = engine() >> (21 + engine() % 40);
      measured.add(duration);
      exact.push_back(duration);
    }
    std::ranges::sort(exact);
    for (const double percent : {0.01, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(size * percent / 100));
      const auto expected = static_cast<double>(exact[std::max<std::size_t>(rank, 1) - 1]);
      EXPECT_NEAR(static_cast<double>(measured.percentile(percent)), expected, 0.001 * expected)
          << size << ' ' << percent;
    }
  }
}

TEST(histogram, merged_is_that_of_all_durations_together) {
  histogram all;
  histogram odd;
  histogram even;
  for (const std::uint64_t duration : durations_of_all_sizes()) {
    all.add(duration);
    (duration % 2 == 1 ? odd : even).add(duration);
  }
  odd.merge(even);
  EXPECT_EQ(odd.buckets(), all.buckets());
  EXPECT_EQ(odd.count(), all.count());
  EXPECT_EQ(odd.max(), all.max());
  odd.merge(histogram());
  EXPECT_EQ(odd.buckets(), all.buckets());
}

TEST(histogram, knows_the_mean_of_what_was_added_more_exactly_than_its_buckets) {
  histogram some;
  EXPECT_EQ(some.mean(), 0);
  some.add(1'000'000'001);
  some.add(1'000'000'002);
  EXPECT_EQ(some.mean(), 1'000'000'001.5);
  histogram more;
  more.add(1'000'000'006);
  some.merge(more);
  EXPECT_EQ(some.mean(), 1'000'000'003);
}

TEST(histogram, counts_what_is_beyond_its_buckets_and_knows_how_long_it_was) {
  histogram some;
  some.add(UINT64_MAX);
  some.add(1);
  EXPECT_EQ(some.count(), 2U);
  EXPECT_EQ(some.max(), UINT64_MAX);
  ASSERT_EQ(some.buckets().size(), 2U);
  EXPECT_EQ(some.buckets()[1].highest, histogram::longest);
}

TEST(histogram, of_nothing_says_nothing) {
  const histogram nothing;
  EXPECT_EQ(nothing.count(), 0U);
  EXPECT_EQ(nothing.percentile(50), 0U);
  EXPECT_TRUE(nothing.buckets().empty());
}

}  // namespace
}  // namespace assay::trial
