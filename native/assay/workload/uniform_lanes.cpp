#include "assay/workload/uniform_lanes.h"

#include <algorithm>
#include <array>
#include <span>

#include "assay/random/xoshiro256pp.h"
#include "assay/random/xoshiro256pp_vectors.h"

namespace assay::workload {
namespace {

using host::instruction_set;
using random::xoshiro256pp_lanes;
using words = xoshiro256pp_lanes::words;

constexpr std::size_t lanes = xoshiro256pp_lanes::lanes;

// How much of the work there is to do: kinds are chosen, or one alone has been written already;
// the range fits into 32 bits, or not.
enum class kinds_are { chosen, alike };
enum class range_is { narrow, wide };

template <kinds_are Kinds>
void fill_scalar(words& state, std::uint64_t range, const operation_chooser& chooser,
                 std::uint64_t* keys, operation* kinds, std::size_t steps) {
  const uniform draw(range);
  const operation_chooser choose = chooser;  // kinds may overlap anything; this stays in registers
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    random::xoshiro256pp engine({state[0][lane], state[1][lane], state[2][lane], state[3][lane]});
    for (std::size_t i = lane; i < steps * lanes; i += lanes) {
      const drawn parts = draw(engine());
      keys[i] = parts.index + 1;
      if constexpr (Kinds == kinds_are::chosen)
        kinds[i] = choose.of_three(parts.fraction >> operation_chooser::fine_shift);
    }
    for (std::size_t word = 0; word < 4; ++word) state[word][lane] = engine.state()[word];
  }
}

#if defined(__x86_64__)

// Thresholds for points as 32-bit numbers: the kind is `least` and one more for each of two numbers
// that the point is above. Of the chooser's thresholds, 2^32 is never and needs nothing; a first
// one of 0 is always and goes into `least`.
struct thresholds {
  explicit thresholds(const operation_chooser& choose)
      : least(choose.erase_from() == 0 ? 1 : 0),
        first(static_cast<std::uint32_t>(choose.erase_from() - 1)),
        second(static_cast<std::uint32_t>(choose.find_from() - 1)) {}

  char least;
  std::uint32_t first;
  std::uint32_t second;
};

template <kinds_are Kinds, range_is Range>
ASSAY_AVX2 void fill_avx2(words& state, std::uint64_t range, const operation_chooser& choose,
                          std::uint64_t* keys, operation* kinds, std::size_t steps) {
  const __m256i ranges = _mm256_set1_epi64x(static_cast<long long>(range));
  const __m256i one = _mm256_set1_epi64x(1);
  const __m256i low_half = _mm256_set1_epi64x(0xffffffff);
  const thresholds from(choose);
  // AVX2 compares signed numbers, which are in the order of unsigned ones once their first bits are
  // flipped.
  const __m256i first_bit = _mm256_set1_epi32(INT32_MIN);
  const __m256i first =
      _mm256_xor_si256(first_bit, _mm256_set1_epi32(static_cast<int>(from.first)));
  const __m256i second =
      _mm256_xor_si256(first_bit, _mm256_set1_epi32(static_cast<int>(from.second)));
  // Stores four keys; the points are the low 32 bits of each number returned.
  const auto step = [&](random::xoshiro256pp_avx2& engine,
                        std::uint64_t* to) __attribute__((always_inline)) ASSAY_AVX2 {
    const __m256i x = engine.next();
    const __m256i x_high = _mm256_srli_epi64(x, 32);
    const __m256i lowest = _mm256_mul_epu32(x, ranges);
    __m256i middle =  // NOLINT(misc-const-correctness): not where the range is wide
        _mm256_add_epi64(_mm256_mul_epu32(x_high, ranges), _mm256_srli_epi64(lowest, 32));
    __m256i high = _mm256_srli_epi64(middle, 32);  // NOLINT(misc-const-correctness)
    if constexpr (Range == range_is::wide) {
      const __m256i range_high = _mm256_srli_epi64(ranges, 32);
      high = _mm256_add_epi64(high, _mm256_mul_epu32(x_high, range_high));
      middle =
          _mm256_add_epi64(_mm256_mul_epu32(x, range_high), _mm256_and_si256(middle, low_half));
      high = _mm256_add_epi64(high, _mm256_srli_epi64(middle, 32));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_add_epi64(high, one));
    return middle;
  };
  // Where the bytes of lanes 0 and 1 or 2 and 3, and 4 and 5 or 6 and 7, go to.
  constexpr char no = -1;
  const __m256i places =
      _mm256_setr_epi8(0, 4, no, no, 8, 12, no, no, no, no, no, no, no, no, no, no, no, no, 0, 4,
                       no, no, 8, 12, no, no, no, no, no, no, no, no);
  const __m128i least = _mm_set1_epi8(from.least);
  random::xoshiro256pp_avx2 lower(state, 0);
  random::xoshiro256pp_avx2 upper(state, lanes / 2);
  for (std::size_t at = 0; at < steps; ++at) {
    const __m256i below = step(lower, keys + at * lanes);
    const __m256i above = step(upper, keys + at * lanes + lanes / 2);
    if constexpr (Kinds == kinds_are::chosen) {
      const __m256i points = _mm256_xor_si256(
          first_bit, _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(below),
                                                           _mm256_castsi256_ps(above), 0x88)));
      const __m256i minus_kinds =  // 0, -1 or -2
          _mm256_add_epi32(_mm256_cmpgt_epi32(points, first), _mm256_cmpgt_epi32(points, second));
      const __m256i bytes = _mm256_shuffle_epi8(minus_kinds, places);
      const __m128i together =
          _mm_or_si128(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(kinds + at * lanes),
                       _mm_sub_epi8(least, together));
    }
  }
  lower.store(state, 0);
  upper.store(state, lanes / 2);
}

