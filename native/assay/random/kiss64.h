// The 64-bit KISS (Marsaglia, 2009, in the newsgroup sci.math): the sum of a multiply-with-carry, a
// xorshift and a linear congruential generator. Its period is about 2^250.

#ifndef ASSAY_RANDOM_KISS64_H_
#define ASSAY_RANDOM_KISS64_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "assay/random/draws_64_bits.h"
#include "assay/random/splitmix64.h"

namespace assay::random {

class kiss64 : public draws_64_bits {
 public:
  static constexpr std::string_view name = "kiss64";
  static constexpr std::string_view description =
      "the sum of multiply-with-carry, xorshift and LCG";
  static constexpr std::string_view source = "Marsaglia 2009";
  static constexpr int state_bits = 250;  // the carry has 58

  struct parts {
    std::uint64_t multiplied;
    std::uint64_t carry;    // below 2^58
    std::uint64_t shifted;  // not zero
    std::uint64_t congruential;
  };

  explicit constexpr kiss64(std::uint64_t seed) {
    splitmix64 fill(seed);
    state_.multiplied = fill();
    state_.carry = (fill() >> 6) | 1;  // neither pair on which multiply-with-carry is stuck
    do state_.shifted = fill();
    while (state_.shifted == 0);
    state_.congruential = fill();
  }
  explicit constexpr kiss64(const parts& state) : state_(state) {}

  constexpr std::uint64_t operator()() {
    auto& [x, c, y, z] = state_;
    const std::uint64_t low = (x << 58) + c;  // of (2^58 + 1) x + c
    c = x >> 6;
    x += low;
    if (x < low) ++c;
    y ^= y << 13;
    y ^= y >> 17;
    y ^= y << 43;
    z = 6906969069 * z + 1234567;
    return x + y + z;
  }

 private:
  parts state_{};
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_KISS64_H_
