#include "assay/workload/key_space.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "assay/random/splitmix64.h"

namespace assay::workload {
namespace {

TEST(spreader, is_a_bijection_of_63_bits_that_keeps_zero) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const spreader spread(seed);
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
  const spreader spread(1);
  std::uint64_t ever_set = 0;
  for (std::uint64_t x = 1; x <= 100; ++x) ever_set |= spread(x);
  EXPECT_EQ(ever_set, spread.mask());
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

}  // namespace
}  // namespace assay::workload
