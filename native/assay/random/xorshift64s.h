// xorshift64* (Vigna 2016, "An experimental exploration of Marsaglia's xorshift generators,
// scrambled"; shifts 12, 25 and 27), which Kharal and Brown (2022) call XOR-SH*. Its period is 2^64
// - 1.

#ifndef ASSAY_RANDOM_XORSHIFT64S_H_
#define ASSAY_RANDOM_XORSHIFT64S_H_

#include <cstdint>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::random {

class xorshift64s {
 public:
  using result_type = std::uint64_t;

  static constexpr std::string_view name = "xorshift64s";
  static constexpr std::string_view description = "xorshift64*, three shifts and a product";
  static constexpr std::string_view source = "Marsaglia 2003, Vigna 2016";
  static constexpr int state_bits = 64;
  static constexpr int bits = 64;

  // A state of zero would be stuck; the seed that gives it takes the next number of splitmix64.
  explicit constexpr xorshift64s(std::uint64_t seed) {
    splitmix64 fill(seed);
    while (state_ == 0) state_ = fill();
  }
  // `state` is not zero.
  static constexpr xorshift64s from_state(std::uint64_t state) {
    xorshift64s made(0);
    made.state_ = state;
    return made;
  }

  constexpr std::uint64_t operator()() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1d;
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_XORSHIFT64S_H_
