// Whether a map holds what its answers say that it must hold.

#ifndef ASSAY_TRIAL_VALIDATION_H_
#define ASSAY_TRIAL_VALIDATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/subject/any_map.h"
#include "assay/subject/tally.h"
#include "assay/subject/witness.h"
#include "assay/trial/worker.h"

namespace assay::trial {

// What a range, a size, a snapshot or an iteration of a map at rest came to.
struct observation {
  workload::operation by;
  subject::contents found{};  // a size has no sums
  std::uint64_t pairs = 0;    // the sum of pair_term(key, value)
  bool ended = true;          // false: given up after more elements than there can be
  bool ascending = true;      // in the order of their keys, each of which is another
};

// Asks for a range from `first` to `last`, or another operation that looks at the whole map,
// through a handle of its own while no other is inside a call. The map must offer it. A visit is
// given up after `most` elements.
[[nodiscard]] observation observe(subject::any_map& map, const subject::value_rules& rules,
                                  workload::operation by, std::uint64_t first, std::uint64_t last,
                                  std::uint64_t most);

// How often something is wrong, and what is known of the first time.
struct mistakes {
  std::uint64_t number = 0;
  std::string first{};

  // `text` says what it is, if this is the first.
  template <class Text>
  void add(const Text& text) {
    if (number++ == 0) first = text();
  }
};

// The elements of a multimap or a queue are called entries.
struct validation {
  subject::structure structure = subject::structure::map;
  subject::contents expected;
  subject::contents found;
  std::uint64_t pairs = 0;    // the sum of pair_term(key, value) of what was met
  mistakes wrong_values{};    // of searches
  mistakes wrong_held{};      // values that the walk met under a key for which nobody drew them
  mistakes stale_values{};    // found, or met by the walk, though they were known to be gone
  mistakes wrong_presence{};  // watched keys that are held or not, against what operations answered
  mistakes foreign_keys{};    // outside the key space
  mistakes duplicate_keys{};  // elements whose key, entries that the walk had met before
  mistakes missed_searches{};     // for a key that the walk met, which found nothing
  mistakes phantom_searches{};    // for a key that the walk did not meet, which found it
  mistakes differing_searches{};  // of the trial's threads at rest, which differ from the walk
  bool walk_ended = true;         // false: it was given up after more elements than there can be
  mistakes wrong_visits{};        // elements that ranges and whole visits met
  std::vector<observation> observations{};  // of the map at rest
  std::uint64_t checked_parts = 0;          // visits of parts of the map at rest
  std::uint64_t wrong_parts = 0;            // of these, how many differ from the walk
  std::string broken_invariant{};           // see assay/maps/invariant.h; empty if none is
  assay::shape shape{};                     // of a map that is not broken, as far as it says

  // What is wrong, with what was expected and what was found, and an example; empty if nothing is.
  [[nodiscard]] std::string problem() const;
};

// Walks through the quiescent map and compares it with `total`, the sum of all threads' operations
// on it, and with what each of the `workers` has seen and found at rest. If the walk ends, searches
// must agree with it, in a map also in their values: for up to 100,000 keys that it met, and for up
// to 100,000 keys drawn with the trial's seed, unless it met them. So must a size, a snapshot, an
// iteration, ranges over the whole map and over parts of it, and other visits of all elements or
// parts, if the trial's operations had such ones. To be called when no handle is attached; attaches
// some.
//
// If the walk ends, the map's own invariants must hold, and it says what its shape is. Without a
// walk that ends neither is called: they might not end.
//
// In a multimap, searches must also find values that the walk met with their key. A queue has no
// searches, and has keys outside the key space.
[[nodiscard]] validation validate(subject::any_map& map, subject::structure structure,
                                  const subject::tally& total, std::uint64_t seed,
                                  const subject::value_rules& rules,
                                  std::span<const worker> workers);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_VALIDATION_H_
