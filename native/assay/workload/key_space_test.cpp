#include "assay/workload/key_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "assay/random/splitmix64.h"

namespace assay::workload {
namespace {

TEST(spreader, is_a_bijection_of_its_bits_that_keeps_zero) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const int bits = std::array{63, 31, 8, 1}[seed % 4];
    const spreader spread(seed, bits);
    EXPECT_EQ(spread.mask(), (std::uint64_t{1} << bits) - 1);
    EXPECT_EQ(spread(0), 0U);
    random::splitmix64 draw(seed);
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t x = draw() & spread.mask();
      EXPECT_LE(spread(x), spread.mask());
      EXPECT_EQ(spread.inverse(spread(x)), x);
      EXPECT_EQ(spread(spread.inverse(x)), x);
    }
  }
}

TEST(spreader, spreads_small_numbers_over_all_bits) {
  for (const int bits : {63, 31}) {
    const spreader spread(1, bits);
    std::uint64_t ever_set = 0;
    for (std::uint64_t x = 1; x <= 100; ++x) ever_set |= spread(x);
    EXPECT_EQ(ever_set, spread.mask());
  }
}

TEST(spreader, gives_many_numbers_the_same_images_as_one) {
  const spreader spread(3);
  std::vector<std::uint64_t> numbers(101);
  std::iota(numbers.begin(), numbers.end(), 0);
  spread.all(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], spread(i));
}

class key_space_of : public ::testing::TestWithParam<key_layout> {};

TEST_P(key_space_of, contains_its_keys_and_no_others) {
  constexpr std::uint64_t range = 1000;
  const key_space space(range, GetParam(), 5);
  std::set<std::uint64_t> keys;
  for (std::uint64_t index = 0; index < range; ++index) keys.insert(space.key(index));
  EXPECT_EQ(keys.size(), range);
  for (const std::uint64_t key : keys) {
    EXPECT_TRUE(space.contains(key));
    EXPECT_FALSE(space.contains(key | std::uint64_t{1} << 63));
    for (const std::uint64_t near : {key - 1, key + 1}) {
      EXPECT_EQ(space.contains(near), keys.contains(near));
    }
  }
  EXPECT_FALSE(space.contains(0));
  EXPECT_FALSE(space.contains(UINT64_MAX));
}

INSTANTIATE_TEST_SUITE_P(layouts, key_space_of,
                         ::testing::Values(key_layout::dense, key_layout::sparse));

TEST(key_space, dense_keys_are_1_to_range) {
  const key_space space(3, key_layout::dense, 5);
  EXPECT_EQ(space.key(0), 1U);
  EXPECT_EQ(space.key(2), 3U);
}

TEST(key_space, spreads_keys_of_32_bits_over_31) {
  const key_space space(1000, key_layout::sparse, 5, 31);
  std::set<std::uint64_t> keys;
  for (std::uint64_t index = 0; index < 1000; ++index) keys.insert(space.key(index));
  EXPECT_EQ(keys.size(), 1000U);
  EXPECT_LT(*keys.rbegin(), std::uint64_t{1} << 31);
  EXPECT_GT(*keys.rbegin(), std::uint64_t{1} << 30);
  for (const std::uint64_t key : keys) EXPECT_TRUE(space.contains(key));
  const key_space dense(UINT32_MAX, key_layout::dense, 5, 31);
  EXPECT_TRUE(dense.contains(UINT32_MAX));
  EXPECT_FALSE(dense.contains(std::uint64_t{1} << 32));
}

TEST(key_space, has_intervals_of_as_many_dense_keys_as_asked) {
  const key_space space(100, key_layout::dense, 5);
  EXPECT_EQ(space.from(7, 1), (key_interval{7, 7}));
  EXPECT_EQ(space.from(7, 10), (key_interval{7, 16}));
  EXPECT_EQ(space.from(91, 10), (key_interval{91, 100}));
  EXPECT_EQ(space.from(92, 10), (key_interval{92, 100}));
  EXPECT_EQ(space.from(50, 100), (key_interval{1, 100}));
  EXPECT_EQ(space.from(50, UINT64_MAX), (key_interval{1, 100}));
  const key_space largest(UINT64_MAX >> 1, key_layout::dense, 5);
  EXPECT_EQ(largest.from(1, (UINT64_MAX >> 1) - 1).last, (UINT64_MAX >> 1) - 1);
}

// How many keys an interval holds is nearly Poisson in a sparse space: over many intervals the mean
// is that asked for, within five standard errors.
TEST(key_space, has_intervals_of_as_many_sparse_keys_as_asked_on_average) {
  constexpr std::uint64_t range = 100'000;
  for (const int bits : {63, 31}) {
    const key_space space(range, key_layout::sparse, 5, bits);
    std::vector<std::uint64_t> keys(range);
    for (std::uint64_t index = 0; index < range; ++index) keys[index] = space.key(index);
    std::ranges::sort(keys);
    EXPECT_EQ(space.from(keys[3], 1), (key_interval{keys[3], keys[3]}));
    EXPECT_EQ(space.from(keys[3], range), (key_interval{1, space.spread().mask()}));
    double held = 0;
    constexpr double intervals = 900;
    for (std::size_t i = 0; i < 900; ++i) {
      const auto [first, last] = space.from(keys[i * 100], 50);
      held += static_cast<double>(std::ranges::upper_bound(keys, last) -
                                  std::ranges::lower_bound(keys, first));
    }
    EXPECT_NEAR(held / intervals, 50, 5 * std::sqrt(49 / intervals));
    EXPECT_EQ(space.from(keys.back(), 50).last, space.spread().mask());
  }
}

}  // namespace
}  // namespace assay::workload
