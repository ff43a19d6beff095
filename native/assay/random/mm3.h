// MurmurHash3_x64_128 (Appleby) used as a generator: the state is the low word of the hash of the
// eight bytes of the last state, with a hash seed of 0, and is what is returned. That word is not a
// bijection of the state: as with any random function of 64 bits, two streams can run into one, and
// a stream repeats after some 5 * 10^9 numbers (sqrt(pi * 2^64 / 2); Flajolet and Odlyzko 1990),
// which a thread may well draw in a trial.

#ifndef ASSAY_RANDOM_MM3_H_
#define ASSAY_RANDOM_MM3_H_

#include <bit>
#include <cstdint>
#include <string_view>

#include "assay/random/one_word.h"

namespace assay::random {

struct mm3_rule {
  static constexpr std::string_view name = "mm3";
  static constexpr std::string_view description =
      "the low word of MurmurHash3_x64_128 of its own last value";
  static constexpr std::string_view source = "Appleby 2011";

  static constexpr std::uint64_t next(std::uint64_t& state) {
    constexpr std::uint64_t length = 8;
    const std::uint64_t block = std::rotl(state * 0x87c37b91114253d5, 31) * 0x4cf5ad432745937f;
    const std::uint64_t low = (block ^ length) + length;
    const std::uint64_t high = length + low;
    return state = finalised(low) + finalised(high);
  }

 private:
  static constexpr std::uint64_t finalised(std::uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
    return x ^ (x >> 33);
  }
};
using mm3 = one_word_engine<mm3_rule>;

}  // namespace assay::random

#endif  // ASSAY_RANDOM_MM3_H_
