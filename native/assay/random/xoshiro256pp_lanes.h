// xoshiro256++ in eight interleaved lanes: the engine that draws a trial's operations.
//
//     assay::random::xoshiro256pp_lanes engine(seed);
//     std::array<std::uint64_t, 512> block;
//     engine.fill(block);                       // or engine() for one number
//
// One engine's numbers depend on each other, so that a processor waits for most of the 0.7 ns that
// each takes. Eight engines fill one AVX-512 vector, or two of AVX2, at about 0.1 ns a number.
//
// Number i of the stream is number i / 8 of lane i % 8. Lane 0 is xoshiro256pp(seed), and each lane
// is the one before it jumped ahead by 2^128 numbers (Blackman and Vigna 2021, section 10.2, and
// their reference program's `jump`). All lanes are thus parts of the one period of 2^256 - 1
// numbers, and no two of a stream meet before 2^128 numbers are drawn from each.
//
// Whatever the instructions, the stream is the same, and so it is however it is divided into calls.

#ifndef ASSAY_RANDOM_XOSHIRO256PP_LANES_H_
#define ASSAY_RANDOM_XOSHIRO256PP_LANES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "assay/base/instruction_set.h"
#include "assay/random/draws_64_bits.h"
#include "assay/random/xoshiro256pp.h"

namespace assay::random {

class xoshiro256pp_lanes : public draws_64_bits {
 public:
  static constexpr std::string_view name = "xoshiro256pp";
  static constexpr std::string_view description = "xoshiro256++ 1.0 in eight interleaved lanes";
  static constexpr std::string_view source = "Blackman and Vigna 2021";
  static constexpr int state_bits = 256;  // those of the first lane; the others follow from it

  static constexpr std::size_t lanes = 8;
  // Word w of lane j stands at [w][j].
  using words = std::array<std::array<std::uint64_t, lanes>, 4>;

  explicit xoshiro256pp_lanes(std::uint64_t seed) : xoshiro256pp_lanes(xoshiro256pp(seed)) {}
  // `best` must be one that this processor runs.
  explicit xoshiro256pp_lanes(const xoshiro256pp& first,
                              host::instruction_set best = host::best_instruction_set());

  std::uint64_t operator()() {
    const std::size_t lane = next_;
    next_ = (next_ + 1) % lanes;
    xoshiro256pp engine = at(lane);
    const std::uint64_t number = engine();
    put(lane, engine);
    return number;
  }

  // Replaces `numbers` by the next ones.
  void fill(std::span<std::uint64_t> numbers);

  // The lanes in the order of their next numbers, for a loop that steps all of them at once, as
  // often as it likes, and has everything else inlined.
  [[nodiscard]] words& in_order();

 private:
  [[nodiscard]] xoshiro256pp at(std::size_t lane) const {
    return xoshiro256pp({words_[0][lane], words_[1][lane], words_[2][lane], words_[3][lane]});
  }
  void put(std::size_t lane, const xoshiro256pp& engine) {
    for (std::size_t word = 0; word < 4; ++word) words_[word][lane] = engine.state()[word];
  }

  alignas(64) words words_;
  std::size_t next_ = 0;  // the lane that the next number is from
  void (*fill_)(words& state, std::uint64_t* numbers, std::size_t steps);
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_XOSHIRO256PP_LANES_H_
