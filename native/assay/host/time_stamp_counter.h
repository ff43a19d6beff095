// The processor's time stamp counter: the clock with the least cost, and with the most that can be
// wrong with it. It is read between fences, and calibrated; whether it may be used at all is asked
// first.
//
//     if (time_stamp_counter_facts().unusable_because.empty()) {
//       const std::uint64_t start = time_stamp_begin();
//       ...
//       const std::uint64_t ticks = time_stamp_end() - start;
//       const double ns = static_cast<double>(ticks) * time_stamp_counter_facts().ns_per_tick;
//     }

#ifndef ASSAY_HOST_TIME_STAMP_COUNTER_H_
#define ASSAY_HOST_TIME_STAMP_COUNTER_H_

#include <cstdint>
#include <string>
#include <vector>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace assay::host {

#if defined(__x86_64__)
// What came before has ended, and nothing that follows has begun (Intel's manual on RDTSC: LFENCE
// before and after it).
inline std::uint64_t time_stamp_begin() {
  _mm_lfence();
  const std::uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}

// What came before has ended, as RDTSCP waits for it; nothing that follows has begun.
inline std::uint64_t time_stamp_end() {
  unsigned processor = 0;
  const std::uint64_t ticks = __rdtscp(&processor);
  _mm_lfence();
  return ticks;
}
#else
inline std::uint64_t time_stamp_begin() { return 0; }  // never used: unusable_because says why
inline std::uint64_t time_stamp_end() { return 0; }
#endif

// How two clocks of two processors agree: by how much the one of `b` is ahead, between these
// bounds, and how often a reading that was made later, on the other processor, was the lower one.
struct clock_agreement {
  unsigned a;
  unsigned b;
  double least_offset;
  double most_offset;
  std::uint64_t exchanges;
  std::uint64_t backwards;
};

// Neighbours among the processors of this process, at most 8 pairs: 1 ms each, at most 50 where
// processors are busy. A pair that never ran at the same time is left out. The calling thread is
// bound as it was when it returns.
[[nodiscard]] std::vector<clock_agreement> clock_agreements(std::uint64_t (*now)());

struct time_stamp_counter_state {
  bool invariant = false;                     // it counts at one rate, whatever the processor does
  double ns_per_tick = 0;                     // by CLOCK_MONOTONIC_RAW
  double calibration_error = 0;               // by how much two calibrations differ, as a share
  std::vector<clock_agreement> agreements{};  // in ticks
  std::string unusable_because{};             // empty if all checks pass
};

// Checked and calibrated when first asked for: about 20 ms.
[[nodiscard]] const time_stamp_counter_state& time_stamp_counter_facts();

}  // namespace assay::host

#endif  // ASSAY_HOST_TIME_STAMP_COUNTER_H_
