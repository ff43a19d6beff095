// How many of very many numbers have each bit set.
//
//     bit_counter ones;
//     ones.add(block.size(), [&](std::size_t i) { return block[i]; });
//     ones.counts()[0]      // odd numbers
//
// Counting 64 bits one by one takes some 20 ns a number. Here the counts are kept sliced: word k of
// `planes_` holds bit k of all 64 counts, so that one addition of logic operations serves all bits
// at once (carry-save adders as in Harley's and Seal's population count; Warren 2012, "Hacker's
// Delight", section 5-1). It takes about 0.5 ns a number, and a billion numbers half a second.

#ifndef ASSAY_JUDGE_BIT_COUNTER_H_
#define ASSAY_JUDGE_BIT_COUNTER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::judge {

using bit_counts = std::array<std::uint64_t, 64>;

class bit_counter {
 public:
  // Adds number(0) to number(n - 1).
  template <class Number>
  void add(std::size_t n, Number number) {
    for (std::size_t i = 0; i < n;) {
      if (pending_ == most_pending) flush();
      const std::size_t end = i + std::min<std::size_t>(n - i, most_pending - pending_);
      pending_ += end - i;
      for (; end - i >= 16; i += 16) add_16([&](std::size_t j) { return number(i + j); });
      for (; i < end; ++i) carry(number(i), 0);
    }
  }

  [[nodiscard]] const bit_counts& counts() {
    flush();
    return totals_;
  }

 private:
  static constexpr std::size_t planes = 16;
  static constexpr std::size_t most_pending = (std::size_t{1} << planes) - 1;

  // Adds three words of weight 1: `sum` keeps weight 1, what is returned has weight 2.
  static constexpr std::uint64_t add_three(std::uint64_t& sum, std::uint64_t a, std::uint64_t b) {
    const std::uint64_t half = sum ^ a;
    const std::uint64_t carried = (sum & a) | (half & b);
    sum = half ^ b;
    return carried;
  }

  template <class Number>
  void add_16(Number number) {
    auto [ones, twos, fours, eights] = std::array{planes_[0], planes_[1], planes_[2], planes_[3]};
    const auto two_of = [&](std::size_t j) { return add_three(ones, number(j), number(j + 1)); };
    const auto four_of = [&](std::size_t j) {
      const std::uint64_t first = two_of(j);
      return add_three(twos, first, two_of(j + 2));
    };
    const auto eight_of = [&](std::size_t j) {
      const std::uint64_t first = four_of(j);
      return add_three(fours, first, four_of(j + 4));
    };
    const std::uint64_t first = eight_of(0);
    const std::uint64_t sixteens = add_three(eights, first, eight_of(8));
    planes_[0] = ones;
    planes_[1] = twos;
    planes_[2] = fours;
    planes_[3] = eights;
    carry(sixteens, 4);
  }

  void carry(std::uint64_t bits, std::size_t plane) {
    for (; bits != 0; ++plane) {
      const std::uint64_t carried = planes_[plane] & bits;
      planes_[plane] ^= bits;
      bits = carried;
    }
  }

  void flush() {
    for (std::size_t plane = 0; plane < planes; ++plane) {
      for (std::size_t bit = 0; bit < 64; ++bit)
        totals_[bit] += (planes_[plane] >> bit & 1) << plane;
    }
    planes_ = {};
    pending_ = 0;
  }

  std::array<std::uint64_t, planes> planes_{};
  std::size_t pending_ = 0;
  bit_counts totals_{};
};

}  // namespace assay::judge

#endif  // ASSAY_JUDGE_BIT_COUNTER_H_
