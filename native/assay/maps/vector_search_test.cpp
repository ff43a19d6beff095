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
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/host/instruction_set.h"
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

template <instruction_set Set, class Key, std::size_t N>
void compare_counts() {
  random::splitmix64 draw(N);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Key> keys = some_keys<Key>(N, draw);
    const Key key = some_key<Key>(draw);
    const std::size_t used = draw() % (N + 1);
    std::fill(keys.begin() + static_cast<std::ptrdiff_t>(used), keys.end(),
              std::numeric_limits<Key>::max());
    const array_of<Key> array(keys);
    const auto less = std::ranges::count_if(keys, [&](Key k) { return k < key; });
    ASSERT_EQ((count_less<Set, N>(array.keys.get(), key)), static_cast<std::size_t>(less))
        << N << " keys, key " << key;
    const auto at_most =
        std::count_if(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(used),
                      [&](Key k) { return k <= key; });
    ASSERT_EQ((count_at_most<Set, N>(array.keys.get(), key, used)),
              static_cast<std::size_t>(at_most))
        << N << " keys, " << used << " used, key " << key;
  }
}

template <instruction_set Set, std::size_t N>
void compare_bytes() {
  random::splitmix64 draw(N);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::uint8_t> bytes(N);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(draw() % 4 * 85);
    const auto sought = static_cast<std::uint8_t>(draw() % 4 * 85);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < N; ++i) expected |= std::uint64_t{bytes[i] == sought} << i;
    const array_of<std::uint8_t> array(bytes);
    ASSERT_EQ((equal_bytes<Set, N>(array.keys.get(), sought)), expected) << N << " bytes";
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
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto count_all = [&]<class Key>(Key) {
      (compare_counts<TypeParam::value, Key, I + 1>(), ...);
    };
    count_all(std::int32_t{});
    count_all(std::uint32_t{});
    count_all(std::int64_t{});
    count_all(std::uint64_t{});
  }(std::make_index_sequence<most>());
}

TYPED_TEST(vector_search, finds_equal_bytes_like_a_loop_over_any_number) {
  if (TypeParam::value > host::best_instruction_set()) GTEST_SKIP() << "this processor lacks it";
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (compare_bytes<TypeParam::value, I + 1>(), ...);
  }(std::make_index_sequence<64>());
}

}  // namespace
}  // namespace assay::vector_search
