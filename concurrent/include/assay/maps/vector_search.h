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

#if ASSAY_VECTOR_LOADS
// gcc 12 takes the undefined vectors in its own header for mistakes (its bug 105593).
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
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

namespace detail {

// Which of the keys of a vector are less than `key`: a bit for each.
template <class Key>
[[gnu::always_inline]] ASSAY_AVX512 inline unsigned less(__m512i keys, __m512i key) noexcept {
  if constexpr (sizeof(Key) == 8 && std::is_signed_v<Key>) {
    return _mm512_cmplt_epi64_mask(keys, key);
  } else if constexpr (sizeof(Key) == 8) {
    return _mm512_cmplt_epu64_mask(keys, key);
  } else if constexpr (std::is_signed_v<Key>) {
    return _mm512_cmplt_epi32_mask(keys, key);
  } else {
    return _mm512_cmplt_epu32_mask(keys, key);
  }
}

template <class Key>
[[gnu::always_inline]] ASSAY_AVX512 inline __m512i spread_avx512(Key key) noexcept {
  if constexpr (sizeof(Key) == 8) {
    return _mm512_set1_epi64(static_cast<std::int64_t>(key));
  } else {
    return _mm512_set1_epi32(static_cast<std::int32_t>(key));
  }
}

template <std::size_t N, class Key>
[[gnu::always_inline]] ASSAY_AVX512 inline std::size_t count_avx512(const atomic<Key>* keys,
                                                                    Key key) noexcept {
  constexpr std::size_t lanes = 64 / sizeof(Key);
  const __m512i sought = spread_avx512(key);
  unsigned count = 0;
  for (std::size_t i = N % lanes; i < N; i += lanes) {
    const unsigned here = less<Key>(_mm512_loadu_si512(keys + i), sought);
    count += static_cast<unsigned>(std::popcount(here));
  }
  if constexpr (constexpr std::size_t rest = N % lanes; rest != 0) {
    constexpr unsigned first = (1U << rest) - 1;
    __m512i some;
    if constexpr (sizeof(Key) == 8) {
      some = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(first), keys);
    } else {
      some = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(first), keys);
    }
    const unsigned here = less<Key>(some, sought) & first;
    count += static_cast<unsigned>(std::popcount(here));
  }
  return count;
}

// -1 in each lane in which `a` is greater than `b`, as signed numbers: there are no others.
template <class Key>
[[gnu::always_inline]] ASSAY_AVX2 inline __m256i greater(__m256i a, __m256i b) noexcept {
  if constexpr (sizeof(Key) == 8) {
    return _mm256_cmpgt_epi64(a, b);
  } else {
    return _mm256_cmpgt_epi32(a, b);
  }
}

template <class Key>
[[gnu::always_inline]] ASSAY_AVX2 inline __m256i spread_avx2(Key key) noexcept {
  if constexpr (sizeof(Key) == 8) {
    return _mm256_set1_epi64x(static_cast<std::int64_t>(key));
  } else {
    return _mm256_set1_epi32(static_cast<std::int32_t>(key));
  }
}

// Keys as signed numbers in the same order.
template <class Key>
[[gnu::always_inline]] ASSAY_AVX2 inline __m256i as_signed(__m256i keys) noexcept {
  if constexpr (std::is_signed_v<Key>) return keys;
  constexpr auto sign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  return _mm256_xor_si256(keys, spread_avx2(sign));
}

// -1 in each lane whose key is less than `key`.
template <class Key>
[[gnu::always_inline]] ASSAY_AVX2 inline __m256i less(__m256i keys, __m256i key) noexcept {
  return greater<Key>(key, as_signed<Key>(keys));
}

// Counts, one more in each lane that is -1 in `here`.
template <class Key>
[[gnu::always_inline]] ASSAY_AVX2 inline __m256i counted(__m256i counts, __m256i here) noexcept {
  if constexpr (sizeof(Key) == 8) {
    return _mm256_sub_epi64(counts, here);
  } else {
    return _mm256_sub_epi32(counts, here);
  }
}

