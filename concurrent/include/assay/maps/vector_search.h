// A node of a search tree holds a few dozen keys. Where among them does a key belong?
//
// A binary search of 31 keys takes five steps. Each step waits for a load, or for a branch that
// is mispredicted every other time: 32 ns in all. To compare with all 31 takes four vectors of
// AVX-512 and no branch, and the keys need not even be in order: 8 ns, with AVX2 11 ns, with plain
// instructions 20 ns.
//
//     template <host::instruction_set Set>              // all of it compiled for one of them
//     std::size_t child_of(const node& n, std::uint64_t key) {
//       return vector_search::count_less<Set, 31>(n.keys.data(), key);
//     }
//
// Unused places hold the greatest key, so that they never count as less. equal_bytes() finds the
// places of a byte: with a byte of each key's hash, these are the places where the key may be.
//
// Promises. Other threads may change the arrays during a call. Each key is then read at some moment
// during the call, as by relaxed loads in no order; the answer is right for the keys that were
// read, and is at most N whatever they were. Whether all were there at one moment is for the caller
// to validate, such as by an optimistic_lock. Every function is wait-free and noexcept.
//
// If N is not a multiple of the keys in a vector, the keys left over are the first ones. So an
// array that begins within a cache line and ends with one is read without a load that crosses a
// line.
//
// The functions for avx2 and avx512 have that attribute (host/instruction_set.h), and are inlined
// into callers with the same one. All sets give the same answer.

#ifndef ASSAY_MAPS_VECTOR_SEARCH_H_
#define ASSAY_MAPS_VECTOR_SEARCH_H_

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "assay/base/atomics.h"
#include "assay/base/instruction_set.h"
#include "assay/base/sanitizers.h"

// A vector load of atomic words is a race, by the standard; in practice it is as many relaxed
// loads. This is the one place that assumes it: a processor reads each aligned word of at most 8
// bytes in a vector in one piece (every x86-64 processor does, though no manual promises it), and
// the compiler takes the load for one of memory that anybody may change, which it moves across no
// acquire and no fence. It may load twice what is loaded once here: that is once more a relaxed
// load, and what counts keys is safe whatever it returns. sort_words(), whose answers are about one
// and the same load, hides from the compiler where its numbers come from.
// ThreadSanitizer rightly reports it, and a model checker has atomics of its own: for both, every
// set is scalar.
#if ASSAY_THREAD_SANITIZER || defined(ASSAY_ATOMICS_HEADER) || !defined(__x86_64__)
#define ASSAY_VECTOR_LOADS 0
#else
#define ASSAY_VECTOR_LOADS 1
#endif

namespace assay::vector_search {

using host::instruction_set;

// Whether there are vectors of this key: it is an integer of 32 or 64 bits.
template <class Key>
inline constexpr bool serves = std::integral<Key> && (sizeof(Key) == 4 || sizeof(Key) == 8);

namespace detail {

// The instructions that a function for `Set` is written with: plain ones where vector loads are not
// allowed.
template <instruction_set Set>
inline constexpr instruction_set written_with =
    // NOLINTNEXTLINE(modernize-avoid-c-style-cast): so clang writes what stands for `Set`
    ASSAY_VECTOR_LOADS != 0 ? Set : instruction_set::scalar;

template <class Key, std::size_t N>
concept searchable = serves<Key> && N > 0 && N < 64;

}  // namespace detail

// How many of the first N `keys` are less than `key`. Reads exactly those.
template <instruction_set Set, std::size_t N, class Key>
  requires detail::searchable<Key, N> && (detail::written_with<Set> == instruction_set::scalar)
[[nodiscard]] inline std::size_t count_less(const atomic<Key>* keys, Key key) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < N; ++i) {
    count += keys[i].load(memory_order_relaxed) < key ? std::size_t{1} : std::size_t{0};
  }
  return count;
}

// Which of the first N `bytes` are `byte`: bit i says it of bytes[i]. Reads exactly those.
template <instruction_set Set, std::size_t N>
  requires(N > 0 && N <= 64 && detail::written_with<Set> == instruction_set::scalar)
