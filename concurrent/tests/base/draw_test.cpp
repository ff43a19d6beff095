#include "assay/base/draw.h"

#include <gtest/gtest.h>

#include "assay/random/splitmix64.h"

namespace assay::detail {
namespace {

TEST(random_draws, are_those_of_splitmix64) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
    random_draws draws(seed);
    random::splitmix64 expected(seed);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(draws(), expected());
  }
}

}  // namespace
}  // namespace assay::detail
