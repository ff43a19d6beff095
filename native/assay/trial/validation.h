// Whether a map holds what its answers say that it must hold.

#ifndef ASSAY_TRIAL_VALIDATION_H_
#define ASSAY_TRIAL_VALIDATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "assay/trial/measured_map.h"
#include "assay/trial/tally.h"
#include "assay/workload/key_space.h"

namespace assay::trial {

// The elements of a multimap or a queue are called entries.
struct validation {
  trial::structure structure = trial::structure::map;
  contents expected;
  contents found;
  std::uint64_t wrong_values = 0;
  std::uint64_t foreign_keys = 0;      // outside the key space
  std::uint64_t duplicate_keys = 0;    // elements whose key, entries that the walk had met before
  std::uint64_t missed_searches = 0;   // for a key that the walk met, which found nothing
  std::uint64_t phantom_searches = 0;  // for a key that the walk did not meet, which found it
  bool walk_ended = true;          // false: it was given up after more elements than there can be
  std::uint64_t wrong_visits = 0;  // elements that ranges and whole visits met
  std::vector<observation> observations{};  // of the map at rest
  std::uint64_t checked_parts = 0;          // ranges over parts of the map at rest
  std::uint64_t wrong_parts = 0;  // ranges over parts of the map at rest that differ from the walk
  // What a multimap or a queue says of itself; see assay/maps/invariant.h.
  std::string broken_invariant{};

  // What is wrong, with what was expected and what was found; empty if nothing is.
  [[nodiscard]] std::string problem() const;
};

// Walks through the quiescent map and compares it with `total`, the sum of all threads' operations
// on it. If the walk ends, searches for up to 100,000 keys that it met, and for those of up to
// 100,000 keys drawn with the trial's seed that it did not meet, must agree with it. So must a
// size, a snapshot, an iteration, and ranges over the whole map and over parts of it, of those that
// the trial's operations had any of. To be called when no handle is attached; attaches some.
//
// Of a multimap, searches must also find values that the walk met with their key. A queue has no
// searches, and keys outside the key space. Both are asked for broken invariants, which the rig
// asks of maps.
[[nodiscard]] validation validate(measured_map& map, structure structure,
                                  const workload::key_space& space, const tally& total,
                                  std::uint64_t seed, std::uint64_t salt);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_VALIDATION_H_
