// The processor's own random numbers: RDRAND, a generator that the hardware seeds anew all the
// time, and RDSEED, the entropy that seeds it (Intel, "Digital random number generator software
// implementation guide", revision 2.1, sections 4 and 5).
//
//     std::uint64_t number = 0;
//     if (assay::random::has_rdrand() && assay::random::try_rdrand(number)) use(number);
//
// By any thread. Nothing here waits or throws. entropy.h tries again where an attempt fails, and
// has other ways where the processor has no such instruction.

#ifndef ASSAY_RANDOM_HARDWARE_H_
#define ASSAY_RANDOM_HARDWARE_H_

#include <cstdint>

namespace assay::random {

// Whether this processor has the instruction.
[[nodiscard]] bool has_rdrand();
[[nodiscard]] bool has_rdseed();

// One attempt to draw, only where the processor has the instruction. False: it had no number at the
// moment, and `number` is not to be used.
[[nodiscard]] bool try_rdrand(std::uint64_t& number);
[[nodiscard]] bool try_rdseed(std::uint64_t& number);

}  // namespace assay::random

#endif  // ASSAY_RANDOM_HARDWARE_H_
