// An engine whose draws are joined to numbers of 64 bits, the first in the lowest bits.

#ifndef ASSAY_RANDOM_WIDENED_H_
#define ASSAY_RANDOM_WIDENED_H_

#include <cstdint>

#include "assay/random/engine.h"

namespace assay::random {

template <engine E>
class widened {
 public:
  using result_type = std::uint64_t;

  explicit constexpr widened(std::uint64_t seed) : engine_(seed) {}

  constexpr std::uint64_t operator()() {
    std::uint64_t number = engine_();
    for (int filled = E::bits; filled < 64; filled += E::bits) number |= engine_() << filled;
    return number;
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }

 private:
  E engine_;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_WIDENED_H_
