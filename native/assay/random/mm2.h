// MurmurHash64A (Appleby, MurmurHash2) used as a generator: the state is the hash of the eight
// bytes of the last state, with a hash seed of 0, and is what is returned. The hash of eight bytes
// is a bijection, so states repeat only after a whole cycle, whose length depends on the seed:
// of a random bijection it would be any number up to 2^64 with the same probability.

#ifndef ASSAY_RANDOM_MM2_H_
#define ASSAY_RANDOM_MM2_H_

#include <cstdint>
#include <string_view>

#include "assay/random/one_word.h"

namespace assay::random {

struct mm2_rule {
  static constexpr std::string_view name = "mm2";
  static constexpr std::string_view description = "MurmurHash64A of its own last value";
  static constexpr std::string_view source = "Appleby 2008";

  static constexpr std::uint64_t next(std::uint64_t& state) {
    constexpr std::uint64_t m = 0xc6a4a7935bd1e995;
    constexpr std::uint64_t hash_of_length = 8 * m;
    std::uint64_t block = state * m;
    block = (block ^ (block >> 47)) * m;
    std::uint64_t hash = (hash_of_length ^ block) * m;
    hash = (hash ^ (hash >> 47)) * m;
    return state = hash ^ (hash >> 47);
  }
};
using mm2 = one_word_engine<mm2_rule>;

}  // namespace assay::random

#endif  // ASSAY_RANDOM_MM2_H_
