// The 64-bit Mersenne Twister (Matsumoto and Nishimura 1998; Nishimura 2000) of the standard
// library, seeded as the standard says. Its period is 2^19937 - 1; its 2.5 KB of state compete for
// the first-level cache with what is measured.

#ifndef ASSAY_RANDOM_MT19937_64_H_
#define ASSAY_RANDOM_MT19937_64_H_

#include <cstdint>
#include <random>
#include <string_view>

#include "assay/random/draws_64_bits.h"

namespace assay::random {

class mt19937_64 : public draws_64_bits {
 public:
  static constexpr std::string_view name = "mt19937_64";
  static constexpr std::string_view description = "the 64-bit Mersenne Twister of the C++ library";
  static constexpr std::string_view source = "Matsumoto and Nishimura 1998, Nishimura 2000";
  static constexpr int state_bits = 19937;

  explicit mt19937_64(std::uint64_t seed) : twister_(seed) {}

  std::uint64_t operator()() { return twister_(); }

 private:
  std::mt19937_64 twister_;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_MT19937_64_H_
