// xoshiro256** 1.0 (Blackman and Vigna 2021): the linear engine of xoshiro256++ under another
// scrambler, which multiplies. Its period is 2^256 - 1.

#ifndef ASSAY_RANDOM_XOSHIRO256SS_H_
#define ASSAY_RANDOM_XOSHIRO256SS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "assay/random/xoshiro256.h"

namespace assay::random {

struct star_star {
  static constexpr std::string_view name = "xoshiro256ss";
  static constexpr std::string_view description = "xoshiro256** 1.0, linear, scrambled by products";
  static constexpr std::string_view source = "Blackman and Vigna 2021";

  static constexpr std::uint64_t number(const std::array<std::uint64_t, 4>& s) {
    return std::rotl(s[1] * 5, 7) * 9;
  }
};
using xoshiro256ss = xoshiro256<star_star>;

}  // namespace assay::random

#endif  // ASSAY_RANDOM_XOSHIRO256SS_H_
