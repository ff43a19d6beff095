// xorshift64* (Vigna 2016, "An experimental exploration of Marsaglia's xorshift generators,
// scrambled"; shifts 12, 25 and 27), which Kharal and Brown (2022) call XOR-SH*. Its period is
// 2^64 - 1.

#ifndef ASSAY_RANDOM_XORSHIFT64S_H_
#define ASSAY_RANDOM_XORSHIFT64S_H_

#include <cstdint>
#include <string_view>

#include "assay/random/one_word.h"

namespace assay::random {

struct xorshift64s_rule {
  static constexpr std::string_view name = "xorshift64s";
  static constexpr std::string_view description = "xorshift64*, three shifts and a product";
  static constexpr std::string_view source = "Marsaglia 2003, Vigna 2016";
  static constexpr bool zero_is_stuck = true;

  static constexpr std::uint64_t next(std::uint64_t& state) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1d;
  }
};
using xorshift64s = one_word_engine<xorshift64s_rule>;

}  // namespace assay::random

#endif  // ASSAY_RANDOM_XORSHIFT64S_H_
