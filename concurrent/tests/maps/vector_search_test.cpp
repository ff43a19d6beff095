#include "assay/maps/vector_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/instruction_set.h"
#include "assay/random/splitmix64.h"

namespace assay::vector_search {
namespace {

static_assert(serves<std::int32_t> && serves<std::uint32_t>);
static_assert(serves<std::int64_t> && serves<std::uint64_t>);
static_assert(!serves<bool> && !serves<std::int16_t> && !serves<double> && !serves<void*>);

constexpr std::size_t most = 63;
constexpr std::size_t rounds = 200;

// N keys at the very end of what is allocated, so that AddressSanitizer sees a read beyond.
template <class Key>
struct array_of {
  explicit array_of(const std::vector<Key>& values)
      : keys(std::make_unique<std::atomic<Key>[]>(values.size())) {  // NOLINT(*-c-arrays)
    for (std::size_t i = 0; i < values.size(); ++i) keys[i] = values[i];
  }
  std::unique_ptr<std::atomic<Key>[]> keys;  // NOLINT(*-c-arrays)
};

// Few keys, so that many are equal, and those at which comparisons of another type go wrong.
template <class Key>
Key some_key(random::splitmix64& draw) {
  constexpr Key least = std::numeric_limits<Key>::min();
  constexpr Key greatest = std::numeric_limits<Key>::max();
  constexpr std::array<Key, 12> extreme{
      least,
      least + 1,
      greatest,
      greatest - 1,
      greatest / 2,
      greatest / 2 + 1,
      static_cast<Key>(-1),
      0,
      1,
      static_cast<Key>(std::uint64_t{1} << 31),
      static_cast<Key>(std::uint64_t{1} << 32),
      static_cast<Key>(std::uint64_t{0xffff'ffff}),
  };
  const std::uint64_t number = draw();
  switch (number % 3) {
    case 0:
      return extreme[(number >> 8) % extreme.size()];
    case 1:
      return static_cast<Key>((number >> 8) % 16);
    default:
      return static_cast<Key>(draw());
  }
}

template <class Key>
std::vector<Key> some_keys(std::size_t count, random::splitmix64& draw) {
  std::vector<Key> keys(count);
  std::ranges::generate(keys, [&] { return some_key<Key>(draw); });
  return keys;
}

// The functions for N keys stand at N - 1, so that all that follows is compiled once for a type.
template <class Key>
using counts_less = std::array<std::size_t (*)(const atomic<Key>*, Key) noexcept, most>;
using equals =
    std::array<std::uint64_t (*)(const atomic<std::uint8_t>*, std::uint8_t) noexcept, 64>;
using sorts = std::array<
    sorted_words (*)(const atomic<std::uint64_t>*, std::uint64_t, std::uint64_t) noexcept, 64>;

template <instruction_set Set, class Key>
void compare_counts() {
  const auto less = []<std::size_t... I>(std::index_sequence<I...>) {
    return counts_less<Key>{&count_less<Set, I + 1, Key>...};
  }(std::make_index_sequence<most>());
  random::splitmix64 draw(1);
  for (std::size_t i = 0; i < most * rounds; ++i) {
    const std::size_t size = i % most + 1;
    std::vector<Key> keys = some_keys<Key>(size, draw);
    const Key key = some_key<Key>(draw);
    const std::size_t used = draw() % (size + 1);
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(used);
    std::fill(end, keys.end(), std::numeric_limits<Key>::max());
    const array_of<Key> array(keys);
    const auto expected_less = std::ranges::count_if(keys, [&](Key k) { return k < key; });
    ASSERT_EQ(less[size - 1](array.keys.get(), key), static_cast<std::size_t>(expected_less))
        << size << " keys, key " << key;
  }
}

template <instruction_set Set>
void compare_bytes() {
  const auto equal = []<std::size_t... I>(std::index_sequence<I...>) {
    return equals{&equal_bytes<Set, I + 1>...};
  }(std::make_index_sequence<64>());
  random::splitmix64 draw(1);
  for (std::size_t i = 0; i < equal.size() * rounds; ++i) {
    const std::size_t size = i % equal.size() + 1;
    std::vector<std::uint8_t> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(draw() % 4 * 85);
    const auto sought = static_cast<std::uint8_t>(draw() % 4 * 85);
    std::uint64_t expected = 0;
    for (std::size_t at = 0; at < size; ++at) {
      expected |= std::uint64_t{bytes[at] == sought} << at;
    }
    const array_of<std::uint8_t> array(bytes);
    ASSERT_EQ(equal[size - 1](array.keys.get(), sought), expected) << size << " bytes";
  }
}

// A number that is neither 0 nor marked, often one of the first or of the last.
std::uint64_t some_number(random::splitmix64& draw) {
  constexpr std::uint64_t greatest = (std::uint64_t{1} << 63) - 1;
  const std::uint64_t number = draw();
  switch (number % 3) {
    case 0:
      return 1 + (number >> 8) % 8;
    case 1:
      return greatest - (number >> 8) % 8;
    default:
      return std::max<std::uint64_t>(1, draw() & greatest);
  }
}

template <instruction_set Set>
void compare_words() {
  constexpr std::uint64_t mark = std::uint64_t{1} << 63;
  const auto sort = []<std::size_t... I>(std::index_sequence<I...>) {
    return sorts{&sort_words<Set, I + 1>...};
  }(std::make_index_sequence<64>());
  random::splitmix64 draw(1);
  for (std::size_t i = 0; i < sort.size() * rounds; ++i) {
    const std::size_t size = i % sort.size() + 1;
    std::uint64_t lo = some_number(draw);
    std::uint64_t hi = some_number(draw);
    if (lo > hi) std::swap(lo, hi);
    // Free, marked, at the bounds and just beyond them, or any.
    const auto word = [&]() -> std::uint64_t {
      switch (draw() % 7) {
        case 0:
          return 0;
        case 1:
          return mark;
        case 2:
          return mark | some_number(draw);
        case 3:
          return lo - draw() % 2;
        case 4:
          return hi + draw() % 2;  // beyond the greatest number it is a mark
        default:
          return some_number(draw);
      }
    };
    std::vector<std::uint64_t> words(size);
    std::ranges::generate(words, word);
    sorted_words expected;
    for (std::size_t at = 0; at < size; ++at) {
      expected.zero |= std::uint64_t{words[at] == 0} << at;
      expected.marked |= std::uint64_t{words[at] >= mark} << at;
      expected.between |= std::uint64_t{lo <= words[at] && words[at] <= hi} << at;
    }
    const array_of<std::uint64_t> array(words);
    const sorted_words found = sort[size - 1](array.keys.get(), lo, hi);
    ASSERT_EQ(found.zero, expected.zero) << size << " words";
    ASSERT_EQ(found.marked, expected.marked) << size << " words";
    ASSERT_EQ(found.between, expected.between) << size << " words, " << lo << " to " << hi;
  }
}

template <class Case>
class vector_search : public ::testing::Test {};

template <instruction_set Set>
using with = std::integral_constant<instruction_set, Set>;

struct case_names {
  template <class Set>
  static std::string GetName(int) {
    return std::string(host::instruction_set_names[static_cast<std::size_t>(Set::value)]);
  }
};

using sets = ::testing::Types<with<instruction_set::scalar>, with<instruction_set::avx2>,
                              with<instruction_set::avx512>>;
TYPED_TEST_SUITE(vector_search, sets, case_names);

TYPED_TEST(vector_search, counts_like_a_loop_over_any_number_of_keys_of_any_type) {
  if (TypeParam::value > host::best_instruction_set()) GTEST_SKIP() << "this processor lacks it";
  compare_counts<TypeParam::value, std::int32_t>();
  compare_counts<TypeParam::value, std::uint32_t>();
  compare_counts<TypeParam::value, std::int64_t>();
  compare_counts<TypeParam::value, std::uint64_t>();
}

TYPED_TEST(vector_search, finds_equal_bytes_like_a_loop_over_any_number) {
  if (TypeParam::value > host::best_instruction_set()) GTEST_SKIP() << "this processor lacks it";
  compare_bytes<TypeParam::value>();
}

TYPED_TEST(vector_search, sorts_words_like_a_loop_over_any_number) {
  if (TypeParam::value > host::best_instruction_set()) GTEST_SKIP() << "this processor lacks it";
  compare_words<TypeParam::value>();
}

}  // namespace
}  // namespace assay::vector_search