// The products of eight numbers with the range. A key is a product's high half plus one. The low 32
// bits of `points` hold the upper bits of the product's low half.
struct products {
  __m512i keys;
  __m512i points;
};

// One high half comes down by a shuffle, which also brings the 1 that an addition would. Shuffles
// for the others instead of shifts measured slower by 4%: a Zen 4 begins one a cycle, but two
// shifts.
template <range_is Range>
[[gnu::always_inline]] ASSAY_AVX512 inline products multiply(__m512i x, __m512i range) {
  const __m512i x_high = _mm512_srli_epi64(x, 32);
  // The high half of x's low half times the range, below the 1 that makes an index a key. No sum
  // exceeds 64 bits: (2^32 - 1)^2 + 2^32 + (2^32 - 2) = 2^64 - 1.
  const __m512i carried = _mm512_mask_shuffle_epi32(
      _mm512_set1_epi64(std::int64_t{1} << 32), 0x5555, _mm512_mul_epu32(x, range), _MM_PERM_DDBB);
  const __m512i middle = _mm512_add_epi64(_mm512_mul_epu32(x_high, range), carried);
  if constexpr (Range == range_is::narrow) return {_mm512_srli_epi64(middle, 32), middle};
  const __m512i low_half = _mm512_set1_epi64(0xffffffff);
  const __m512i range_high = _mm512_srli_epi64(range, 32);
  const __m512i second =
      _mm512_add_epi64(_mm512_mul_epu32(x, range_high), _mm512_and_si512(middle, low_half));
  return {_mm512_add_epi64(
              _mm512_add_epi64(_mm512_mul_epu32(x_high, range_high), _mm512_srli_epi64(middle, 32)),
              _mm512_srli_epi64(second, 32)),
          second};
}

// The kinds of 64 operations in their order. They come as bytes by lane, then by the step's last
// bit, then by its others.
ASSAY_AVX512 inline __m512i in_order(__m512i bytes) {
  // Within each 128 bits, the bytes of two lanes in pairs; then the four pairs of each step.
  const __m512i pairs = _mm512_shuffle_epi8(
      bytes,
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15)));
  alignas(64) static constexpr std::array<std::uint16_t, 32> order = [] {
    std::array<std::uint16_t, 32> from{};
    for (std::size_t i = 0; i < 32; ++i) {
      from[i] = static_cast<std::uint16_t>(i % 4 * 8 + i / 4);
    }
    return from;
  }();
  return _mm512_permutexvar_epi16(_mm512_load_si512(order.data()), pairs);
}

