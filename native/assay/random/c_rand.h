// The C library's rand(): one state for the whole process, behind a lock in glibc (its additive
// feedback generator of 31 words). It is seeded once, by the first engine that is made, and all
// engines draw from it in whatever order their threads come; with one thread the same seed gives
// the same numbers.

#ifndef ASSAY_RANDOM_C_RAND_H_
#define ASSAY_RANDOM_C_RAND_H_

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::random {

class c_rand {
 public:
  using result_type = std::uint64_t;

  static constexpr std::string_view name = "c_rand";
  static constexpr std::string_view description = "rand() of the C library, one for all threads";
  static constexpr std::string_view source = "glibc";
  static constexpr int state_bits = 31 * 32;
  static constexpr int bits = std::bit_width(static_cast<unsigned>(RAND_MAX));
  static constexpr bool shared = true;

  explicit c_rand(std::uint64_t seed) {
    // Any thread may be the first: a static object is initialised once, while others wait.
    [[maybe_unused]] static const bool seeded = [seed] {
      std::srand(static_cast<unsigned>(splitmix64(seed)()));  // NOLINT(concurrency-mt-unsafe)
      return true;
    }();
  }

  std::uint64_t operator()() {
    // NOLINTNEXTLINE(misc-predictable-rand,concurrency-mt-unsafe): glibc's takes a lock
    return static_cast<std::uint64_t>(std::rand());
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return RAND_MAX; }
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_C_RAND_H_
