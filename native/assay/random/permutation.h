// A random permutation of 0 to n - 1 that is computed rather than stored: threads that share one
// insert every key once, in random order, without a table of n numbers.
//
//     const assay::random::permutation order(1'000'000, seed);
//     order(0), order(1), ..., order(999'999)      // each number below 1'000'000 once
//
// A Feistel network permutes the numbers of as many bits as n - 1 has. An answer that is not below
// n is permuted again until it is (cycle walking; Black and Rogaway 2002, "Ciphers with arbitrary
// finite domains"): fewer than two rounds on average. It is random enough for orders of insertion,
// not for secrets.
//
// A permutation never changes, so threads may share one. Its calls allocate nothing and throw
// nothing.

#ifndef ASSAY_RANDOM_PERMUTATION_H_
#define ASSAY_RANDOM_PERMUTATION_H_

#include <array>
#include <bit>
#include <cstdint>

#include "assay/random/splitmix64.h"

namespace assay::random {

class permutation {
 public:
  // Permutes `n` > 0 numbers.
  constexpr permutation(std::uint64_t n, std::uint64_t seed) : n_(n) {
    const auto bits = static_cast<int>(std::bit_width(n - 1));
    low_bits_ = (bits + 1) / 2;
    low_mask_ = mask(low_bits_);
    high_mask_ = mask(bits - low_bits_);
    splitmix64 fill(seed);
    for (auto& key : keys_) key = fill();
  }

  // `index` < n.
  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t index) const {
    do {
      index = permute(index);
    } while (index >= n_);
    return index;
  }

 private:
  static constexpr std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

  // Each half in turn is masked by a function of the other, so every step can be undone.
  constexpr std::uint64_t permute(std::uint64_t x) const {
    std::uint64_t low = x & low_mask_;
    std::uint64_t high = x >> low_bits_;
    for (std::size_t round = 0; round < keys_.size(); round += 2) {
      high ^= mix64(low ^ keys_[round]) & high_mask_;
      low ^= mix64(high ^ keys_[round + 1]) & low_mask_;
    }
    return high << low_bits_ | low;
  }

  std::uint64_t n_;
  int low_bits_ = 0;
  std::uint64_t low_mask_ = 0;
  std::uint64_t high_mask_ = 0;
  std::array<std::uint64_t, 8> keys_{};
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_PERMUTATION_H_
