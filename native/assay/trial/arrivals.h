// When the operations of an open loop are due, and waiting for them.
//
// In a closed loop a thread begins an operation when the last one has ended: while a map stalls,
// nothing is asked of it, and a stall of a second is one slow operation among millions. Users do
// not wait for each other like that. In an open loop operations are due at times that do not depend
// on the map, and each one's latency counts from then: all that were due during the stall are late
// (Tene's "coordinated omission"; Schroeder, Wierman and Harchol-Balter 2006, "Open versus
// closed").

#ifndef ASSAY_TRIAL_ARRIVALS_H_
#define ASSAY_TRIAL_ARRIVALS_H_

#include <cstdint>
#include <stop_token>

#include "assay/random/xoshiro256pp.h"
#include "assay/trial/request.h"
#include "assay/workload/options.h"

namespace assay::trial {

// The arrivals of one thread: its part of its role's arrivals. Poisson arrivals are divided at
// random, so that each thread has its own Poisson process. Every `place.threads`th of even arrivals
// is the thread's, so that the role's arrivals are even as a whole.
class arrival_times {
 public:
  arrival_times(const arrivals& chosen, workload::thread_place place, std::uint64_t seed);

  // When the next one is due, in nanoseconds since the common start.
  [[nodiscard]] double next_ns() const { return next_ns_; }
  void advance();

  // Passes over all that are due until `ns`, and says how many they are. Beyond a million of them,
  // the expected number of the others is taken, as nobody could wait until all are drawn.
  std::uint64_t pass_until(double ns);

 private:
  double gap_ns_;
  spacing spacing_;
  random::xoshiro256pp engine_;
  double first_ns_ = 0;
  double passed_ = 0;  // of even arrivals, whose rounding errors must not add up
  double next_ns_ = 0;
};

// Waits until host::now_ns() is `due`, or a stop is requested; returns what it then is. Never
// returns earlier than that, and gives the processor away only if there is long to wait:
//
// A thread that slept until the due time would wake 80 us late in the median here, and
// 350 us in one of a hundred times, which would then be said of the map. So it sleeps until 200 us
// before and spins from there. It sleeps for 5 ms at most, so that it sees the stop.
std::uint64_t wait_until(std::uint64_t due, const std::stop_token& stop);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_ARRIVALS_H_
