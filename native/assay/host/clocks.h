// Which clocks are there, and what is each good for?
//
//     for (const clock_report& clock : measure_clocks()) { ... clock.name, clock.cost_ns ... }

#ifndef ASSAY_HOST_CLOCKS_H_
#define ASSAY_HOST_CLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/host/time_stamp_counter.h"

namespace assay::host {

struct clock_report {
  std::string name;
  std::string measures;          // "time" or "processor time"
  std::string unusable_because;  // empty if nothing speaks against it
  double cost_ns = 0;            // of a reading
  double resolution_ns = 0;      // of its steps; 0 if it did not move in 0.2 s
  std::uint64_t readings = 0;    // in one thread
  std::uint64_t backwards = 0;   // of them, those that lay before the one before
  // In nanoseconds; none of a clock that each thread or process has for itself.
  std::optional<std::vector<clock_agreement>> agreements{};
};

// All clocks that a program may use for durations, about 0.5 s. Those that are unusable are
// measured as well, where that is possible.
[[nodiscard]] std::vector<clock_report> measure_clocks();

}  // namespace assay::host

#endif  // ASSAY_HOST_CLOCKS_H_
