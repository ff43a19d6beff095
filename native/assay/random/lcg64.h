// A plain linear congruential generator modulo 2^64 with the constants of Knuth's MMIX (The Art of
// Computer Programming, volume 2, section 3.3.4, table 1). Its period is 2^64.
//
// Kept as a bad example: the whole state is returned, and the lowest k bits of it have a period
// of 2^k; the lowest of all is 0 and 1 in turn.

#ifndef ASSAY_RANDOM_LCG64_H_
#define ASSAY_RANDOM_LCG64_H_

#include <cstdint>
#include <string_view>

#include "assay/random/one_word.h"

namespace assay::random {

struct lcg64_rule {
  static constexpr std::string_view name = "lcg64";
  static constexpr std::string_view description =
      "a plain LCG with MMIX's constants: a bad example, in its low bits";
  static constexpr std::string_view source = "Knuth 1997, table 3.3.4-1";

  static constexpr std::uint64_t next(std::uint64_t& state) {
    return state = state * 6364136223846793005 + 1442695040888963407;
  }
};
using lcg64 = one_word_engine<lcg64_rule>;

}  // namespace assay::random

#endif  // ASSAY_RANDOM_LCG64_H_
