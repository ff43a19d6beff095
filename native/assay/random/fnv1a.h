// One step of the hash FNV-1a (Fowler, Noll and Vo) used as a generator, as Setbench once did: the
// state, masked by the offset basis, times the prime, is the next state and what is returned.
//
// Kept as a bad example (Kharal and Brown 2022, section 6.2): the basis and the prime
// are odd, so every number is odd whose predecessor was even, and the other way round. Drawing a
// key and then an operation from it gives keys that are all odd or all even. The lowest k bits
// together have a period of at most 2^k.

#ifndef ASSAY_RANDOM_FNV1A_H_
#define ASSAY_RANDOM_FNV1A_H_

#include <cstdint>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::random {

class fnv1a {
 public:
  using result_type = std::uint64_t;

  static constexpr std::string_view name = "fnv1a";
  static constexpr std::string_view description =
      "FNV-1a of its own last value: a bad example, odd and even in turn";
  static constexpr std::string_view source = "Fowler, Noll and Vo 1991; as in Setbench";
  static constexpr int state_bits = 64;
  static constexpr int bits = 64;

  explicit constexpr fnv1a(std::uint64_t seed) : state_(splitmix64(seed)()) {}
  static constexpr fnv1a from_state(std::uint64_t state) {
    fnv1a made(0);
    made.state_ = state;
    return made;
  }

  constexpr std::uint64_t operator()() {
    return state_ = (state_ ^ 0xcbf29ce484222325) * 0x100000001b3;
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }

 private:
  std::uint64_t state_;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_FNV1A_H_
