#include "assay/trial/drawing.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

namespace assay::trial {
namespace {

using workload::distribution_kind;

// How often each number is what keys from 1 on lead to.
std::map<std::uint64_t, int> counts(const drawing& asked,
                                    const std::vector<std::uint64_t>& reserved = {}) {
  const auto numbers = draw(asked, 7, reserved);
  std::map<std::uint64_t, int> of;
  for (std::uint64_t key = 1; key <= 100'000; ++key) ++of[(*numbers)(key)];
  return of;
}

TEST(drawing, gives_all_numbers_of_a_short_range_and_no_others) {
  const auto of = counts({.from = 5, .to = 9});
  EXPECT_THAT(of, ::testing::SizeIs(5));
  EXPECT_EQ(of.begin()->first, 5U);
  EXPECT_EQ(of.rbegin()->first, 9U);
  for (const auto& [number, times] : of) EXPECT_NEAR(times, 20'000, 2'500) << number;  // 5.6 sigma
}

TEST(drawing, follows_the_distribution) {
  const auto zipf = counts({10, 109, {.kind = distribution_kind::zipf, .exponent = 1}});
  // The first of 100 numbers has 1 / (1 + 1/2 + ... + 1/100) = 19.3%, the second half of that.
  EXPECT_NEAR(zipf.at(10), 19'300, 3'500);
  EXPECT_NEAR(zipf.at(11), 9'650, 2'600);
  const auto hot = counts(
      {.from = 0,
       .to = 99,
       .by = {.kind = distribution_kind::hot_set, .operations_percent = 100, .keys_percent = 3}});
  EXPECT_THAT(hot, ::testing::SizeIs(3));
}

TEST(drawing, is_the_same_for_a_seed) {
  const drawing asked{1, 1U << 30};
  const auto numbers = draw(asked, 7, {});
  const auto again = draw(asked, 7, {});
  const auto others = draw(asked, 8, {});
  EXPECT_EQ((*numbers)(3), (*again)(3));
  EXPECT_NE((*numbers)(3), (*others)(3));
}

TEST(drawing, gives_nothing_that_is_reserved) {
  EXPECT_THAT(counts({.from = 0, .to = 3}, {0, 2}),
              ::testing::ElementsAre(::testing::Key(1), ::testing::Key(3)));
  EXPECT_THROW(static_cast<void>(draw({0, 1}, 7, {0, 1})), std::invalid_argument);
}

}  // namespace
}  // namespace assay::trial
