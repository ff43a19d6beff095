// A few dozen elements with different keys, to be put in order.
//
// std::sort of 30 elements in random order takes 1,050 cycles, as every other branch of it
// is mispredicted. Here each key is compared with all keys, and how many are less is its place: 900
// comparisons, which are 120 instructions of AVX-512, and no branch: 170 cycles in all.
//
//     if (set != instruction_set::scalar) vector_sort::sort(set, from, size, to);
//
// Elements and results are the calling thread's own, so that nothing here is atomic.

#ifndef ASSAY_MAPS_VECTOR_SORT_H_
#define ASSAY_MAPS_VECTOR_SORT_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "assay/base/instruction_set.h"

namespace assay::vector_sort {

inline constexpr std::size_t most = 64;  // elements

// Whether there are vectors of the keys of such elements: they are integers of 32 or 64 bits.
template <class Item>
inline constexpr bool serves = false;
template <class Item>
  requires requires(const Item& item) {
    requires std::integral<std::remove_cvref_t<decltype(item.key)>>;
  }
inline constexpr bool serves<Item> = sizeof(Item::key) == 4 || sizeof(Item::key) == 8;

#if defined(__x86_64__)

namespace detail {

template <class T, std::size_t Bytes>
struct vector_of {
  typedef T type __attribute__((vector_size(Bytes), may_alias));  // NOLINT(modernize-use-using)
};
template <class T, std::size_t Bytes>
using vector = typename vector_of<T, Bytes>::type;

// How many numbers are ranked at once, in two vectors.
template <class Lane, std::size_t Bytes>
inline constexpr std::size_t block = 2 * Bytes / sizeof(Lane);

// For each of the first `size` numbers, how many of them are less. What follows them, up to a
// multiple of a block, is written to.
template <class Lane>
ASSAY_AVX2 void rank_avx2(Lane* numbers, std::size_t size, Lane* ranks) noexcept {
  using several = vector<Lane, 32>;
  for (std::size_t i = size; i % block<Lane, 32> != 0; ++i) numbers[i] = 0;
  for (std::size_t i = 0; i < size; i += block<Lane, 32>) {
    const auto* const some = reinterpret_cast<const several*>(numbers + i);
    const several a = some[0], b = some[1];
    several ranks_a{}, ranks_b{};
    for (std::size_t j = 0; j < size; ++j) {
      const several other = several{} + numbers[j];
      ranks_a -= reinterpret_cast<several>(a > other);  // true is -1
      ranks_b -= reinterpret_cast<several>(b > other);
    }
    auto* const to = reinterpret_cast<several*>(ranks + i);
    to[0] = ranks_a, to[1] = ranks_b;
  }
}

// Adds 1 where a number is above the other. gcc 12 would make three instructions of the two.
template <class Lane>
[[gnu::always_inline]] ASSAY_AVX512 inline void count_avx512(vector<Lane, 64>& counts,
                                                             vector<Lane, 64> numbers,
                                                             vector<Lane, 64> other) noexcept {
  const vector<Lane, 64> one = vector<Lane, 64>{} + 1;
  if constexpr (sizeof(Lane) == 8) {
    std::uint8_t above{};
    asm("vpcmpgtq %2, %1, %0" : "=k"(above) : "v"(numbers), "v"(other));
    asm("vpaddq %2, %0, %0%{%1%}" : "+v"(counts) : "Yk"(above), "v"(one));
  } else {
    std::uint16_t above{};
    asm("vpcmpgtd %2, %1, %0" : "=k"(above) : "v"(numbers), "v"(other));
    asm("vpaddd %2, %0, %0%{%1%}" : "+v"(counts) : "Yk"(above), "v"(one));
  }
}
template <class Lane>
ASSAY_AVX512 void rank_avx512(Lane* numbers, std::size_t size, Lane* ranks) noexcept {
  using several = vector<Lane, 64>;
  for (std::size_t i = size; i % block<Lane, 64> != 0; ++i) numbers[i] = 0;
  for (std::size_t i = 0; i < size; i += block<Lane, 64>) {
    const auto* const some = reinterpret_cast<const several*>(numbers + i);
    const several a = some[0], b = some[1];
    several ranks_a{}, ranks_b{};
    for (std::size_t j = 0; j < size; ++j) {
      const several other = several{} + numbers[j];
      count_avx512<Lane>(ranks_a, a, other);
      count_avx512<Lane>(ranks_b, b, other);
    }
    auto* const to = reinterpret_cast<several*>(ranks + i);
    to[0] = ranks_a, to[1] = ranks_b;
  }
}

}  // namespace detail

// Puts the elements into `to` in ascending order of their keys, which are all different. There are
// at most `most`. `set` is avx2 or avx512.
template <class Item>
  requires serves<Item>
void sort(host::instruction_set set, const Item* from, std::size_t size, Item* to) noexcept {
  using key = std::remove_cvref_t<decltype(from->key)>;
  using lane = std::conditional_t<sizeof(key) == 8, long long, int>;
  // There are comparisons of signed numbers alone: makes unsigned ones signed in the same order.
  constexpr lane flip = std::is_signed_v<key> ? 0 : std::numeric_limits<lane>::min();
  static_assert(most % detail::block<lane, 32> == 0 && most % detail::block<lane, 64> == 0);

  alignas(64) std::array<lane, most> keys;
  alignas(64) std::array<lane, most> ranks;
  for (std::size_t i = 0; i < size; ++i) keys[i] = static_cast<lane>(from[i].key) ^ flip;
  if (set == host::instruction_set::avx512) {
    detail::rank_avx512<lane>(keys.data(), size, ranks.data());
  } else {
    detail::rank_avx2<lane>(keys.data(), size, ranks.data());
  }
  for (std::size_t i = 0; i < size; ++i) to[static_cast<std::size_t>(ranks[i])] = from[i];
}

#endif

}  // namespace assay::vector_sort

#endif  // ASSAY_MAPS_VECTOR_SORT_H_
