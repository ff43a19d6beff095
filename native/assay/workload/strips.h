// Drawing from a law over many keys with a table that does not grow with them.
//
//     const zipf law(0.99, 1'000'000'000);
//     const strip_table table(law.hats());              // 256 strips of keys
//     const auto drawn = table.draw(numbers, law, indices);
//
// The keys are divided into strips of neighbours, and over each strip lies a hat: a constant that
// is nowhere below the law. A strip is chosen with the probability of its hat by Walker's alias
// method (1977; the set-up is Vose's, 1991), then a key within it uniformly. The key is kept with
// the probability law / hat; what is kept follows the law exactly (von Neumann's rejection; Devroye
// 1986, "Non-Uniform Random Variate Generation", sections II.3 and III.4). Most keys are kept
// without an evaluation of the law, because they lie below a squeeze: a line that is nowhere above
// the law. A law that is constant over each strip, a histogram, keeps every key.
//
// 256 strips take 10 KB of a first-level cache and, for Zipf(0.99) over 10^9 keys, keep 96.7% of
// the keys and evaluate the law for 0.2%: 2.6 ns a draw, without the numbers drawn for it. 64
// strips take three times that, 1024 a sixth less. Rejection inversion (Hörmann and Derflinger
// 1996) needs no table, but a logarithm and an exponential for each draw, and inverts a number of
// 53 bits: of 2^40 keys each in the tail would get one of some 300 such numbers or one more.
//
// How exact it is: a strip has its probability up to 2^-63, and a key within a strip of width w up
// to w / 2^64. One number of 64 bits is multiplied by w: the high half of the product is the key,
// the low half decides whether it is kept.

#ifndef ASSAY_WORKLOAD_STRIPS_H_
#define ASSAY_WORKLOAD_STRIPS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::workload {

// A strip, and what is known of the law's weights w(index) over it.
struct hat {
  std::uint64_t first;  // index
  std::uint64_t width;  // indices
  double log_height;    // natural logarithm of the largest weight; -infinity: none is ever drawn
  double fall = 0;      // at a distance d from its highest end, w >= height * (1 - fall * d)
  bool rising = false;  // the highest end is the last index, not the first
};

struct strip {
  std::uint64_t first;
  std::uint64_t width;
  std::uint64_t squeeze;  // of 2^64: the key at `first` is kept below it ...
  std::uint64_t slope;    // ... each further one this much less, modulo 2^64

  [[nodiscard]] std::uint64_t last() const { return first + width - 1; }
};

class strip_table {
 public:
  // How many strips laws are divided into whose number of keys is larger.
  static constexpr std::size_t most_strips = 256;

  // At least one hat must not be -infinity; throws std::invalid_argument otherwise.
  explicit strip_table(std::span<const hat> hats);

  // Draws one index from each two of `numbers` and writes those that are kept to `indices`, in
  // order; returns how many. There must be room for half as many as there are numbers.
  //
  // law.keeps(strip, index, v) says whether v, uniform in [0, 1), is below the weight of `index`
  // over the height of its strip's hat.
  template <class Law>
  std::size_t draw(std::span<const std::uint64_t> numbers, const Law& law,
                   std::span<std::uint64_t> indices) const {
    __extension__ using uint128 = unsigned __int128;
    const int shift = shift_;
    const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
    const std::uint64_t* const columns = columns_.data();
    const strip* const strips = strips_.data();
    std::size_t kept = 0;
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      const std::uint64_t number = numbers[i];
      const std::uint64_t column = number >> shift;
      const std::uint64_t word = columns[column];
      const strip& chosen = strips[(number & mask) < (word & mask) ? column : word >> shift];
      const auto product = static_cast<uint128>(numbers[i + 1]) * chosen.width;
      const auto distance = static_cast<std::uint64_t>(product >> 64);
      const auto height = static_cast<std::uint64_t>(product);
      const std::uint64_t index = chosen.first + distance;
      indices[kept] = index;
      if (height < chosen.squeeze - distance * chosen.slope) [[likely]] {
        ++kept;
      } else {
        kept += static_cast<std::size_t>(
            law.keeps(chosen, index, static_cast<double>(height >> 11) * 0x1p-53));
      }
    }
    return kept;
  }

 private:
  // The high bits of a number are a column, its low `shift_` bits are compared with those of the
  // column's word: below them the strip is that of the same place, else the one in the word's high
  // bits.
  int shift_;
  std::vector<std::uint64_t> columns_;
  std::vector<strip> strips_;
};

// A law that is constant over each strip.
struct piecewise_constant {
  [[nodiscard]] static bool keeps(const strip& /*strip*/, std::uint64_t /*index*/, double /*v*/) {
    return true;
  }
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_STRIPS_H_
