// Which numbers are keys.
//
//     const key_space keys(20'000, key_layout::sparse, seed);
//     keys.key(0), keys.key(1), ..., keys.key(19'999)      // the keys, all below 2^63
//
// Dense keys are 1 to range, the field's custom. They flatter radix trees, and hash maps that use
// the key as its own hash. Sparse keys are spread over 63 bits instead: they are the images of 1 to
// range under a bijection of the 63-bit numbers, drawn with the trial's seed. The bijection maps 0
// to 0, so that 0 is never a key. It has an inverse, so that a key that nobody can have inserted is
// recognised. For structures whose keys have 32 bits, sparse keys are spread over 31.

#ifndef ASSAY_WORKLOAD_KEY_SPACE_H_
#define ASSAY_WORKLOAD_KEY_SPACE_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "assay/random/splitmix64.h"

namespace assay::workload {

enum class key_layout { dense, sparse };

// A bijection of the numbers of `bits` bits (at most 63) that maps 0 to 0: multiplications by odd
// numbers and xors with right shifts by at least half the bits, which are their own inverses.
class spreader {
 public:
  explicit constexpr spreader(std::uint64_t seed, int bits = 63)
      : first_(random::derive_seed(seed, 0) | 1),
        second_(random::derive_seed(seed, 1) | 1),
        mask_((std::uint64_t{1} << bits) - 1),
        half_((bits + 1) / 2) {}

  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t x) const {
    return fold(fold(fold(x) * first_ & mask_) * second_ & mask_);
  }

  // Replaces each of `numbers` by its image.
  void all(std::span<std::uint64_t> numbers) const;

  [[nodiscard]] constexpr std::uint64_t inverse(std::uint64_t y) const {
    return fold(fold(fold(y) * inverse_of(second_) & mask_) * inverse_of(first_) & mask_);
  }

  [[nodiscard]] constexpr std::uint64_t mask() const { return mask_; }  // the largest of them

 private:
  [[nodiscard]] constexpr std::uint64_t fold(std::uint64_t x) const { return x ^ x >> half_; }

  // Newton's iteration modulo 2^64: an odd number inverts itself in 3 bits, each step doubles them.
  static constexpr std::uint64_t inverse_of(std::uint64_t odd) {
    std::uint64_t inverse = odd;
    for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
    return inverse;
  }

  std::uint64_t first_;
  std::uint64_t second_;
  std::uint64_t mask_;
  int half_;
};

// What a range operation visits: the keys from `first` to `last`, both included.
struct key_interval {
  std::uint64_t first;
  std::uint64_t last;

  friend constexpr bool operator==(const key_interval&, const key_interval&) = default;
};

class key_space {
 public:
  // `range` is at least 1 and, if keys are sparse, less than 2^bits.
  constexpr key_space(std::uint64_t range, key_layout layout, std::uint64_t seed, int bits = 63)
      : range_(range), layout_(layout), seed_(seed), spread_(seed, bits) {}

  [[nodiscard]] constexpr std::uint64_t range() const { return range_; }
  [[nodiscard]] constexpr key_layout layout() const { return layout_; }
  [[nodiscard]] constexpr std::uint64_t seed() const { return seed_; }
  [[nodiscard]] constexpr const spreader& spread() const { return spread_; }

  // The key of `index` < range.
  [[nodiscard]] constexpr std::uint64_t key(std::uint64_t index) const {
    return layout_ == key_layout::dense ? index + 1 : spread_(index + 1);
  }

  [[nodiscard]] constexpr bool contains(std::uint64_t key) const {
    if (key == 0 || key > most()) return false;
    return (layout_ == key_layout::dense ? key : spread_.inverse(key)) <= range_;
  }

  // The interval that begins at `key` and spans `length` >= 1 keys, or those that there are up to
  // the end of the space. A length of at least the range is all keys, whichever the first one.
  //
  // The keys are ordered as numbers, as in maps. Sparse neighbours are not known
  // without sorting all of them, so `length` is an average there: keys lie `most / range` apart,
  // which makes (length - 1) such steps hold length - 1 keys beside the first, give or take the
  // square root.
  [[nodiscard]] constexpr key_interval from(std::uint64_t key, std::uint64_t length) const {
    if (length >= range_) return {1, most()};
    const std::uint64_t step = most() / range_;
    return {key, key + std::min((length - 1) * step, most() - key)};
  }

 private:
  // What no key is above.
  [[nodiscard]] constexpr std::uint64_t most() const {
    return layout_ == key_layout::dense ? range_ : spread_.mask();
  }

  std::uint64_t range_;
  key_layout layout_;
  std::uint64_t seed_;
  spreader spread_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_KEY_SPACE_H_
