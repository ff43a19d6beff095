// A plain linear congruential generator modulo 2^64 with the constants of Knuth's MMIX (The Art of
// Computer Programming, volume 2, section 3.3.4, table 1). Its period is 2^64.
//
// Kept as a bad example: the whole state is returned, and the lowest k bits of it have a period
// of 2^k; the lowest of all is 0 and 1 in turn.

#ifndef ASSAY_RANDOM_LCG64_H_
#define ASSAY_RANDOM_LCG64_H_

#include <cstdint>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::random {

class lcg64 {
 public:
  using result_type = std::uint64_t;

  static constexpr std::string_view name = "lcg64";
  static constexpr std::string_view description =
      "a plain LCG with MMIX's constants: a bad example, in its low bits";
  static constexpr std::string_view source = "Knuth 1997, table 3.3.4-1";
  static constexpr int state_bits = 64;
  static constexpr int bits = 64;

  explicit constexpr lcg64(std::uint64_t seed) : state_(splitmix64(seed)()) {}
  static constexpr lcg64 from_state(std::uint64_t state) {
    lcg64 made(0);
    made.state_ = state;
    return made;
  }

  constexpr std::uint64_t operator()() {
    return state_ = state_ * 6364136223846793005 + 1442695040888963407;
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }

 private:
  std::uint64_t state_;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_LCG64_H_