[[nodiscard]] inline std::uint64_t equal_bytes(const atomic<std::uint8_t>* bytes,
                                               std::uint8_t byte) noexcept {
  std::uint64_t equal = 0;
  for (std::size_t i = 0; i < N; ++i) {
    equal |= std::uint64_t{bytes[i].load(memory_order_relaxed) == byte} << i;
  }
  return equal;
}

// How many of the first `some` of 16 numbers are at most `most`.
template <instruction_set Set, std::size_t N>
  requires(N == 16 && detail::written_with<Set> == instruction_set::scalar)
[[nodiscard]] inline std::size_t count_at_most(const atomic<std::uint16_t>* numbers,
                                               std::uint16_t most, std::size_t some) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < N; ++i) {
    count += i < some && numbers[i].load(memory_order_relaxed) <= most ? 1U : 0U;
  }
  return count;
}

// Which of some words are 0, which have their highest bit, and which are numbers from `lo` to `hi`:
// bit i says it of words[i].
struct sorted_words {
  std::uint64_t zero = 0;
  std::uint64_t marked = 0;
  std::uint64_t between = 0;
};

// Searches the first N `words`, and reads exactly those. lo <= hi < 2^63.
template <instruction_set Set, std::size_t N>
  requires(N > 0 && N <= 64 && detail::written_with<Set> == instruction_set::scalar)
[[nodiscard]] inline sorted_words sort_words(const atomic<std::uint64_t>* words, std::uint64_t lo,
                                             std::uint64_t hi) noexcept {
  sorted_words found;
  for (std::size_t i = 0; i < N; ++i) {
    const std::uint64_t word = words[i].load(memory_order_relaxed);
    found.zero |= std::uint64_t{word == 0} << i;
    found.marked |= (word >> 63U) << i;
    found.between |= std::uint64_t{lo <= word && word <= hi} << i;
  }
  return found;
}

#if ASSAY_VECTOR_LOADS

