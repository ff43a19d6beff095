#include "assay/workload/scramble.h"

#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace assay::workload {
namespace {

#if defined(__x86_64__)

constexpr std::size_t lanes = 8;
constexpr std::size_t vectors = 4;
constexpr __mmask8 all = 0xff;  // gcc 12 warns of what the forms without a mask leave undefined

[[gnu::always_inline]] ASSAY_AVX512 inline __m512i spread_of(std::uint64_t number) {
  return _mm512_set1_epi64(static_cast<long long>(number));
}

// 32 indices at a time, those outside the range again, until there are none. The plain loop has a
// branch that goes astray for each index; this has one for 32, and the four vectors hide each
// other's latencies. Returns how many are done.
ASSAY_AVX512 std::size_t apply_avx512(std::span<std::uint64_t> indices,
                                      const std::array<scramble::round, 4>& rounds,
                                      std::uint64_t range, std::uint64_t mask, int half) {
  const __m512i ranges = spread_of(range);
  const __m512i bits = spread_of(mask);
  const __m128i shift = _mm_cvtsi32_si128(half);
  std::size_t i = 0;
  for (; i + vectors * lanes <= indices.size(); i += vectors * lanes) {
    // NOLINTBEGIN(modernize-avoid-c-arrays): as template arguments vectors lose their attributes
    __m512i walking[vectors];
    __mmask8 outside[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
      walking[v] = _mm512_loadu_si512(&indices[i + v * lanes]);
      outside[v] = all;
    }
    bool any = true;
    while (any) {
      any = false;
      __m512i x[vectors];
      for (std::size_t v = 0; v < vectors; ++v) x[v] = walking[v];
      for (const auto& [odd, addend] : rounds) {
        for (auto& each : x) {
          each = _mm512_add_epi64(_mm512_mullo_epi64(each, spread_of(odd)), spread_of(addend));
          each = _mm512_and_si512(each, bits);
          each = _mm512_xor_si512(each, _mm512_maskz_srl_epi64(all, each, shift));
        }
      }
      for (std::size_t v = 0; v < vectors; ++v) {
        walking[v] = _mm512_mask_mov_epi64(walking[v], outside[v], x[v]);
        outside[v] = _mm512_cmpge_epu64_mask(walking[v], ranges);
        any = any || outside[v] != 0;
      }
    }
    for (std::size_t v = 0; v < vectors; ++v)
      _mm512_storeu_si512(&indices[i + v * lanes], walking[v]);
    // NOLINTEND(modernize-avoid-c-arrays)
  }
  return i;
}

#endif

}  // namespace

void scramble::apply(std::span<std::uint64_t> indices) const {
  std::size_t done = 0;
#if defined(__x86_64__)
  if (instructions_ == host::instruction_set::avx512) {
    done = apply_avx512(indices, rounds_, range_, mask_, half_);
  }
#endif
  const scramble order = *this;  // a local copy stays in registers
  for (auto& index : indices.subspan(done)) index = order(index);
}

}  // namespace assay::workload
