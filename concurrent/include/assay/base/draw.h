// Random numbers that a structure draws for its own decisions, such as the height of a node.
//
//     assay::detail::random_draws draws(seed);   // the seed comes from the structure's owner
//     const std::uint64_t number = draws();
//
// The numbers are those of splitmix64 (Steele, Lea and Flood 2014): equal seeds give equal numbers.
// Whoever sees a few of them can tell the others. An object belongs to one thread at a time. No
// call allocates, waits or throws.

#ifndef ASSAY_BASE_DRAW_H_
#define ASSAY_BASE_DRAW_H_

#include <cstdint>

namespace assay::detail {

class random_draws {
 public:
  explicit constexpr random_draws(std::uint64_t seed) noexcept : state_(seed) {}

  // The next number, any of 64 bits. Wait-free; a few cycles.
  constexpr std::uint64_t operator()() noexcept {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace assay::detail

#endif  // ASSAY_BASE_DRAW_H_
