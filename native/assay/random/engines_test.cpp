// Every engine against published values, and all of them against what any engine owes.

#include "assay/random/engines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace assay::random {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

template <class Engine>
std::vector<std::uint64_t> first(std::size_t count, Engine engine) {
  std::vector<std::uint64_t> numbers(count);
  std::ranges::generate(numbers, [&] { return engine(); });
  return numbers;
}

template <class Engine>
std::uint64_t nth(std::uint64_t n, Engine engine) {
  std::uint64_t number = 0;
  for (std::uint64_t i = 0; i < n; ++i) number = engine();
  return number;
}

// The authors' program (prng.di.unimi.it), as rand_xoshiro tests it.
TEST(xoshiro256ss, agrees_with_the_reference_program) {
  EXPECT_THAT(first(10, xoshiro256ss({1, 2, 3, 4})),
              ElementsAre(11520U, 0U, 1509978240U, 1215971899390074240U, 1216172134540287360U,
                          607988272756665600U, 16172922978634559625U, 8476171486693032832U,
                          10595114339597558777U, 2904607092377533576U));
}

// The expected output of the author's check program for pcg64 (pcg-cpp and pcg-c), seeded (42, 54).
TEST(pcg64, agrees_with_the_reference_program) {
  EXPECT_THAT(first(6, pcg64(42, 54)),
              ElementsAre(0x86b1da1d72062b68, 0x1304aa46c9853d39, 0xa3670e9e0dd50358,
                          0xf9090e529a7dae00, 0xc85b9fd837996f2c, 0x606121f8e3919196));
}

// Lemire's SwiftWyhash tests these for the seed 42; Crystal's standard library does too.
TEST(wyrand, agrees_with_swift_wyhash) {
  EXPECT_THAT(first(3, wyrand::from_state(42)),
              ElementsAre(12558987674375533620U, 16846851108956068306U, 14652274819296609082U));
}

// Rosetta Code, "Pseudo-random numbers/Xorshift star": the high halves for the seed 1234567.
TEST(xorshift64s, agrees_with_rosetta_code) {
  auto numbers = first(5, xorshift64s::from_state(1234567));
  for (auto& number : numbers) number >>= 32;
  EXPECT_THAT(numbers,
              ElementsAre(3540625527U, 2750739987U, 4037983143U, 1993361440U, 3809424708U));
}

// The C++ standard, [rand.predef].
TEST(mt19937_64, has_the_10000th_number_of_the_standard) {
  EXPECT_EQ(nth(10'000, mt19937_64(std::mt19937_64::default_seed)), 9981545732273789042U);
}

// RngStreams (L'Ecuyer, Simard, Chen and Kelton 2002) from its default state of six 12345s: numbers
// 1 to 5, 1000, 100000 and 1000000, as fractions z / (m + 1) for m = 2^32 - 209.
TEST(mrg32k3a, agrees_with_rngstreams) {
  const mrg32k3a engine({12345, 12345, 12345}, {12345, 12345, 12345});
  const auto number = [](double fraction) {
    return static_cast<std::uint64_t>(std::llround(fraction * 4294967088.0));
  };
  EXPECT_THAT(first(5, engine),
              ElementsAre(number(0.12701112204657714), number(0.3185275653967945),
                          number(0.30918601558327008), number(0.82584686292711362),
                          number(0.2216299157820229)));
  EXPECT_EQ(nth(1000, engine), number(0.98607848680213228));
  EXPECT_EQ(nth(100'000, engine), number(0.69628910995743587));
  EXPECT_EQ(nth(1'000'000, engine), number(0.37578835621568801));
}

// The check in Marsaglia's announcement: the number after 100 million draws from his seeds.
TEST(kiss64, passes_marsaglias_check) {
  EXPECT_EQ(nth(100'000'000, kiss64({.multiplied = 1234567890987654321,
                                     .carry = 123456123456123456,
                                     .shifted = 362436362436362436,
                                     .congruential = 1066149217761810})),
            1666297717051644203U);
}

// The test vectors of the hash's authors (isthe.com) for strings of one byte: with that byte as its
// state, the engine does what the hash does.
TEST(fnv1a, hashes_single_bytes_as_fnv_1a_does) {
  EXPECT_EQ(fnv1a::from_state('a')(), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(fnv1a::from_state('b')(), 0xaf63df4c8601f1a5);
}

// Kharal and Brown 2022, section 6.2.
TEST(fnv1a, is_odd_and_even_in_turn) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    fnv1a engine(seed);
    for (std::uint64_t last = engine(), i = 0; i < 1000; ++i) {
      const std::uint64_t next = engine();
      ASSERT_NE(next & 1, last & 1);
      last = next;
    }
  }
}

// No table of Knuth's is known to us; these, from 0, are what several libraries test their LCG of
// MMIX's constants with, and the first is the increment itself.
TEST(lcg64, follows_the_recurrence_of_mmix) {
  EXPECT_THAT(first(6, lcg64::from_state(0)),
              ElementsAre(1442695040888963407U, 1876011003808476466U, 11166244414315200793U,
                          7401132627792533940U, 7076646890315895283U, 10346034117385188870U));
}

}  // namespace
}  // namespace assay::random
