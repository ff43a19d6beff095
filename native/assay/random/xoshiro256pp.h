// xoshiro256++ 1.0 (Blackman and Vigna 2021): one lane of the engine that draws a trial's
// operations (xoshiro256pp_lanes.h). Every bit is good; the period is 2^256 - 1.

#ifndef ASSAY_RANDOM_XOSHIRO256PP_H_
#define ASSAY_RANDOM_XOSHIRO256PP_H_

#include <array>
#include <bit>
#include <cstdint>

#include "assay/random/xoshiro256.h"

namespace assay::random {

struct plus_plus {
  static constexpr std::uint64_t number(const std::array<std::uint64_t, 4>& s) {
    return std::rotl(s[0] + s[3], 23) + s[0];
  }
};
using xoshiro256pp = xoshiro256<plus_plus>;

}  // namespace assay::random

#endif  // ASSAY_RANDOM_XOSHIRO256PP_H_
