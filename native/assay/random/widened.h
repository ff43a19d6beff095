// An engine whose draws are joined to numbers of 64 bits, the first in the lowest bits: for code
// that wants 64 random bits of each number, whatever the engine.
//
//     assay::random::widened<assay::random::mrg32k3a> engine(seed);
//     engine();                                  // two draws of 32 bits

#ifndef ASSAY_RANDOM_WIDENED_H_
#define ASSAY_RANDOM_WIDENED_H_

#include <cstdint>

#include "assay/random/draws_64_bits.h"
#include "assay/random/engine.h"

namespace assay::random {

template <engine E>
class widened : public draws_64_bits {
 public:
  explicit constexpr widened(std::uint64_t seed) : engine_(seed) {}

  constexpr std::uint64_t operator()() {
    std::uint64_t number = engine_();
    for (int filled = E::bits; filled < 64; filled += E::bits) number |= engine_() << filled;
    return number;
  }

 private:
  E engine_;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_WIDENED_H_
