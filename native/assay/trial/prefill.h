// Bringing a map to the size at which the measured mix keeps it.
//
// Random inserts and erases of uniform keys let the number of keys approach, from 0, a binomial
// distribution with mean range * p, where p is the share of inserts among updates. What is measured
// before it has arrived depends on how long ago the trial began. So the threads that will be
// measured (Kharal and Brown, section 4.8) do as many updates as it takes for the bias to become
// small compared with the distribution's own spread, and the size must then be one that the
// distribution makes likely.
//
// A multimap or a queue has no such state: inserts always succeed. It gets range * p entries with
// uniform keys, which a mix of as many inserts as erases leaves it.
//
// A request may name another size, which takes the place of range * p, and inserts alone.

#ifndef ASSAY_TRIAL_PREFILL_H_
#define ASSAY_TRIAL_PREFILL_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "assay/measure/crew.h"
#include "assay/random/permutation.h"
#include "assay/subject/any_map.h"
#include "assay/trial/request.h"
#include "assay/trial/worker.h"

namespace assay::trial {

enum class prefill_method { updates, permutation, sorted, first_keys, entries, none, skipped };

struct prefill_report {
  prefill_method method = prefill_method::skipped;
  bool converged = true;
  std::uint64_t operations = 0;
  std::int64_t size = 0;  // by the threads' own counts
  double expected_size = 0;
  double tolerance = 0;  // three standard deviations
};

// What a steady state looks like, and how many updates lead to it from an empty map.
struct steady_state {
  double expected_size;
  double tolerance;
  std::uint64_t updates;
};

// The share of inserts among inserts and erases in all roles' mixes, weighted by the rates of their
// arrivals if all that update have some, else by their threads; one half if no role updates. An
// operation by name counts as what it does to one key: what may add it as an insert.
[[nodiscard]] double steady_share_of(std::span<const role> roles);

// What the map is to hold at first, as a share of the key range: the request's, or that share.
[[nodiscard]] double filled_share_of(const request& request);

// The part of `total` that falls to thread `i` of `n`: parts differ by at most 1 and begin where
// the last ended.
struct part {
  std::uint64_t begin;
  std::uint64_t end;
};
[[nodiscard]] part part_of(std::uint64_t total, unsigned i, std::size_t n);

// `share` is the share of inserts among updates, above 0 and below 1.
[[nodiscard]] steady_state steady_state_of(std::uint64_t key_range, double share);

// Fills the map through the handles of `workers`, which belong to all threads or to the first few.
// Adds to their `prefilled`.
prefill_report prefill(measure::crew& threads, std::span<worker> workers, const request& request,
                       const workload::key_space& space, std::uint64_t salt,
                       subject::structure structure);

// The indices of all keys in random order.
[[nodiscard]] random::permutation random_order(const request& request);

// The same by inserts alone: the first `count` keys of a random order, each once.
prefill_report insert_in_random_order(measure::crew& threads, std::span<worker> workers,
                                      const request& request, const workload::key_space& space,
                                      std::uint64_t count, std::uint64_t salt);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_PREFILL_H_
