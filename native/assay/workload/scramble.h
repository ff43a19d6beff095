// A bijection of the indices 0 to range - 1 in no order: where the distribution says that index 0
// is the most frequent, scrambled keys have their frequent ones all over the range.
//
//     const scramble spread(1'000'000, seed);
//     spread(0), spread(1), ..., spread(999'999)      // each index once
//
// Rounds of multiplication by an odd number and xor with a right shift permute the numbers of as
// many bits as range - 1 has; an answer outside the range is permuted again until it is inside
// (cycle walking; Black and Rogaway 2002), fewer than twice on average. Unlike random::permutation
// it is for the measured loop: 1.5 to 5 ns, depending on how far below a power of two the range is,
// where that one takes 20. Hashing without care for collisions, as YCSB does, would merge keys and
// leave others out.

#ifndef ASSAY_WORKLOAD_SCRAMBLE_H_
#define ASSAY_WORKLOAD_SCRAMBLE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "assay/random/splitmix64.h"

namespace assay::workload {

class scramble {
 public:
  // Of `range` > 0 indices.
  constexpr scramble(std::uint64_t range, std::uint64_t seed)
      : range_(range),
        mask_(std::bit_ceil(range) - 1),
        half_(std::max((static_cast<int>(std::bit_width(mask_)) + 1) / 2, 1)) {
    random::splitmix64 fill(seed);
    for (auto& [odd, addend] : rounds_) {
      odd = fill() | 1;
      addend = fill();
    }
  }

  // `index` < range.
  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t index) const {
    do {
      for (const auto& [odd, addend] : rounds_) {
        index = (index * odd + addend) & mask_;
        index ^= index >> half_;
      }
    } while (index >= range_);
    return index;
  }

 private:
  struct round {
    std::uint64_t odd;
    std::uint64_t addend;
  };

  std::uint64_t range_;
  std::uint64_t mask_;
  int half_;
  std::array<round, 3> rounds_{};
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_SCRAMBLE_H_
