// MurmurHash3_x64_128 (Appleby) used as a generator: the state is the low word of the hash of the
// eight bytes of the last state, with a hash seed of 0, and is what is returned. That word is not a
// bijection of the state: as with any random function of 64 bits, two streams can run into one, and
// a stream repeats after some 5 * 10^9 numbers (sqrt(pi * 2^64 / 2); Flajolet and Odlyzko 1990),
// which a thread may well draw in a trial.

#ifndef ASSAY_RANDOM_MM3_H_
#define ASSAY_RANDOM_MM3_H_

#include <bit>
#include <cstdint>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::random {

class mm3 {
 public:
  using result_type = std::uint64_t;

  static constexpr std::string_view name = "mm3";
  static constexpr std::string_view description =
      "the low word of MurmurHash3_x64_128 of its own last value";
  static constexpr std::string_view source = "Appleby 2011";
  static constexpr int state_bits = 64;
  static constexpr int bits = 64;

  explicit constexpr mm3(std::uint64_t seed) : state_(splitmix64(seed)()) {}
  static constexpr mm3 from_state(std::uint64_t state) {
    mm3 made(0);
    made.state_ = state;
    return made;
  }

  constexpr std::uint64_t operator()() {
    constexpr std::uint64_t length = 8;
    const std::uint64_t block = std::rotl(state_ * 0x87c37b91114253d5, 31) * 0x4cf5ad432745937f;
    const std::uint64_t low = (block ^ length) + length;
    const std::uint64_t high = length + low;
    return state_ = finalised(low) + finalised(high);
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }

 private:
  static constexpr std::uint64_t finalised(std::uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
    return x ^ (x >> 33);
  }

  std::uint64_t state_;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_MM3_H_
