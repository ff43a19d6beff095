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
#include <cstring>
#include <random>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "assay/random/engines_test_types.h"
#include "assay/random/splitmix64.h"

namespace assay::random {
namespace {

using ::testing::ElementsAre;

template <class Engine>
std::vector<std::uint64_t> first(std::size_t count, const Engine& from) {
  Engine engine = from;
  std::vector<std::uint64_t> numbers(count);
  std::ranges::generate(numbers, [&] { return engine(); });
  return numbers;
}

template <class Engine>
std::uint64_t nth(std::uint64_t n, const Engine& from) {
  Engine engine = from;
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

// MurmurHash64A of bytes, as its author describes it, for blocks and a rest of any length.
std::uint64_t murmur_hash_64a(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  constexpr std::uint64_t m = 0xc6a4a7935bd1e995;
  std::uint64_t hash = seed ^ (bytes.size() * m);
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t block = 0;
    std::memcpy(&block, bytes.data(), 8);
    block *= m;
    block ^= block >> 47;
    block *= m;
    hash = (hash ^ block) * m;
  }
  if (!bytes.empty()) {
    std::uint64_t rest = 0;
    std::memcpy(&rest, bytes.data(), bytes.size());
    hash = (hash ^ rest) * m;
  }
  hash ^= hash >> 47;
  hash *= m;
  return hash ^ (hash >> 47);
}

// MurmurHash3_x64_128 of bytes, likewise.
using two_words = std::array<std::uint64_t, 2>;
two_words murmur_hash_3_x64_128(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  constexpr two_words c{0x87c37b91114253d5, 0x4cf5ad432745937f};
  const auto scrambled = [&](const two_words& block) {
    return two_words{std::rotl(block[0] * c[0], 31) * c[1], std::rotl(block[1] * c[1], 33) * c[0]};
  };
  const auto finalised = [](std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccd;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53;
    return x ^ (x >> 33);
  };
  const std::uint64_t length = bytes.size();
  two_words hash{seed, seed};
  for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
    two_words block{};
    std::memcpy(block.data(), bytes.data(), 16);
    block = scrambled(block);
    hash[0] = (std::rotl(hash[0] ^ block[0], 27) + hash[1]) * 5 + 0x52dce729;
    hash[1] = (std::rotl(hash[1] ^ block[1], 31) + hash[0]) * 5 + 0x38495ab5;
  }
  if (!bytes.empty()) {
    two_words rest{};
    std::memcpy(rest.data(), bytes.data(), bytes.size());
    rest = scrambled(rest);  // a word of zeros stays zero
    hash[0] ^= rest[0];
    hash[1] ^= rest[1];
  }
  hash[0] ^= length;
  hash[1] ^= length;
  hash[0] += hash[1];
  hash[1] += hash[0];
  hash = {finalised(hash[0]), finalised(hash[1])};
  hash[0] += hash[1];
  hash[1] += hash[0];
  return hash;
}

// The value by which SMHasher (its main.cpp) knows a hash: of the hashes, joined, of the strings
// 0, 1, ..., i - 1 of i = 0 to 255 bytes with the seeds 256 - i, the hash with the seed 0, of which
// the first four bytes.
template <class Hash>
std::uint32_t smhasher_verification(Hash hash) {
  std::array<std::uint8_t, 256> key{};
  std::array<decltype(hash(std::span<const std::uint8_t>(key), 0)), 256> hashes{};
  for (std::size_t i = 0; i < 256; ++i) {
    key[i] = static_cast<std::uint8_t>(i);
    hashes[i] = hash(std::span<const std::uint8_t>(key).first(i), 256 - i);
  }
  std::array<std::uint8_t, sizeof hashes> joined{};
  std::memcpy(joined.data(), hashes.data(), sizeof hashes);
  const auto last = hash(std::span<const std::uint8_t>(joined), 0);
  std::uint32_t first_bytes = 0;
  std::memcpy(&first_bytes, &last, sizeof first_bytes);
  return first_bytes;
}

std::array<std::uint8_t, 8> bytes_of(std::uint64_t x) {
  return std::bit_cast<std::array<std::uint8_t, 8>>(x);
}

// No values are published for hashes fed back. The whole hashes have SMHasher's values, and the
// engines do what these do with eight bytes.
TEST(mm2, hashes_its_last_value_by_murmur_hash_64a) {
  ASSERT_EQ(smhasher_verification(murmur_hash_64a), 0x1f0d3804U);
  mm2 engine = mm2::from_state(0x0123456789abcdef);
  std::uint64_t last = 0x0123456789abcdef;
  for (int i = 0; i < 1000; ++i) {
    last = murmur_hash_64a(bytes_of(last), 0);
    ASSERT_EQ(engine(), last);
  }
}

TEST(mm3, hashes_its_last_value_by_murmur_hash_3) {
  ASSERT_EQ(smhasher_verification(murmur_hash_3_x64_128), 0x6384ba69U);
  mm3 engine = mm3::from_state(0x0123456789abcdef);
  std::uint64_t last = 0x0123456789abcdef;
  for (int i = 0; i < 1000; ++i) {
    last = murmur_hash_3_x64_128(bytes_of(last), 0)[0];
    ASSERT_EQ(engine(), last);
  }
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

// glibc's numbers after srand(1), as it has given them for decades: they are those of the one state
// of the process, whatever the seed of an engine made later.
TEST(c_rand, draws_from_the_state_of_the_process) {
  c_rand engine(1);
  std::srand(1);  // NOLINT(concurrency-mt-unsafe): there is one thread
  c_rand other(2);
  EXPECT_EQ(engine(), 1804289383U);
  EXPECT_EQ(other(), 846930886U);
  EXPECT_EQ(engine(), 1681692777U);
}

// In a process of its own, where no other engine was the first.
TEST(c_rand, is_seeded_once_by_the_first) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto draw_from_two = [] {
    const c_rand first(7);
    const std::uint64_t drawn = c_rand(8)();
    // NOLINTBEGIN(misc-predictable-rand,concurrency-mt-unsafe): there is one thread
    std::srand(static_cast<unsigned>(splitmix64(7)()));
    std::exit(drawn == static_cast<std::uint64_t>(std::rand()) ? 0 : 1);
    // NOLINTEND(misc-predictable-rand,concurrency-mt-unsafe)
  };
  EXPECT_EXIT(draw_from_two(), ::testing::ExitedWithCode(0), "");
}

TEST(rdrand, never_repeats_itself) {
  if (!rdrand::available()) GTEST_SKIP() << "this processor has no RDRAND";
  std::unordered_set<std::uint64_t> seen;
  rdrand engine(0);
  for (int i = 0; i < 1000; ++i) seen.insert(engine());
  EXPECT_EQ(seen.size(), 1000U);
}

// What every engine owes.

template <class Engine>
class every : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!facts_of<Engine>().available) GTEST_SKIP() << "this processor lacks it";
  }
};
TYPED_TEST_SUITE(every, every_engine_as_types, engine_names);

