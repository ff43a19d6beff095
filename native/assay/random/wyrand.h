// wyrand (Wang Yi, wyhash, version 3): a counter whose value is multiplied by a masked copy of
// itself, and the halves of the product folded. All its streams are parts of one cycle of 2^64
// numbers.

#ifndef ASSAY_RANDOM_WYRAND_H_
#define ASSAY_RANDOM_WYRAND_H_

#include <cstdint>
#include <string_view>

#include "assay/random/one_word.h"

namespace assay::random {

struct wyrand_rule {
  static constexpr std::string_view name = "wyrand";
  static constexpr std::string_view description = "wyrand of wyhash 3, a counter and a product";
  static constexpr std::string_view source = "Wang Yi 2019";

  static constexpr std::uint64_t next(std::uint64_t& state) {
    __extension__ using uint128 = unsigned __int128;
    state += 0xa0761d6478bd642f;
    const uint128 product = static_cast<uint128>(state) * (state ^ 0xe7037ed1a0b428db);
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }
};
using wyrand = one_word_engine<wyrand_rule>;

}  // namespace assay::random

#endif  // ASSAY_RANDOM_WYRAND_H_
