// What came of operations: counts, and the sums by which the trial checks the map's contents.
//
// Every successful insert adds to two wrapping sums and every successful erase subtracts from them:
// the sum of the keys, and the sum of a mixing function of (key, value). The latter catches values
// that were swapped or lost, and pairs of errors that leave the sum of the keys as it was.

#ifndef ASSAY_TRIAL_TALLY_H_
#define ASSAY_TRIAL_TALLY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "assay/random/splitmix64.h"
#include "assay/workload/operation_batch.h"

namespace assay::trial {

// The value that a trial stores under `key`. It depends on the trial through `salt`, so that a
// value left over from elsewhere is recognised, and is cheap enough to be recomputed for every
// search.
[[nodiscard]] constexpr std::uint64_t value_of(std::uint64_t key, std::uint64_t salt) {
  return key ^ salt;
}

// The term of one pair in the pair sum.
[[nodiscard]] constexpr std::uint64_t pair_term(std::uint64_t key, std::uint64_t value) {
  return random::mix64(key + value * random::golden_gamma);
}

// What a map holds, as sums that do not depend on the order of its elements.
struct contents {
  std::int64_t size = 0;
  std::uint64_t key_sum = 0;
  std::uint64_t pair_sum = 0;

  friend bool operator==(const contents&, const contents&) = default;
};

// What one thread's operations came to.
struct tally {
  std::array<std::uint64_t, workload::operation_kinds> attempted{};
  std::array<std::uint64_t, workload::operation_kinds>
      succeeded{};  // a search that found its key succeeded
  std::uint64_t key_sum = 0;
  std::uint64_t pair_sum = 0;
  std::uint64_t wrong_values = 0;  // searches that returned a value other than the key's

  // Of ranges, sizes and whole visits.
  std::uint64_t visited = 0;       // elements, by visits that finished
  std::uint64_t wrong_visits = 0;  // of these: out of order or of bounds, or with a wrong value
  std::uint64_t folded = 0;        // what became of them, so that none is left out as unused

  // Operations that gave up because a stop was requested; no other number has them.
  std::array<std::uint64_t, workload::operation_kinds> unfinished{};

  tally& operator+=(const tally& other) {
    for (std::size_t kind = 0; kind < workload::operation_kinds; ++kind) {
      attempted[kind] += other.attempted[kind];
      succeeded[kind] += other.succeeded[kind];
      unfinished[kind] += other.unfinished[kind];
    }
    key_sum += other.key_sum;
    pair_sum += other.pair_sum;
    wrong_values += other.wrong_values;
    visited += other.visited;
    wrong_visits += other.wrong_visits;
    folded += other.folded;
    return *this;
  }

  [[nodiscard]] std::uint64_t operations() const {
    return std::accumulate(attempted.begin(), attempted.end(), std::uint64_t{0});
  }

  // What a map that was empty must hold if these are all the operations it has seen.
  [[nodiscard]] contents implied_contents() const {
    return {static_cast<std::int64_t>(succeeded[0] - succeeded[1]), key_sum, pair_sum};
  }
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_TALLY_H_
