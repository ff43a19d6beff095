// xoshiro256++ 1.0 (Blackman and Vigna 2021, "Scrambled linear pseudorandom number generators"):
// the engine that draws a trial's operations. Every bit is good; the period is 2^256 - 1.

#ifndef ASSAY_RANDOM_XOSHIRO256PP_H_
#define ASSAY_RANDOM_XOSHIRO256PP_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "assay/random/splitmix64.h"

namespace assay::random {

class xoshiro256pp {
 public:
  using result_type = std::uint64_t;

  // The state is filled by splitmix64, as the authors recommend; it is never all zero, which would
  // be stuck.
  explicit constexpr xoshiro256pp(std::uint64_t seed) {
    splitmix64 fill(seed);
    for (auto& word : state_) word = fill();
  }
  explicit constexpr xoshiro256pp(const std::array<std::uint64_t, 4>& state) : state_(state) {}

  constexpr std::uint64_t operator()() {
    auto& [s0, s1, s2, s3] = state_;
    const std::uint64_t result = std::rotl(s0 + s3, 23) + s0;
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

  // Moves ahead by 2^128 numbers: the state is replaced by its image under the polynomial
  // x^(2^128) modulo the engine's characteristic one, as in the authors' program.
  constexpr void jump() {
    constexpr std::array<std::uint64_t, 4> polynomial{0x180ec6d33cfd0aba, 0xd5a61266f0c9392c,
                                                      0xa9582618e03fc9aa, 0x39abdc4529b1661c};
    std::array<std::uint64_t, 4> sum{};
    for (const std::uint64_t coefficients : polynomial) {
      for (int bit = 0; bit < 64; ++bit) {
        for (std::size_t word = 0; word < 4; ++word) {
          if (coefficients >> bit & 1) sum[word] ^= state_[word];
        }
        (*this)();
      }
    }
    state_ = sum;
  }

  [[nodiscard]] constexpr const std::array<std::uint64_t, 4>& state() const { return state_; }

  friend constexpr bool operator==(const xoshiro256pp&, const xoshiro256pp&) = default;

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_XOSHIRO256PP_H_
