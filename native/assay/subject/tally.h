// What came of operations: counts, and the sums by which the trial checks the map's contents.
//
// Every successful insert adds to two wrapping sums and every successful erase subtracts from them:
// the sum of the keys, and the sum of a mixing function of each key (of a map) or entry (of a
// multimap or a queue). The latter catches pairs of errors that leave the sum of the keys as it
// was. Of a map, the walk at the end adds something else for a value that the key cannot have.

#ifndef ASSAY_SUBJECT_TALLY_H_
#define ASSAY_SUBJECT_TALLY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "assay/random/splitmix64.h"
#include "assay/workload/operation_batch.h"

namespace assay::subject {

// The value that a trial stores under `key`, or what it has of it where values also say who drew
// them (witness.h). It depends on the trial through `salt`, so that a value left over from
// elsewhere is recognised, and is cheap enough to be recomputed for every search. Another key has
// another.
[[nodiscard]] constexpr std::uint64_t value_of(std::uint64_t key, std::uint64_t salt) {
  return (key ^ salt) * random::golden_gamma;
}
[[nodiscard]] constexpr std::uint64_t key_of(std::uint64_t value, std::uint64_t salt) {
  constexpr std::uint64_t inverse = 0xf1de83e19937733d;
  static_assert(random::golden_gamma * inverse == 1);
  return value * inverse ^ salt;
}

// The bits of a value: those that depend on its key, and the others. A bit in neither is 0.
struct value_layout {
  std::uint64_t check = ~std::uint64_t{0};
  std::uint64_t rest = 0;
};

// A value whose bits `check` depend on its key, through value_of(key, salt), and on its other bits,
// `rest`: so that a value of another key, one that was put together from two, or one with any bit
// changed is recognised.
[[nodiscard]] constexpr std::uint64_t checked(std::uint64_t hash, std::uint64_t rest,
                                              std::uint64_t check) {
  return ((hash + rest * random::golden_gamma) & check) | rest;
}
[[nodiscard]] constexpr bool is_checked(std::uint64_t value, std::uint64_t hash,
                                        const value_layout& bits) {
  return value == checked(hash, value & bits.rest, bits.check);
}

// The term of a map's key in the pair sum, from value_of(key, salt). Not linear, as the sum of keys
// is.
[[nodiscard]] constexpr std::uint64_t key_term(std::uint64_t hash) { return hash ^ hash >> 32; }

// The term of an entry, or of a key with a value that it cannot have.
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
      succeeded{};              // a search that found its key succeeded
  std::int64_t extra_held = 0;  // elements that operations other than insert and erase added,
                                // less those that they took away
  std::uint64_t key_sum = 0;
  std::uint64_t pair_sum = 0;
  std::uint64_t wrong_values = 0;  // searches that returned a value of another key, or nobody's

  // From ranges, sizes and whole visits.
  std::uint64_t visited = 0;       // elements, by visits that finished
  std::uint64_t wrong_visits = 0;  // of these: out of order or of bounds, or with a wrong value
  std::uint64_t folded = 0;        // what became of them, so that none is left out as unused

  // Operations that were given up because a stop was requested; no other number has them.
  std::array<std::uint64_t, workload::operation_kinds> unfinished{};

  tally& operator+=(const tally& other) {
    for (std::size_t kind = 0; kind < workload::operation_kinds; ++kind) {
      attempted[kind] += other.attempted[kind];
      succeeded[kind] += other.succeeded[kind];
      unfinished[kind] += other.unfinished[kind];
    }
    extra_held += other.extra_held;
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
    return {static_cast<std::int64_t>(succeeded[0] - succeeded[1]) + extra_held, key_sum, pair_sum};
  }
};

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_TALLY_H_
