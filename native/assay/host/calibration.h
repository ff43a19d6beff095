// A short measurement of the host itself, to be made before and after a trial on the processors of
// the trial.
//
// Hosts change under a benchmark in ways that load and steal time do not show: a clock that rises
// or falls, a neighbour that fills the memory bus, a hypervisor that moves two virtual processors
// apart, so that a cache line between them takes five times as long. Three latencies tell:
//
//     const calibration found = calibrate(placement({.kind = pinning::policy::compact}, 2));
//     found.metrics.at("core_to_core_ns");
//
// Each is the median over many repetitions of tens to hundreds of microseconds. The median is what
// the host did most of the time: an interruption spoils one repetition and leaves it alone, while
// the minimum would report a state that the host may have been in for a moment only.

#ifndef ASSAY_HOST_CALIBRATION_H_
#define ASSAY_HOST_CALIBRATION_H_

#include <map>
#include <string>
#include <vector>

#include "assay/host/placement.h"

namespace assay::host {

struct calibration {
  struct pair {
    unsigned a;
    unsigned b;
    double one_way_ns;
  };

  std::vector<unsigned> processors;
  // core_to_core_ns: a cache line passed from one processor to another, the median over `pairs`.
  // memory_ns: one load from memory, whose address depends on the load before; on the first
  // processor. arithmetic_ns: one dependent multiplication and addition of 64-bit integers; on the
  // first processor.
  std::map<std::string, double> metrics;
  // For each metric that is missing, the reason.
  std::map<std::string, std::string> unavailable;
  // Neighbours in the order in which threads take processors; at most 8 pairs, evenly spread.
  std::vector<pair> pairs;
};

// One dependent multiplication and addition of 64-bit integers on the processor of the calling
// thread, as measured in about 1 ms. It takes at least four cycles on the processors of today.
[[nodiscard]] double arithmetic_ns();
inline constexpr double arithmetic_cycles = 4;

// Takes about 13 ms of the calling thread, which is bound to the placement's first processor
// afterwards, and one more thread at a time. Throws std::system_error if a thread cannot be made or
// bound.
calibration calibrate(const placement& place);

}  // namespace assay::host

#endif  // ASSAY_HOST_CALIBRATION_H_
