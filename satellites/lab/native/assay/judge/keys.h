// What the operations of a trial show that are drawn from an engine: counts of keys, and of keys
// together with their operations and with the next key. The generator is that of the trials, so
// that what is judged is what they do, with every way to draw and to bound.

#ifndef ASSAY_JUDGE_KEYS_H_
#define ASSAY_JUDGE_KEYS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "assay/random/engine.h"
#include "assay/workload/mix.h"
#include "assay/workload/options.h"

namespace assay::judge {

// Keys fall into cells of equal size: by their place in the range, and by their remainder.
inline constexpr std::size_t cells = 32;
inline constexpr workload::mix judged_mix{30, 20, 50};

struct cell_counts {
  std::array<std::array<std::uint64_t, cells>, 3> with_operation{};  // of insert, erase, find
  std::array<std::array<std::uint64_t, cells>, cells> with_next{};   // of pairs that do not overlap
};

struct key_statistics {
  workload::draws draws;
  workload::bounding bounding;
  std::uint64_t range;
  std::uint64_t operations;
  std::uint64_t sum_of_squares = 0;  // of the counts of all keys
  std::uint64_t never_drawn = 0;     // keys

  // Where the cells divide the range: of the key's place, and of its remainder modulo 32.
  std::vector<cell_counts> by_place{};
  std::vector<cell_counts> by_remainder{};
};

// For each way to draw and to bound, `operations` operations on each of several ranges.
[[nodiscard]] std::vector<key_statistics> examine_keys(const random::engine_choice& engine,
                                                       std::uint64_t seed,
                                                       std::uint64_t operations);

}  // namespace assay::judge

#endif  // ASSAY_JUDGE_KEYS_H_
