#include "assay/random/hardware.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace assay::random {

#if defined(__x86_64__)

bool has_rdrand() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_RDRND) != 0;
}

bool has_rdseed() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_RDSEED) != 0;
}

__attribute__((target("rdrnd"))) bool try_rdrand(std::uint64_t& number) {
  unsigned long long drawn = 0;
  const bool valid = _rdrand64_step(&drawn) != 0;
  number = drawn;
  return valid;
}

__attribute__((target("rdseed"))) bool try_rdseed(std::uint64_t& number) {
  unsigned long long drawn = 0;
  const bool valid = _rdseed64_step(&drawn) != 0;
  number = drawn;
  return valid;
}

#else

bool has_rdrand() { return false; }
bool has_rdseed() { return false; }
bool try_rdrand(std::uint64_t& /*number*/) { return false; }
bool try_rdseed(std::uint64_t& /*number*/) { return false; }

#endif

}  // namespace assay::random