template <kinds_are Kinds, range_is Range>
ASSAY_AVX512 void fill_avx512(words& state, std::uint64_t range, const operation_chooser& choose,
                              std::uint64_t* keys, operation* kinds, std::size_t steps) {
  random::xoshiro256pp_avx512 engine(state);
  const __m512i ranges = _mm512_set1_epi64(static_cast<long long>(range));
  const thresholds from(choose);
  const __m512i least = _mm512_set1_epi8(from.least);
  const __m512i first = _mm512_set1_epi32(static_cast<int>(from.first));
  const __m512i second = _mm512_set1_epi32(static_cast<int>(from.second));
  // Stores eight keys; the points are the low 32 bits of each number returned.
  const auto step = [&](std::size_t at) __attribute__((always_inline)) ASSAY_AVX512 {
    const auto [drawn_keys, points] = multiply<Range>(engine.next(), ranges);
    _mm512_storeu_si512(keys + at * lanes, drawn_keys);
    return points;
  };
  // The points of two steps side by side, so that one comparison does for both. Their kinds are
  // added to one byte of each 32 bits, of which there are four.
  const auto add_kinds = [&](__m512i& bytes, __m512i even, __m512i odd,
                             __m512i byte) __attribute__((always_inline)) ASSAY_AVX512 {
    const __m512i points = _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA);
    bytes = _mm512_mask_add_epi32(bytes, _mm512_cmpgt_epu32_mask(points, first), bytes, byte);
    bytes = _mm512_mask_add_epi32(bytes, _mm512_cmpgt_epu32_mask(points, second), bytes, byte);
  };
  constexpr std::size_t together = 8;  // steps whose kinds fill a vector
  std::size_t at = 0;
  for (; at + together <= steps; at += together) {
    __m512i bytes = least;  // NOLINT(misc-const-correctness)
#pragma GCC unroll 4
    for (std::size_t pair = 0; pair < together / 2; ++pair) {
      const __m512i even = step(at + 2 * pair);
      const __m512i odd = step(at + 2 * pair + 1);
      if constexpr (Kinds == kinds_are::chosen) {
        add_kinds(bytes, even, odd, _mm512_set1_epi32(1 << 8 * static_cast<int>(pair)));
      }
    }
    if constexpr (Kinds == kinds_are::chosen) {
      _mm512_storeu_si512(kinds + at * lanes, in_order(bytes));
    }
  }
  if (at < steps) {
    __m512i bytes = least;  // NOLINT(misc-const-correctness)
    __m512i byte = _mm512_set1_epi32(1);
    for (std::size_t next = at; next < steps; next += 2, byte = _mm512_slli_epi32(byte, 8)) {
      const __m512i even = step(next);
      const __m512i odd = next + 1 < steps ? step(next + 1) : even;
      if constexpr (Kinds == kinds_are::chosen) add_kinds(bytes, even, odd, byte);
    }
    if constexpr (Kinds == kinds_are::chosen) {
      _mm512_mask_storeu_epi8(kinds + at * lanes, ~std::uint64_t{0} >> (64 - (steps - at) * lanes),
                              in_order(bytes));
    }
  }
  engine.store(state);
}

#endif

}  // namespace

bool uniform_lanes::draws(const options& options) {
  return options.engine == random::engine_choice{.name = "xoshiro256pp"} &&
         options.draws == workload::draws::one && options.bounding == bounding::multiply &&
         options.keys.kind == distribution_kind::uniform &&
         operation_chooser(options.mix).has_three_kinds();
}

uniform_lanes::uniform_lanes(const key_space& space, const mix& mix, std::uint64_t seed,
                             instruction_set best)
    : engine_(random::xoshiro256pp(seed), best), space_(space), choose_(mix) {
  const bool alike = choose_.only().has_value();
  fill_steps_ = alike ? fill_scalar<kinds_are::alike> : fill_scalar<kinds_are::chosen>;
#if defined(__x86_64__)
  const bool narrow = space.range() >> 32 == 0;
  if (best == instruction_set::avx2) {
    fill_steps_ = alike    ? narrow ? fill_avx2<kinds_are::alike, range_is::narrow>
                                    : fill_avx2<kinds_are::alike, range_is::wide>
                     : narrow ? fill_avx2<kinds_are::chosen, range_is::narrow>
                           : fill_avx2<kinds_are::chosen, range_is::wide>;
  }
  if (best == instruction_set::avx512) {
    fill_steps_ = alike    ? narrow ? fill_avx512<kinds_are::alike, range_is::narrow>
                                    : fill_avx512<kinds_are::alike, range_is::wide>
                     : narrow ? fill_avx512<kinds_are::chosen, range_is::narrow>
                           : fill_avx512<kinds_are::chosen, range_is::wide>;
  }
#endif
}

void uniform_lanes::fill(operation_batch& batch, std::size_t size) {
  const auto only = choose_.only();
  if (only) std::fill_n(batch.kinds.begin(), size, *only);
  std::size_t filled = 0;
  if (const std::size_t steps = size / lanes; steps > 0) {
    fill_steps_(engine_.in_order(), space_.range(), choose_, batch.keys.data(), batch.kinds.data(),
                steps);
    filled = steps * lanes;
  }
  const uniform draw(space_.range());
  for (; filled < size; ++filled) {
    const drawn parts = draw(engine_());
    batch.keys[filled] = parts.index + 1;
    if (!only)
      batch.kinds[filled] = choose_.of_three(parts.fraction >> operation_chooser::fine_shift);
  }
  if (space_.layout() == key_layout::sparse) space_.spread().all(std::span(batch.keys).first(size));
  batch.size = size;
}

}  // namespace assay::workload
