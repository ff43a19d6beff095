// splitmix64 (Steele, Lea and Flood 2014; constants of Vigna's reference code): a counter and a
// finaliser. It turns seeds into states and derives seeds from seeds; it is not what draws a
// trial's operations.
//
//     const std::uint64_t of_thread = assay::random::derive_seed(seed, thread_index);
//     assay::random::splitmix64 fill(of_thread);
//     state[0] = fill(), state[1] = fill();
//
// An object belongs to one thread at a time. Nothing here allocates, waits or throws.

#ifndef ASSAY_RANDOM_SPLITMIX64_H_
#define ASSAY_RANDOM_SPLITMIX64_H_

#include <cstdint>

namespace assay::random {

inline constexpr std::uint64_t golden_gamma =
    0x9e3779b97f4a7c15;  // 2^64 over the golden ratio, odd

// A bijection of 64-bit numbers in which every bit of the answer depends on every bit of `x`.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class splitmix64 {
 public:
  using result_type = std::uint64_t;

  explicit constexpr splitmix64(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t operator()() { return mix64(state_ += golden_gamma); }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }

 private:
  std::uint64_t state_;
};

// The seed numbered `stream` of those derived from `seed`. For one seed all streams differ, because
// every step is a bijection of `stream`; those of neighbouring seeds are unrelated, because `seed`
// is mixed first.
[[nodiscard]] constexpr std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t stream) {
  return mix64(mix64(seed + golden_gamma) + (stream + 1) * golden_gamma);
}

}  // namespace assay::random

#endif  // ASSAY_RANDOM_SPLITMIX64_H_
