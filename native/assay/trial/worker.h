// What one thread of a trial has to itself, and what it does in the warm-up and the measured
// interval.

#ifndef ASSAY_TRIAL_WORKER_H_
#define ASSAY_TRIAL_WORKER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "assay/host/usage.h"
#include "assay/measure/process.h"
#include "assay/probe/recording.h"
#include "assay/subject/any_map.h"
#include "assay/subject/tally.h"
#include "assay/subject/type_spec.h"
#include "assay/subject/witness.h"
#include "assay/trial/arrivals.h"
#include "assay/trial/latency.h"
#include "assay/trial/request.h"
#include "assay/workload/generator.h"
#include "assay/workload/operation_batch.h"

namespace assay::trial {

// An operation that was given up because the trial was over.
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
  std::uint64_t response_ns = 0;        // the sum over those that ended, each from when it was due
};

// By a thread that measured, through its own handle, when no operation was under way any more.
struct search_at_rest {
  std::uint64_t key;
  std::optional<std::uint64_t> found;
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

  std::unique_ptr<subject::any_handle> handle;
  std::unique_ptr<workload::generator> operations;
  std::optional<host::thread_meter> meter;
  std::optional<std::size_t> batch_size;    // none: as many as take 100 us
  bool any_rare = false;                    // among its operations: each is timed by itself
  std::optional<latency_recorder> latency;  // none: no operation is timed
  std::optional<arrival_times> arrivals;    // none: a closed loop
  std::optional<probe::block> probes;       // none: they do not record
  std::optional<subject::witness> seen;     // none: values depend on keys alone
  std::optional<operation_counts> exactly;  // of a replay; none: what there is time for
  measure::unused_memory heap_offset{nullptr, &std::free};

  subject::tally prefilled;
  subject::tally warmed_up;
  subject::tally measured;
  std::uint64_t measured_ns = 0;   // until the end of the last operation
  std::uint64_t processor_ns = 0;  // processor time taken by the measured operations
  std::vector<std::uint64_t>
      series;  // operations in each interval; the last holds what came after the others
  std::optional<unfinished_operation> unfinished;
  // The longest time between two readings of the clock. No measured operation took longer, and none
  // that is unfinished is older. It is the time of one operation where each is timed, in an open
  // loop, and for rare operations everywhere; otherwise the time of up to a batch of operations.
  std::uint64_t longest_ns = 0;
  std::uint64_t clock_reads = 0;  // between measured operations, in a closed loop
  std::optional<arrival_counts> arrival;
  double generation_ns = 0;
  std::vector<search_at_rest> at_rest;
};

// What all threads of a trial agree on, by host::now_ns().
struct timetable {
  std::uint64_t start_ns;     // when they start
  std::uint64_t warm_up_ns;   // how much later the measured interval and its series begin
  std::uint64_t interval_ns;  // length of one interval of the series
};

// Performs operations on the map until a stop is requested, and measures all but the warm-up. The
// warm-up and the measured interval follow each other without a pause. The operation that is under
// way when the warm-up ends is measured, from its start: if operations take longer than the
// measured interval, it may be the only one, and without it the thread would have measured nothing.
// So `measured_ns` counts from the start of that operation, or, without a warm-up, from the common
// start. The meter's counters and the probes begin when that operation has ended, as they cannot be
// started before every operation. The worker needs a meter, which is used up, and at least one
// entry in `series`, whose size is not changed.
//
// A replay (`exactly`) performs as many operations as it says in each of the two, whatever time
// that takes, and needs no stop; they are the same ones as when time ended both, since batches are
// generated as they were then, and only performed in part.
//
// In a closed loop it performs batch after batch, and reads the clock between batches and before
// and after each rare operation. In an open loop (`arrivals`) it performs each operation when it is
// due, or at once if it was due before, leaves none out, and reads the clock for each.
void measure(worker& self, const timetable& times, std::uint64_t salt, const std::stop_token& stop);

// Searches for the keys of the last batch, those that a cache of the thread holds if there is one.
// To be called when no operation is under way.
void search_last_keys(worker& self);

// Measures how much processor time an operation takes to generate, with nothing done in between,
// into `generation_ns`. Of a map of strings that includes making them, as the loop over the map
// does: the key of each operation and the value of each insert.
void time_generation(worker& self, const subject::type_spec& key = {},
                     const subject::type_spec& value = {});

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_WORKER_H_
