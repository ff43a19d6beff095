// What an execution costs in instruction caches if its procedures stand elsewhere.

#ifndef ASSAY_LAYOUT_REPLAY_H_
#define ASSAY_LAYOUT_REPLAY_H_

#include <cstdint>
#include <vector>

#include "assay/layout/cache.h"
#include "assay/layout/trace.h"

namespace assay::layout {

// The address of each procedure.
using addresses = std::vector<std::uint64_t>;

struct hierarchy {
  cache_shape first;
  // The Alpha 21064's (Blackwell 1998, section 4.2).
  cache_shape second{.bytes = 262'144, .ways = 1, .line = 32, .policy = replacement::least_recent};
  std::uint64_t seed = 0;  // of random replacement
};

struct misses {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

// Both caches are empty at first. With `expansion`, each instruction stands that many times as far
// from the least address (section 4.2). An access is of the lines that a block lies in.
[[nodiscard]] misses replay(const trace& recorded, const addresses& where, const hierarchy& caches,
                            double expansion = 1);

// Two procedures that take a place in the first cache from each other, or a procedure that does so
// with itself.
struct conflict {
  std::uint32_t missed = 0;    // the procedure that found its line gone
  std::uint32_t taken_by = 0;  // the one that had taken the line's place
  std::uint64_t times = 0;
};

// Most often first. Misses of lines that come for the first time are in none.
[[nodiscard]] std::vector<conflict> conflicts(const trace& recorded, const addresses& where,
                                              const hierarchy& caches, double expansion = 1);

// How often each set of the first cache was accessed by each procedure, and missed.
struct set_use {
  std::uint32_t procedure = 0;
  std::uint32_t set = 0;
  std::uint64_t accesses = 0;
  std::uint64_t misses = 0;
};
[[nodiscard]] std::vector<set_use> uses_of_sets(const trace& recorded, const addresses& where,
                                                const hierarchy& caches, double expansion = 1);

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_REPLAY_H_
