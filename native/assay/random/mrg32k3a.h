// MRG32k3a (L'Ecuyer 1999, "Good parameters and implementations for combined multiple recursive
// random number generators"): two linear recurrences of three terms, modulo two primes just below
// 2^32, whose difference modulo the first is drawn. The highest 209 of the numbers of 32 bits are
// thus never drawn, which favours all others by one in 2 * 10^7. Its period is about 2^191.

#ifndef ASSAY_RANDOM_MRG32K3A_H_
#define ASSAY_RANDOM_MRG32K3A_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::random {

class mrg32k3a {
 public:
  using result_type = std::uint64_t;

  static constexpr std::string_view name = "mrg32k3a";
  static constexpr std::string_view description = "two linear recurrences modulo primes, combined";
  static constexpr std::string_view source = "L'Ecuyer 1999";
  static constexpr int state_bits = 192;
  static constexpr int bits = 32;

  // Each term is a number of splitmix64 modulo its prime. Three terms of zero would be stuck; the
  // first of them becomes one.
  explicit constexpr mrg32k3a(std::uint64_t seed) {
    splitmix64 fill(seed);
    for (auto& term : first_) term = fill() % first_prime;
    for (auto& term : second_) term = fill() % second_prime;
    if (first_ == terms{}) first_[0] = 1;
    if (second_ == terms{}) second_[0] = 1;
  }
  // From the last three terms of each recurrence, the oldest first, not all zero.
  using terms = std::array<std::uint64_t, 3>;
  constexpr mrg32k3a(const terms& first, const terms& second) : first_(first), second_(second) {}

  constexpr std::uint64_t operator()() {
    // The negative coefficients multiply negated terms: no sum exceeds 2^54.
    const std::uint64_t x =
        (1403580 * first_[1] + 810728 * (first_prime - first_[0])) % first_prime;
    const std::uint64_t y =
        (527612 * second_[2] + 1370589 * (second_prime - second_[0])) % second_prime;
    first_ = {first_[1], first_[2], x};
    second_ = {second_[1], second_[2], y};
    return x >= y ? x - y : x - y + first_prime;
  }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return first_prime - 1; }

 private:
  static constexpr std::uint64_t first_prime = (std::uint64_t{1} << 32) - 209;
  static constexpr std::uint64_t second_prime = (std::uint64_t{1} << 32) - 22853;

  terms first_{};
  terms second_{};
};

}  // namespace assay::random

#endif  // ASSAY_RANDOM_MRG32K3A_H_
