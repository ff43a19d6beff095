// PCG XSL-RR 128/64 (O'Neill 2014, "PCG: A family of simple fast space-efficient statistically good
// algorithms for random number generation"): a linear congruential generator of 128 bits whose
// state is folded to 64 and rotated by its highest six. Its period is 2^128, and its odd increment
// chooses one of 2^127 sequences.

#ifndef ASSAY_RANDOM_PCG64_H_
#define ASSAY_RANDOM_PCG64_H_

#include <bit>
#include <cstdint>
#include <string_view>

#include "assay/random/draws_64_bits.h"
#include "assay/random/splitmix64.h"

namespace assay::random {

class pcg64 : public draws_64_bits {
 public:
  __extension__ using uint128 = unsigned __int128;

  static constexpr std::string_view name = "pcg64";
  static constexpr std::string_view description = "PCG XSL-RR 128/64, a permuted LCG of 128 bits";
  static constexpr std::string_view source = "O'Neill 2014";
  static constexpr int state_bits = 128;

  // The first two numbers of splitmix64 are the starting point, the next two choose the sequence.
  explicit constexpr pcg64(std::uint64_t seed) {
    splitmix64 fill(seed);
    const uint128 start = joined(fill);
    set(start, joined(fill));
  }
  // From a starting point and a number of 127 bits that chooses the sequence, as the author's
  // programs are seeded.
  constexpr pcg64(uint128 start, uint128 sequence) { set(start, sequence); }

  constexpr std::uint64_t operator()() {
    step();
    const auto folded =
        static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
    return std::rotr(folded, static_cast<int>(state_ >> 122));
  }

 private:
  static constexpr uint128 joined(splitmix64& fill) {
    const uint128 high = fill();
    return high << 64 | fill();
  }

  constexpr void set(uint128 start, uint128 sequence) {
    increment_ = sequence << 1 | 1;
    state_ = increment_ + start;
    step();
  }

  constexpr void step() {
    constexpr uint128 multiplier = uint128{0x2360ed051fc65da4} << 64 | 0x4385df649fccf645;
    state_ = state_ * multiplier + increment_;
  }

  uint128 state_ = 0;
  uint128 increment_ = 0;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_PCG64_H_