TYPED_TEST(every, engine_is_in_the_catalogue) {
  const engine_facts& facts = find_engine(TypeParam::name);
  EXPECT_EQ(facts.name, TypeParam::name);
  EXPECT_EQ(facts.bits, TypeParam::bits);
  EXPECT_EQ(facts.state_bits, TypeParam::state_bits);
  EXPECT_FALSE(facts.description.empty());
  EXPECT_FALSE(facts.source.empty());
}

// 10,000 draws of a fair bit are within 45% and 55% but for one time in 10^23.
TYPED_TEST(every, engine_has_the_bits_that_it_says_and_each_is_set_half_the_time) {
  TypeParam engine(1);
  std::array<int, 64> set{};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t number = engine();
    for (std::size_t bit = 0; bit < 64; ++bit) set[bit] += static_cast<int>(number >> bit & 1);
  }
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if (bit < TypeParam::bits) {
      EXPECT_NEAR(set[bit], 5000, 500) << "bit " << bit;
    } else {
      EXPECT_EQ(set[bit], 0) << "bit " << bit;
    }
  }
}

// The fourth is the one whose first number of splitmix64 is zero, where states of zero come from.
TYPED_TEST(every, engine_is_not_stuck_for_awkward_seeds) {
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX, 0 - golden_gamma}) {
    const auto numbers = first(100, TypeParam(seed));
    EXPECT_GE(std::unordered_set<std::uint64_t>(numbers.begin(), numbers.end()).size(), 98U);
  }
}

template <class Engine>
class every_seeded : public ::testing::Test {};
TYPED_TEST_SUITE(every_seeded, every_seeded_engine_as_types, engine_names);

TYPED_TEST(every_seeded, engine_repeats_its_stream_for_a_seed_and_no_other) {
  const auto stream = first(100, TypeParam(5));
  EXPECT_EQ(first(100, TypeParam(5)), stream);
  EXPECT_NE(first(100, TypeParam(6)), stream);
}

}  // namespace
}  // namespace assay::random
