// The lanes of xoshiro256++ as vectors of one instruction set each, for loops that keep them in
// registers: load, step many times, store.
//
//     xoshiro256pp_avx512 engine(lanes.in_order());      // only in a function marked ASSAY_AVX512
//     for (...) use(engine.next());
//     engine.store(lanes.in_order());

#ifndef ASSAY_RANDOM_XOSHIRO256PP_VECTORS_H_
#define ASSAY_RANDOM_XOSHIRO256PP_VECTORS_H_

#include <cstddef>
#include <cstdint>

#include "assay/base/instruction_set.h"
#include "assay/random/xoshiro256pp_lanes.h"

#if defined(__x86_64__)

// gcc 12 takes the undefined vectors in its own header for mistakes (its bug 105593).
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

namespace assay::random {

// All eight lanes.
class xoshiro256pp_avx512 {
 public:
  using words = xoshiro256pp_lanes::words;

  ASSAY_AVX512 explicit xoshiro256pp_avx512(const words& from)
      : s0_(_mm512_load_si512(from[0].data())),
        s1_(_mm512_load_si512(from[1].data())),
        s2_(_mm512_load_si512(from[2].data())),
        s3_(_mm512_load_si512(from[3].data())) {}

  ASSAY_AVX512 void store(words& to) const {
    _mm512_store_si512(to[0].data(), s0_);
    _mm512_store_si512(to[1].data(), s1_);
    _mm512_store_si512(to[2].data(), s2_);
    _mm512_store_si512(to[3].data(), s3_);
  }

  // The step of xoshiro256pp, with xors of three words where both old words are at hand: each word
  // is then replaced in its own register, and nothing is copied.
  [[gnu::always_inline]] ASSAY_AVX512 __m512i next() {
    constexpr int xor3 = 0x96;
    const __m512i sum = _mm512_add_epi64(s0_, s3_);
    const __m512i number = _mm512_add_epi64(_mm512_rol_epi64(sum, 23), s0_);
    const __m512i shifted = _mm512_slli_epi64(s1_, 17);
    s3_ = _mm512_xor_si512(s3_, s1_);
    s1_ = _mm512_ternarylogic_epi64(s1_, s2_, s0_, xor3);
    s2_ = _mm512_ternarylogic_epi64(s2_, s0_, shifted, xor3);
    s0_ = _mm512_xor_si512(s0_, s3_);
    s3_ = _mm512_rol_epi64(s3_, 45);
    return number;
  }

 private:
  __m512i s0_, s1_, s2_, s3_;
};

// Four lanes, from `first` on.
class xoshiro256pp_avx2 {
 public:
  using words = xoshiro256pp_lanes::words;

  ASSAY_AVX2 xoshiro256pp_avx2(const words& from, std::size_t first)
      : s0_(load(from[0].data() + first)),
        s1_(load(from[1].data() + first)),
        s2_(load(from[2].data() + first)),
        s3_(load(from[3].data() + first)) {}

  ASSAY_AVX2 void store(words& to, std::size_t first) const {
    // NOLINTNEXTLINE(modernize-avoid-c-arrays): as template arguments vectors lose their attributes
    const __m256i all[] = {s0_, s1_, s2_, s3_};
    for (std::size_t word = 0; word < 4; ++word) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to[word].data() + first), all[word]);
    }
  }

  [[gnu::always_inline]] ASSAY_AVX2 __m256i next() {
    const __m256i sum = _mm256_add_epi64(s0_, s3_);
    const __m256i number = _mm256_add_epi64(rotated<23>(sum), s0_);
    const __m256i shifted = _mm256_slli_epi64(s1_, 17);
    s2_ = _mm256_xor_si256(s2_, s0_);
    s3_ = _mm256_xor_si256(s3_, s1_);
    s1_ = _mm256_xor_si256(s1_, s2_);
    s0_ = _mm256_xor_si256(s0_, s3_);
    s2_ = _mm256_xor_si256(s2_, shifted);
    s3_ = rotated<45>(s3_);
    return number;
  }

 private:
  ASSAY_AVX2 static __m256i load(const std::uint64_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  template <int Bits>
  [[gnu::always_inline]] ASSAY_AVX2 static __m256i rotated(__m256i x) {
    return _mm256_or_si256(_mm256_slli_epi64(x, Bits), _mm256_srli_epi64(x, 64 - Bits));
  }

  __m256i s0_, s1_, s2_, s3_;
};

}  // namespace assay::random

#endif
#endif  // ASSAY_RANDOM_XOSHIRO256PP_VECTORS_H_
