#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "assay/random/permutation.h"
#include "assay/random/splitmix64.h"
#include "assay/random/xoshiro256pp.h"

namespace assay::random {
namespace {

using ::testing::ElementsAre;

template <class Engine>
std::vector<std::uint64_t> first_five(Engine engine) {
  std::vector<std::uint64_t> numbers(5);
  std::ranges::generate(numbers, [&] { return engine(); });
  return numbers;
}

// The values of both reference programs (prng.di.unimi.it), as many libraries test them.
TEST(splitmix64, agrees_with_the_reference_program) {
  EXPECT_THAT(first_five(splitmix64(1234567)),
              ElementsAre(6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                          4593380528125082431U, 16408922859458223821U));
}

TEST(xoshiro256pp, agrees_with_the_reference_program) {
  EXPECT_THAT(first_five(xoshiro256pp({1, 2, 3, 4})),
              ElementsAre(41943041U, 58720359U, 3588806011781223U, 3591011842654386U,
                          9228616714210784205U));
}

TEST(xoshiro256pp, fills_its_state_from_a_seed_by_splitmix64) {
  splitmix64 fill(99);
  const std::uint64_t a = fill(), b = fill(), c = fill(), d = fill();
  EXPECT_EQ(xoshiro256pp(99), xoshiro256pp({a, b, c, d}));
}

class permutation_of : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(permutation_of, has_every_number_once) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const permutation order(GetParam(), seed);
    std::vector<bool> seen(GetParam());
    for (std::uint64_t i = 0; i < GetParam(); ++i) {
      ASSERT_LT(order(i), GetParam());
      EXPECT_FALSE(seen[order(i)]);
      seen[order(i)] = true;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(sizes, permutation_of,
                         ::testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 100, 255, 256, 257, 20'000));

// How often each of the 24 orders of 4 numbers occurs over many seeds; 23 degrees of freedom.
TEST(permutation, depends_on_its_seed_without_favour) {
  std::vector<double> count(256);
  constexpr double expected = 24'000 / 24.0;
  for (std::uint64_t seed = 0; seed < 24'000; ++seed) {
    const permutation order(4, seed);
    ++count[order(0) << 6 | order(1) << 4 | order(2) << 2 | order(3)];
  }
  double chi_square = 0;
  int orders = 0;
  for (const double observed : count) {
    if (observed == 0) continue;
    ++orders;
    chi_square += (observed - expected) * (observed - expected) / expected;
  }
  EXPECT_EQ(orders, 24);
  EXPECT_LT(chi_square, 60);  // exceeded with probability 4e-5
}

TEST(permutation, of_large_sizes_stays_in_range_and_repeats_nothing) {
  const std::uint64_t n = (std::uint64_t{1} << 40) - 12345;
  const permutation order(n, 7);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t number = order(i);
    EXPECT_LT(number, n);
    seen.insert(number);
  }
  EXPECT_EQ(seen.size(), 10'000U);
}

}  // namespace
}  // namespace assay::random
