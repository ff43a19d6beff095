// What all engines have in common whose numbers have 64 bits, as the standard library and the
// concept `engine` ask for it.
//
//     class my_engine : public assay::random::draws_64_bits {
//      public:
//       explicit my_engine(std::uint64_t seed);
//       std::uint64_t operator()();
//       ...                                      // what engine.h asks for
//     };
//     std::uniform_int_distribution<int> die(1, 6);
//     die(engine);

#ifndef ASSAY_RANDOM_DRAWS_64_BITS_H_
#define ASSAY_RANDOM_DRAWS_64_BITS_H_

#include <cstdint>

namespace assay::random {

struct draws_64_bits {
  using result_type = std::uint64_t;
  static constexpr int bits = 64;
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_DRAWS_64_BITS_H_
