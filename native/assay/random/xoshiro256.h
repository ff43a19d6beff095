// The linear engine of Blackman and Vigna ("Scrambled linear pseudorandom number generators", 2021)
// with 256 bits of state. It is used under one of several scramblers, which make the numbers from
// the state: xoshiro256pp.h and xoshiro256ss.h. Its period is 2^256 - 1.
//
//     assay::random::xoshiro256pp mine(seed);
//     assay::random::xoshiro256pp yours = mine;
//     yours.jump();                             // 2^128 numbers ahead: the two never meet

#ifndef ASSAY_RANDOM_XOSHIRO256_H_
#define ASSAY_RANDOM_XOSHIRO256_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "assay/random/draws_64_bits.h"
#include "assay/random/splitmix64.h"

namespace assay::random {

// Scrambler::number(state) is the next number. An engine belongs to one thread at a time.
template <class Scrambler>
class xoshiro256 : public Scrambler, public draws_64_bits {
 public:
  using words = std::array<std::uint64_t, 4>;
  static constexpr int state_bits = 256;

  // The state is filled by splitmix64, as the authors recommend; it is never all zero, which would
  // be stuck.
  explicit constexpr xoshiro256(std::uint64_t seed) {
    splitmix64 fill(seed);
    for (auto& word : state_) word = fill();
  }
  explicit constexpr xoshiro256(const words& state) : state_(state) {}

  constexpr std::uint64_t operator()() {
    const std::uint64_t number = Scrambler::number(state_);
    auto& [s0, s1, s2, s3] = state_;
    const std::uint64_t shifted = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = std::rotl(s3, 45);
    return number;
  }

  // Moves ahead by 2^128 numbers: the state is replaced by its image under the polynomial
  // x^(2^128) modulo the engine's characteristic one, as in the authors' program.
  constexpr void jump() {
    constexpr words polynomial{0x180ec6d33cfd0aba, 0xd5a61266f0c9392c, 0xa9582618e03fc9aa,
                               0x39abdc4529b1661c};
    words sum{};
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

  [[nodiscard]] constexpr const words& state() const { return state_; }

  friend constexpr bool operator==(const xoshiro256& a, const xoshiro256& b) {
    return a.state_ == b.state_;
  }

 private:
  words state_{};
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_XOSHIRO256_H_
