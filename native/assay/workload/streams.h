// Which random numbers come from which seed. No two uses share a stream, so that none changes with
// another: the measured operations are the same whether the prefill took one round or three.

#ifndef ASSAY_WORKLOAD_STREAMS_H_
#define ASSAY_WORKLOAD_STREAMS_H_

#include <cstdint>

#include "assay/random/splitmix64.h"

namespace assay::workload {

// Streams of the trial's seed.
enum trial_stream : std::uint64_t {
  salt_stream = 0,
  key_space_stream = 1,
  permutation_stream = 2,
  first_thread_stream = 3,
  search_stream = std::uint64_t{1} << 32,  // after the last thread's
  key_lengths_stream,
  values_stream,
  waits_stream  // of elided locks
};

// Streams of a thread's seed.
enum thread_stream : std::uint64_t {
  prefill_stream,
  measured_stream,
  latency_stream,  // which operations are timed
  arrivals_stream  // when operations of an open loop are due
};

[[nodiscard]] constexpr std::uint64_t thread_seed(std::uint64_t trial_seed, unsigned thread_index) {
  return random::derive_seed(trial_seed, first_thread_stream + thread_index);
}

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_STREAMS_H_
