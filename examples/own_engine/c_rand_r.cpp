// An engine of one's own, registered: rand_r() of the C library, with a state for each thread. It
// is an example of a bad one too: `assay lab engines` rejects it.

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "assay/random/registered_engine.h"

class c_rand_r {
 public:
  static constexpr std::string_view name = "c_rand_r";
  static constexpr std::string_view description = "rand_r() of the C library, one for each thread";
  static constexpr std::string_view source = "glibc";
  static constexpr int state_bits = 32;
  static constexpr int bits = std::bit_width(static_cast<unsigned>(RAND_MAX));

  explicit c_rand_r(std::uint64_t seed) : state_(static_cast<unsigned>(seed ^ (seed >> 32))) {}
  std::uint64_t operator()() { return static_cast<std::uint64_t>(rand_r(&state_)); }

 private:
  unsigned state_;
};

static const assay::random::registered_engine<c_rand_r> registered;
