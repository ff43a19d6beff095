// Engines whose whole state is one word of 64 bits. They differ in one expression, their rule: how
// the next number and the next state come from the state.
//
//     struct doubling {
//       static constexpr std::string_view name = "doubling";
//       static constexpr std::string_view description = "twice its last value: a bad example";
//       static constexpr std::string_view source = "here";
//       static constexpr std::uint64_t next(std::uint64_t& state) { return state *= 2; }
//     };
//     one_word_engine<doubling> engine(seed);
//     engine();                                // the next number
//
// Their streams are parts of a few cycles of at most 2^64 numbers; engine.h says what follows.

#ifndef ASSAY_RANDOM_ONE_WORD_H_
#define ASSAY_RANDOM_ONE_WORD_H_

#include <cstdint>

#include "assay/random/draws_64_bits.h"
#include "assay/random/splitmix64.h"

namespace assay::random {

// An engine belongs to one thread at a time.
template <class Rule>
class one_word_engine : public Rule, public draws_64_bits {
 public:
  static constexpr int state_bits = 64;

  // The state is the first number of splitmix64, or, by a rule on which a state of zero would be
  // stuck, the first that is not zero.
  explicit constexpr one_word_engine(std::uint64_t seed) {
    splitmix64 fill(seed);
    state_ = fill();
    if constexpr (requires { Rule::zero_is_stuck; }) {
      while (state_ == 0) state_ = fill();
    }
  }
  static constexpr one_word_engine from_state(std::uint64_t state) {
    one_word_engine made(0);
    made.state_ = state;
    return made;
  }

  constexpr std::uint64_t operator()() { return Rule::next(state_); }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_ONE_WORD_H_
