// What the numbers of an engine show bit by bit: counts only. What they mean is decided elsewhere.
//
// The n-th-bit summation (paper "Performance anomalies in concurrent data structure
// microbenchmarks", appendix B.1) adds 1 for each number whose bit n is set and subtracts 1 for
// each other one. A sum that stays near 0 is not enough: a bit that strictly alternates keeps it
// there best of all. Changes between numbers some lags apart and strict periods tell that apart.

#ifndef ASSAY_JUDGE_BITS_H_
#define ASSAY_JUDGE_BITS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "assay/judge/bit_counter.h"
#include "assay/random/engine.h"

namespace assay::judge {

inline constexpr std::size_t lags = 64;
// What takes tens of nanoseconds a number looks at this many of them at most.
inline constexpr std::uint64_t most_thorough = 10'000'000;

struct bit_statistics {
  std::vector<std::uint64_t> first;  // the first 1000 numbers

  // Counts of numbers, a few hundred of them, the last one all; of each, how many had each bit set.
  std::vector<std::uint64_t> at;
  std::vector<bit_counts> ones;

  bit_counts changes{};  // between neighbours, of all numbers

  // Over the first `thorough` numbers, for lag 1 (index 0) to 64: `compared` pairs of numbers so
  // far apart, how many of them differ in each bit, and the sums of the products of the whole
  // numbers, from -1/2 to 1/2, and of their low bytes, from -127.5 to 127.5.
  std::uint64_t thorough = 0;
  std::array<std::uint64_t, lags> compared{};
  std::array<bit_counts, lags> differing{};
  std::array<double, lags> products{};
  std::array<double, lags> low_products{};

  // The shortest period that each bit follows without exception: of every one up to 4096, and of
  // the powers of two up to a million, as far as the numbers reach twice; 0 where there is none.
  std::array<std::uint64_t, 64> periods{};
};

// Draws `numbers` >= 1000 of them.
[[nodiscard]] bit_statistics examine_bits(random::number_source& source, std::uint64_t numbers);

}  // namespace assay::judge

#endif  // ASSAY_JUDGE_BITS_H_