// Written with the vectors that gcc and clang have as types, with asm for what gives a mask of
// AVX-512, and without <immintrin.h>: with it, a map has 133,000 lines, not 89,000.
namespace detail {

// Numbers of one vector, and the same wherever they are in memory.
template <class T, std::size_t Bytes>
struct vector_of {
  typedef T type __attribute__((vector_size(Bytes)));  // NOLINT(modernize-use-using)
  // NOLINTNEXTLINE(modernize-use-using)
  typedef T anywhere __attribute__((vector_size(Bytes), aligned(1), may_alias));
};
template <class T, std::size_t Bytes>
using vector = typename vector_of<T, Bytes>::type;

template <class T, std::size_t Bytes>
[[gnu::always_inline]] inline const typename vector_of<T, Bytes>::anywhere& vector_at(
    const void* from) noexcept {
  return *static_cast<const typename vector_of<T, Bytes>::anywhere*>(from);
}

// Which of the keys in a vector at `keys` are less than `key`: a bit for each of those that `some`
// has a bit for. Reads no others.
template <class Key, class Vector, class Mask>
[[gnu::always_inline]] ASSAY_AVX512 inline Mask less_avx512(const atomic<Key>* keys, Vector key,
                                                            Mask some) noexcept {
  const auto& all = vector_at<Key, 64>(keys);
  Mask less{};
  // 6: `key` is greater than the other. clang-tidy takes all assembly for the same.
  // NOLINTNEXTLINE(bugprone-branch-clone)
  if constexpr (sizeof(Key) == 8 && std::is_signed_v<Key>) {
    asm("vpcmpq $6, %1, %2, %0%{%3%}" : "=k"(less) : "m"(all), "v"(key), "Yk"(some));
  } else if constexpr (sizeof(Key) == 8) {
    asm("vpcmpuq $6, %1, %2, %0%{%3%}" : "=k"(less) : "m"(all), "v"(key), "Yk"(some));
  } else if constexpr (std::is_signed_v<Key>) {
    asm("vpcmpd $6, %1, %2, %0%{%3%}" : "=k"(less) : "m"(all), "v"(key), "Yk"(some));
  } else {
    asm("vpcmpud $6, %1, %2, %0%{%3%}" : "=k"(less) : "m"(all), "v"(key), "Yk"(some));
  }
  return less;
}

template <std::size_t N, class Key>
[[gnu::always_inline]] ASSAY_AVX512 inline std::size_t count_avx512(const atomic<Key>* keys,
                                                                    Key key) noexcept {
  using mask = std::conditional_t<sizeof(Key) == 8, std::uint8_t, std::uint16_t>;
  constexpr std::size_t lanes = 64 / sizeof(Key);
  constexpr std::size_t rest = N % lanes;
  // clang adds no character to a vector of them.
  using lane = std::conditional_t<sizeof(Key) == 8, std::uint64_t, std::uint32_t>;
  const vector<lane, 64> sought = vector<lane, 64>{} + static_cast<lane>(key);
  unsigned count = 0;
  for (std::size_t i = rest; i < N; i += lanes) {
    const mask here = less_avx512(keys + i, sought, static_cast<mask>(~mask{}));
    count += static_cast<unsigned>(std::popcount(here));
  }
  if constexpr (rest != 0) {
    const mask here = less_avx512(keys, sought, static_cast<mask>((1U << rest) - 1));
    count += static_cast<unsigned>(std::popcount(here));
  }
  return count;
}

template <std::size_t N, class Key>
[[gnu::always_inline]] ASSAY_AVX2 inline std::size_t count_avx2(const atomic<Key>* keys,
                                                                Key key) noexcept {
  using lane = std::conditional_t<sizeof(Key) == 8, long long, int>;
  using numbers = vector<lane, 32>;
  constexpr std::size_t lanes = 32 / sizeof(Key);
  constexpr std::size_t rest = N % lanes;
  // There are comparisons of signed numbers alone: makes unsigned ones signed in the same order.
  constexpr lane flip = std::is_signed_v<Key> ? 0 : std::numeric_limits<lane>::min();
  const numbers sought = (numbers{} + static_cast<lane>(key)) ^ flip;
  numbers counts{};
  for (std::size_t i = rest; i < N; i += lanes) {
    const numbers all = vector_at<lane, 32>(keys + i) ^ flip;
    counts -= reinterpret_cast<numbers>(all < sought);  // true is -1
  }
  if constexpr (rest != 0) {
    numbers first;
    numbers some;
    if constexpr (sizeof(Key) == 8) {
      first = reinterpret_cast<numbers>(numbers{0, 1, 2, 3} < static_cast<lane>(rest));
      some = __builtin_ia32_maskloadq256(reinterpret_cast<const numbers*>(keys), first);
    } else {
      first = reinterpret_cast<numbers>(numbers{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<lane>(rest));
      some = __builtin_ia32_maskloadd256(reinterpret_cast<const numbers*>(keys), first);
    }
    counts -= reinterpret_cast<numbers>((some ^ flip) < sought) & first;
  }
  // A count takes the lowest byte of its lane, so that the sums of bytes are the sums of counts.
  using bytes = vector<char, 32>;
  const auto sums = reinterpret_cast<vector<long long, 32>>(
      __builtin_ia32_psadbw256(reinterpret_cast<bytes>(counts), bytes{}));
  const vector<long long, 16> two =
      __builtin_shufflevector(sums, sums, 0, 1) + __builtin_shufflevector(sums, sums, 2, 3);
  return static_cast<std::size_t>((two + __builtin_shufflevector(two, two, 1, 1))[0]);
}

// Which of the bytes of a vector are `byte`.
template <std::size_t Bytes>
[[gnu::always_inline]] ASSAY_AVX2 inline std::uint64_t equal_avx2(const atomic<std::uint8_t>* bytes,
                                                                  char byte) noexcept {
  if constexpr (Bytes == 32) {
    const auto equal = vector_at<char, 32>(bytes) == byte;
    return static_cast<std::uint32_t>(
        __builtin_ia32_pmovmskb256(reinterpret_cast<vector<char, 32>>(equal)));
  } else {
    static_assert(Bytes == 16 || Bytes == 8);
    vector<char, 16> all;
    if constexpr (Bytes == 16) {
      all = vector_at<char, 16>(bytes);
    } else {
      const vector<long long, 16> half{vector_at<long long, 8>(bytes)[0], 0};
      all = reinterpret_cast<vector<char, 16>>(half);
    }
    const int equal = __builtin_ia32_pmovmskb128(reinterpret_cast<vector<char, 16>>(all == byte));
    return static_cast<std::uint32_t>(equal) & ((1U << Bytes) - 1);
  }
}

// Which of the first bytes of a vector are `byte`, for those that `first` has a bit for. Reads no
// others.
template <std::size_t Bytes, class Mask>
[[gnu::always_inline]] ASSAY_AVX512 inline Mask equal_avx512(const atomic<std::uint8_t>* bytes,
                                                             char byte, Mask first) noexcept {
  const vector<char, Bytes> sought = vector<char, Bytes>{} + byte;
  Mask equal{};
  asm("vpcmpeqb %1, %2, %0%{%3%}"
      : "=k"(equal)
      : "m"(vector_at<char, Bytes>(bytes)), "v"(sought), "Yk"(first));
  return equal;
}

// The highest bits of four numbers.
[[gnu::always_inline]] ASSAY_AVX2 inline std::uint64_t marks(vector<long long, 32> four) noexcept {
  return static_cast<unsigned>(
      __builtin_ia32_movmskpd256(reinterpret_cast<vector<double, 32>>(four)));
}

}  // namespace detail

template <instruction_set Set, std::size_t N, class Key>
  requires detail::searchable<Key, N> && (detail::written_with<Set> == instruction_set::avx2)
[[nodiscard]] ASSAY_AVX2 inline std::size_t count_less(const atomic<Key>* keys, Key key) noexcept {
  return detail::count_avx2<N>(keys, key);
}

template <instruction_set Set, std::size_t N, class Key>
  requires detail::searchable<Key, N> && (detail::written_with<Set> == instruction_set::avx512)
[[nodiscard]] ASSAY_AVX512 inline std::size_t
    count_less(const atomic<Key>* keys, Key key) noexcept {
  return detail::count_avx512<N>(keys, key);
}

// Where N is not made up of whole vectors, the last one overlaps the one before.
template <instruction_set Set, std::size_t N>
  requires(N > 0 && N <= 64 && detail::written_with<Set> == instruction_set::avx2)
[[nodiscard]] ASSAY_AVX2 inline std::uint64_t equal_bytes(const atomic<std::uint8_t>* bytes,
                                                          std::uint8_t byte) noexcept {
  if constexpr (N < 8) {
    return equal_bytes<instruction_set::scalar, N>(bytes, byte);
  } else {
    constexpr std::size_t vector = std::min(std::bit_floor(N), std::size_t{32});
    const auto sought = static_cast<char>(byte);
    std::uint64_t equal = 0;
    for (std::size_t i = 0; i + vector <= N; i += vector) {
      equal |= detail::equal_avx2<vector>(bytes + i, sought) << i;
    }
    if constexpr (N % vector != 0) {
      constexpr std::size_t last = N - vector;
      equal |= detail::equal_avx2<vector>(bytes + last, sought) << last;
    }
    return equal;
  }
}

template <instruction_set Set, std::size_t N>
  requires(N > 0 && N <= 64 && detail::written_with<Set> == instruction_set::avx512)
[[nodiscard]] ASSAY_AVX512 inline std::uint64_t equal_bytes(const atomic<std::uint8_t>* bytes,
                                                            std::uint8_t byte) noexcept {
  const auto sought = static_cast<char>(byte);
  if constexpr (N <= 32) {
    return detail::equal_avx512<32>(bytes, sought, ~std::uint32_t{0} >> (32 - N));
  } else {
    return detail::equal_avx512<64>(bytes, sought, ~std::uint64_t{0} >> (64 - N));
  }
}

template <instruction_set Set, std::size_t N>
  requires(N == 16 && detail::written_with<Set> == instruction_set::avx2)
[[nodiscard]] ASSAY_AVX2 inline std::size_t count_at_most(const atomic<std::uint16_t>* numbers,
                                                          std::uint16_t most,
                                                          std::size_t some) noexcept {
  const auto here = detail::vector_at<std::uint16_t, 32>(numbers) <= most;
  // Two bits of each.
  const auto bits = static_cast<std::uint32_t>(
      __builtin_ia32_pmovmskb256(reinterpret_cast<detail::vector<char, 32>>(here)));
  const std::uint64_t first = (std::uint64_t{1} << (2 * some)) - 1;
  return static_cast<std::size_t>(std::popcount(bits & first)) / 2;
}

template <instruction_set Set, std::size_t N>
  requires(N == 16 && detail::written_with<Set> == instruction_set::avx512)
[[nodiscard]] ASSAY_AVX512 inline std::size_t count_at_most(const atomic<std::uint16_t>* numbers,
                                                            std::uint16_t most,
                                                            std::size_t some) noexcept {
  const detail::vector<std::uint16_t, 32> all = detail::vector<std::uint16_t, 32>{} + most;
  std::uint16_t here{};
  // 5: `most` is not less than the other.
  asm("vpcmpuw $5, %1, %2, %0"
      : "=k"(here)
      : "m"(detail::vector_at<std::uint16_t, 32>(numbers)), "v"(all));
  return static_cast<std::size_t>(std::popcount(here & ((1U << some) - 1)));
}

// As signed numbers, those that are marked are below `lo`. The last vector may overlap the one
// before.
template <instruction_set Set, std::size_t N>
  requires(N > 0 && N <= 64 && detail::written_with<Set> == instruction_set::avx2)
[[nodiscard]] ASSAY_AVX2 inline sorted_words sort_words(const atomic<std::uint64_t>* words,
                                                        std::uint64_t lo,
                                                        std::uint64_t hi) noexcept {
  if constexpr (N < 4) {
    return sort_words<instruction_set::scalar, N>(words, lo, hi);
  } else {
    using numbers = detail::vector<long long, 32>;
    sorted_words found;
    for (std::size_t i = 0; i < N; i += 4) {
      const std::size_t from = std::min(i, N - 4);
      // NOLINTNEXTLINE(misc-const-correctness): the next line writes it
      numbers here = detail::vector_at<long long, 32>(words + from);
      asm("" : "+x"(here));
      const auto below = here < static_cast<long long>(lo);
      const auto above = here > static_cast<long long>(hi);
      found.zero |= detail::marks(reinterpret_cast<numbers>(here == 0)) << from;
      found.marked |= detail::marks(here) << from;
      found.between |= detail::marks(reinterpret_cast<numbers>(~(below | above))) << from;
    }
    return found;
  }
}

template <instruction_set Set, std::size_t N>
  requires(N > 0 && N <= 64 && detail::written_with<Set> == instruction_set::avx512)
[[nodiscard]] ASSAY_AVX512 inline sorted_words sort_words(const atomic<std::uint64_t>* words,
                                                          std::uint64_t lo,
                                                          std::uint64_t hi) noexcept {
  using numbers = detail::vector<std::uint64_t, 64>;
  const numbers span = numbers{} + (hi - lo);
  sorted_words found;
  for (std::size_t i = 0; i < N; i += 8) {
    const auto some = static_cast<std::uint8_t>(N - i < 8 ? (1U << (N - i)) - 1 : 0xffU);
    numbers here;
    std::uint8_t zero{};
    std::uint8_t marked{};
    std::uint8_t between{};
    asm("vmovdqu64 %1, %0%{%2%}%{z%}"
        : "=v"(here)
        : "m"(detail::vector_at<std::uint64_t, 64>(words + i)), "Yk"(some));
    asm("vptestnmq %1, %1, %0%{%2%}" : "=k"(zero) : "v"(here), "Yk"(some));
    asm("vpmovq2m %1, %0" : "=k"(marked) : "v"(here));
    // 2: at most. Below `lo` the difference wraps, and what is marked is above.
    asm("vpcmpuq $2, %2, %1, %0%{%3%}" : "=k"(between) : "v"(here - lo), "v"(span), "Yk"(some));
    found.zero |= std::uint64_t{zero} << i;
    found.marked |= std::uint64_t{marked} << i;
    found.between |= std::uint64_t{between} << i;
  }
  return found;
}

#endif  // ASSAY_VECTOR_LOADS

}  // namespace assay::vector_search

#endif  // ASSAY_MAPS_VECTOR_SEARCH_H_