template <std::size_t N, class Key>
[[gnu::always_inline]] ASSAY_AVX2 inline std::size_t count_avx2(const atomic<Key>* keys,
                                                                Key key) noexcept {
  constexpr std::size_t lanes = 32 / sizeof(Key);
  const __m256i sought = as_signed<Key>(spread_avx2(key));
  __m256i counts = _mm256_setzero_si256();
  for (std::size_t i = N % lanes; i < N; i += lanes) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + i));
    counts = counted<Key>(counts, less<Key>(all, sought));
  }
  if constexpr (constexpr std::size_t rest = N % lanes; rest != 0) {
    __m256i first;
    __m256i some;
    if constexpr (sizeof(Key) == 8) {
      first = _mm256_cmpgt_epi64(_mm256_set1_epi64x(rest), _mm256_setr_epi64x(0, 1, 2, 3));
      some = _mm256_maskload_epi64(reinterpret_cast<const long long*>(keys), first);
    } else {
      first =
          _mm256_cmpgt_epi32(_mm256_set1_epi32(rest), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
      some = _mm256_maskload_epi32(reinterpret_cast<const int*>(keys), first);
    }
    counts = counted<Key>(counts, _mm256_and_si256(less<Key>(some, sought), first));
  }
  // A count takes the lowest byte of its lane, so that the sums of bytes are the sums of counts.
  const __m256i sums = _mm256_sad_epu8(counts, _mm256_setzero_si256());
  const __m128i two =
      _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return static_cast<std::size_t>(
      _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))));
}

// Which of the bytes of a vector are `byte`.
template <std::size_t Bytes>
[[gnu::always_inline]] ASSAY_AVX2 inline std::uint64_t equal_avx2(const atomic<std::uint8_t>* bytes,
                                                                  __m256i byte) noexcept {
  if constexpr (Bytes == 32) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(all, byte)));
  } else {
    static_assert(Bytes == 16 || Bytes == 8);
    const auto* const from = reinterpret_cast<const __m128i*>(bytes);
    const __m128i all = Bytes == 16 ? _mm_loadu_si128(from) : _mm_loadl_epi64(from);
    const int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm256_castsi256_si128(byte)));
    return static_cast<std::uint32_t>(equal) & ((1U << Bytes) - 1);
  }
}

// The highest bits of four numbers.
[[gnu::always_inline]] ASSAY_AVX2 inline std::uint64_t marks(__m256i four) noexcept {
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(four)));
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
    const __m256i sought = _mm256_set1_epi8(static_cast<char>(byte));
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
    constexpr __mmask32 first = ~std::uint32_t{0} >> (32 - N);
    const __m256i all = _mm256_maskz_loadu_epi8(first, bytes);
    return _mm256_mask_cmpeq_epi8_mask(first, all, _mm256_set1_epi8(sought));
  } else {
    constexpr __mmask64 first = ~std::uint64_t{0} >> (64 - N);
    const __m512i all = _mm512_maskz_loadu_epi8(first, bytes);
    return _mm512_mask_cmpeq_epi8_mask(first, all, _mm512_set1_epi8(sought));
  }
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
    const __m256i below = detail::spread_avx2(lo - 1);
    const __m256i last = detail::spread_avx2(hi);
    sorted_words found;
    for (std::size_t i = 0; i < N; i += 4) {
      const std::size_t from = std::min(i, N - 4);
      // NOLINTNEXTLINE(misc-const-correctness): the next line writes it
      __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + from));
      asm("" : "+x"(here));
      const __m256i between =
          _mm256_andnot_si256(_mm256_cmpgt_epi64(here, last), _mm256_cmpgt_epi64(here, below));
      found.zero |= detail::marks(_mm256_cmpeq_epi64(here, _mm256_setzero_si256())) << from;
      found.marked |= detail::marks(here) << from;
      found.between |= detail::marks(between) << from;
    }
    return found;
  }
}

template <instruction_set Set, std::size_t N>
  requires(N > 0 && N <= 64 && detail::written_with<Set> == instruction_set::avx512)
[[nodiscard]] ASSAY_AVX512 inline sorted_words sort_words(const atomic<std::uint64_t>* words,
                                                          std::uint64_t lo,
                                                          std::uint64_t hi) noexcept {
  const __m512i least = detail::spread_avx512(lo);
  const __m512i span = detail::spread_avx512(hi - lo);
  sorted_words found;
  for (std::size_t i = 0; i < N; i += 8) {
    const auto some = static_cast<__mmask8>(N - i < 8 ? (1U << (N - i)) - 1 : 0xffU);
    // NOLINTNEXTLINE(misc-const-correctness): the next line writes it
    __m512i here = _mm512_maskz_loadu_epi64(some, words + i);
    asm("" : "+v"(here));
    // Below `lo` the difference wraps, and what is marked is above.
    const __mmask8 between =
        _mm512_mask_cmple_epu64_mask(some, _mm512_sub_epi64(here, least), span);
    found.zero |= std::uint64_t{_mm512_mask_testn_epi64_mask(some, here, here)} << i;
    found.marked |= std::uint64_t{_mm512_movepi64_mask(here)} << i;
    found.between |= std::uint64_t{between} << i;
  }
  return found;
}

#endif  // ASSAY_VECTOR_LOADS

}  // namespace assay::vector_search

#endif  // ASSAY_MAPS_VECTOR_SEARCH_H_
