// xoshiro256** 1.0 (Blackman and Vigna 2021, "Scrambled linear pseudorandom number generators"):
// the linear engine of xoshiro256++ under another scrambler, which multiplies. Its period is
// 2^256 - 1.

#ifndef ASSAY_RANDOM_XOSHIRO256SS_H_
#define ASSAY_RANDOM_XOSHIRO256SS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::random {

class xoshiro256ss {
 public:
  using result_type = std::uint64_t;

  static constexpr std::string_view name = "xoshiro256ss";
  static constexpr std::string_view description = "xoshiro256** 1.0, linear, scrambled by products";
  static constexpr std::string_view source = "Blackman and Vigna 2021";
  static constexpr int state_bits = 256;
  static constexpr int bits = 64;

  // The state is filled by splitmix64 and thus never all zero, which would be stuck.
  explicit constexpr xoshiro256ss(std::uint64_t seed) {
    splitmix64 fill(seed);
    for (auto& word : state_) word = fill();
  }
  explicit constexpr xoshiro256ss(const std::array<std::uint64_t, 4>& state) : state_(state) {}

  constexpr std::uint64_t operator()() {
    auto& [s0, s1, s2, s3] = state_;
    const std::uint64_t result = std::rotl(s1 * 5, 7) * 9;
    const std::uint64_t shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = std::rotl(s3, 45);
    return result;
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_XOSHIRO256SS_H_
