// What one thread of a trial has to itself, and what it does in the warm-up and the measured
// interval.

#ifndef ASSAY_TRIAL_WORKER_H_
#define ASSAY_TRIAL_WORKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "assay/host/usage.h"
#include "assay/probe/recording.h"
#include "assay/trial/arrivals.h"
#include "assay/trial/latency.h"
#include "assay/trial/measured_map.h"
#include "assay/trial/request.h"
#include "assay/trial/tally.h"
#include "assay/workload/generator.h"
#include "assay/workload/operation_batch.h"

namespace assay::trial {

// An operation that the stop token interrupted.
struct unfinished_operation {
  workload::operation operation;
  // Since it began, if it is rare (workload::is_rare), was to be timed, or is in an open loop; else
  // since the last reading of the clock before it. That can be a whole batch too long: about 100
  // us, but more where the batches' length is fixed or operations have suddenly become slow.
  std::uint64_t age_ns;
};

// How the operations of an open loop arrived in the measured interval.
struct arrival_counts {
  std::uint64_t arrived = 0;            // were due in it
  std::uint64_t backlog = 0;            // were due by its end, since whenever, and had not begun
  std::uint64_t oldest_waiting_ns = 0;  // how long before its end the first of the backlog was due
};

// Aligned so that no two threads write to the same cache line.
struct alignas(workload::interference_bytes) worker {
  workload::operation_batch batch;  // first, as it is aligned to cache lines

  std::size_t role = 0;          // number of the request's
  workload::thread_place place;  // among the threads of its role
  workload::fold fold = workload::fold::count;
  std::uint64_t seed = 0;
  std::vector<unsigned> bound_to;
  std::optional<unsigned> last_ran_on;

  std::unique_ptr<attached_handle> handle;
  std::unique_ptr<workload::generator> operations;
  std::optional<host::thread_meter> meter;
  std::optional<std::size_t> batch_size;    // none: as many as take 100 us
  bool any_rare = false;                    // among its operations: each is timed by itself
  std::optional<latency_recorder> latency;  // none: no operation is timed
  std::optional<arrival_times> arrivals;    // none: a closed loop
  std::optional<probe::block> probes;       // none: they do not record

  tally prefilled;
  tally warmed_up;
  tally measured;
  std::uint64_t measured_ns = 0;   // until the end of the last operation
  std::uint64_t processor_ns = 0;  // processor time taken by the measured operations
  std::vector<std::uint64_t>
      series;  // operations in each interval; the last holds what came after the others
  std::optional<unfinished_operation> unfinished;
  // No measured operation took longer, nor is the unfinished one older: the longest stretch of
  // operations between two readings of the clock. That is one operation, exactly, where each is
  // timed or in an open loop, and everywhere if it is rare; else up to a batch of them.
  std::uint64_t longest_ns = 0;
  std::optional<arrival_counts> arrival;
  double generation_ns = 0;
};

// What all threads of a trial agree on, by host::now_ns().
struct timetable {
  std::uint64_t start_ns;     // when they start
  std::uint64_t warm_up_ns;   // how much later the measured interval and its series begin
  std::uint64_t interval_ns;  // length of one interval of the series
};

// Operates on the map until a stop is requested, and measures all of it but the warm-up. The thread
// goes over from one to the other without a pause. What is under way when the warm-up ends is
// measured, from its begin: of a thread whose operations take longer than the measured interval it
// may be all that there is, and without it the thread would have measured nothing in no time.
// `measured_ns` counts from that begin, or from the common start without a warm-up. The counters of
// the meter and the probes begin after it, as they cannot be begun before every operation. The
// worker needs a meter, which is used up, and at least one entry in `series`, whose size is not
// changed.
//
// In a closed loop it performs batch after batch, in which it stops to look at the clock before and
// after a rare operation. In an open one (`arrivals`) it performs each operation when it is due, or
// at once if it was due before, and leaves none out; the clock is read for each.
void measure(worker& self, const timetable& times, std::uint64_t salt, const std::stop_token& stop);

// Measures how much processor time an operation takes to generate, with nothing done in between,
// into `generation_ns`.
void time_generation(worker& self);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_WORKER_H_
