// Which numbers are keys.
//
// Dense keys are 1 to range, the field's custom. They flatter radix trees and hash maps that use
// the key as its own hash, so that the same numbers can be spread over 63 bits: sparse keys are the
// images of 1 to range under a bijection of the 63-bit numbers, drawn with the trial's seed. It
// maps 0 to 0, so that 0 is never a key, and has an inverse, so that a key that nobody can have
// inserted is recognised.

#ifndef ASSAY_WORKLOAD_KEY_SPACE_H_
#define ASSAY_WORKLOAD_KEY_SPACE_H_

#include <cstdint>

#include "assay/random/splitmix64.h"

namespace assay::workload {

enum class key_layout { dense, sparse };

// A bijection of the numbers below 2^63 that maps 0 to 0: multiplications by odd numbers and xors
// with right shifts by at least half the bits, which are their own inverses.
class spreader {
 public:
  static constexpr std::uint64_t mask = (std::uint64_t{1} << 63) - 1;

  explicit constexpr spreader(std::uint64_t seed)
      : first_(random::derive_seed(seed, 0) | 1), second_(random::derive_seed(seed, 1) | 1) {}

  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t x) const {
    return fold(fold(fold(x) * first_ & mask) * second_ & mask);
  }

  [[nodiscard]] constexpr std::uint64_t inverse(std::uint64_t y) const {
    return fold(fold(fold(y) * inverse_of(second_) & mask) * inverse_of(first_) & mask);
  }

 private:
  static constexpr std::uint64_t fold(std::uint64_t x) { return x ^ x >> 32; }

  // Newton's iteration modulo 2^64: an odd number inverts itself in 3 bits, each step doubles them.
  static constexpr std::uint64_t inverse_of(std::uint64_t odd) {
    std::uint64_t inverse = odd;
    for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
    return inverse;
  }

  std::uint64_t first_;
  std::uint64_t second_;
};

class key_space {
 public:
  constexpr key_space(std::uint64_t range, key_layout layout, std::uint64_t seed)
      : range_(range), layout_(layout), spread_(seed) {}

  [[nodiscard]] constexpr std::uint64_t range() const { return range_; }
  [[nodiscard]] constexpr key_layout layout() const { return layout_; }
  [[nodiscard]] constexpr const spreader& spread() const { return spread_; }

  // The key of `index` < range.
  [[nodiscard]] constexpr std::uint64_t key(std::uint64_t index) const {
    return layout_ == key_layout::dense ? index + 1 : spread_(index + 1);
  }

  [[nodiscard]] constexpr bool contains(std::uint64_t key) const {
    if (key == 0 || key > spreader::mask) return false;
    return (layout_ == key_layout::dense ? key : spread_.inverse(key)) <= range_;
  }

 private:
  std::uint64_t range_;
  key_layout layout_;
  spreader spread_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_KEY_SPACE_H_
