// One step of the hash FNV-1a (Fowler, Noll and Vo) used as a generator, as Setbench once did: the
// state, masked by the offset basis, times the prime, is the next state and what is returned.
//
// Kept as a bad example (Kharal and Brown 2022, section 6.2): the basis and the prime
// are odd, so every number is odd whose predecessor was even, and the other way round. Drawing a
// key and then an operation from it gives keys that are all odd or all even. The lowest k bits
// together have a period of at most 2^k.

#ifndef ASSAY_RANDOM_FNV1A_H_
#define ASSAY_RANDOM_FNV1A_H_

#include <cstdint>
#include <string_view>

#include "assay/random/one_word.h"

namespace assay::random {

struct fnv1a_rule {
  static constexpr std::string_view name = "fnv1a";
  static constexpr std::string_view description =
      "FNV-1a of its own last value: a bad example, odd and even in turn";
  static constexpr std::string_view source = "Fowler, Noll and Vo 1991; as in Setbench";

  static constexpr std::uint64_t next(std::uint64_t& state) {
    return state = (state ^ 0xcbf29ce484222325) * 0x100000001b3;
  }
};
using fnv1a = one_word_engine<fnv1a_rule>;

}  // namespace assay::random

#endif  // ASSAY_RANDOM_FNV1A_H_
