// RDRAND as an engine: every number comes from the processor. It has no seed, so no stream of it
// can be drawn again, and a number takes ten to a hundred times as long as an engine in software:
// it is there to be compared with the others (Kharal and Brown 2022, section 6.3).

#ifndef ASSAY_RANDOM_RDRAND_H_
#define ASSAY_RANDOM_RDRAND_H_

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "assay/random/draws_64_bits.h"
#include "assay/random/hardware.h"

namespace assay::random {

class rdrand : public draws_64_bits {
 public:
  static constexpr std::string_view name = "rdrand";
  static constexpr std::string_view description = "the processor's instruction RDRAND";
  static constexpr std::string_view source = "the hardware; Intel 2018";
  static constexpr int state_bits = 0;
  static bool available() { return has_rdrand(); }

  explicit rdrand(std::uint64_t /*seed*/) {}

  // Throws std::runtime_error if ten attempts fail, which Intel takes for a broken processor
  // (section 5.2.1 of the guide).
  std::uint64_t operator()() {
    std::uint64_t number = 0;
    for (int attempt = 0; attempt < 10; ++attempt) {
      if (try_rdrand(number)) return number;
    }
    throw std::runtime_error("RDRAND failed ten times in a row: the processor is broken");
  }
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_RDRAND_H_
