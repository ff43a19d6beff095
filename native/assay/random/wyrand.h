// wyrand (Wang Yi, wyhash, version 3): a counter whose value is multiplied by a masked copy of
// itself, and the halves of the product folded. All its streams are parts of one cycle of 2^64
// numbers.

#ifndef ASSAY_RANDOM_WYRAND_H_
#define ASSAY_RANDOM_WYRAND_H_

#include <cstdint>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::random {

class wyrand {
 public:
  using result_type = std::uint64_t;

  static constexpr std::string_view name = "wyrand";
  static constexpr std::string_view description = "wyrand of wyhash 3, a counter and a product";
  static constexpr std::string_view source = "Wang Yi 2019";
  static constexpr int state_bits = 64;
  static constexpr int bits = 64;

  explicit constexpr wyrand(std::uint64_t seed) : state_(splitmix64(seed)()) {}
  static constexpr wyrand from_state(std::uint64_t state) {
    wyrand made(0);
    made.state_ = state;
    return made;
  }

  constexpr std::uint64_t operator()() {
    __extension__ using uint128 = unsigned __int128;
    state_ += 0xa0761d6478bd642f;
    const uint128 product = static_cast<uint128>(state_) * (state_ ^ 0xe7037ed1a0b428db);
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }

 private:
  std::uint64_t state_;
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_WYRAND_H_
