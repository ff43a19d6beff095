// A bijection of the indices 0 to range - 1 that keeps no order. Where a distribution makes index 0
// the most frequent one and its neighbours the next, the frequent keys lie all over the range once
// they are scrambled.
//
//     const scramble spread(1'000'000, seed);
//     spread(0), spread(1), ..., spread(999'999)      // each index once
//     spread.apply(indices);                          // all at once, with vectors where it can
//
// Rounds of multiplication by an odd number and xor with a right shift permute the numbers of as
// many bits as range - 1 has. An answer outside the range is permuted again until it is inside
// (cycle walking; Black and Rogaway 2002), which takes fewer than two permutations on average. With
// three rounds, one seed in a thousand left a pattern in ranges of some thousands. Four rounds are
// as good there as random::permutation, which is for orders of insertion and many times as slow.

#ifndef ASSAY_WORKLOAD_SCRAMBLE_H_
#define ASSAY_WORKLOAD_SCRAMBLE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "assay/base/instruction_set.h"
#include "assay/random/splitmix64.h"

namespace assay::workload {

class scramble {
 public:
  struct round {
    std::uint64_t odd;
    std::uint64_t addend;
  };

  // Scrambles `range` > 0 indices.
  scramble(std::uint64_t range, std::uint64_t seed,
           host::instruction_set instructions = host::best_instruction_set())
      : range_(range),
        mask_(std::bit_ceil(range) - 1),
        half_(std::max((static_cast<int>(std::bit_width(mask_)) + 1) / 2, 1)),
        instructions_(instructions) {
    random::splitmix64 fill(seed);
    for (auto& [odd, addend] : rounds_) {
      odd = fill() | 1;
      addend = fill();
    }
  }

  // `index` < range.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const {
    do {
      for (const auto& [odd, addend] : rounds_) {
        index = (index * odd + addend) & mask_;
        index ^= index >> half_;
      }
    } while (index >= range_);
    return index;
  }

  // Replaces each of `indices` < range.
  void apply(std::span<std::uint64_t> indices) const;

 private:
  std::uint64_t range_;
  std::uint64_t mask_;
  int half_;
  host::instruction_set instructions_;
  std::array<round, 4> rounds_{};
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_SCRAMBLE_H_
