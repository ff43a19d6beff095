// What a processor does in one way only: computes, waits for memory, divides, misses its TLB. A
// program is a mixture of them, and how the time of each changes with the frequency tells what a
// model of time gets right (Bonnichsen 2016, sections 3.1.2 and 3.1.2.1).
//
// Each `run` does `units` of what its fixture is about, so that microseconds of a run are
// nanoseconds of a unit.

#ifndef ASSAY_PROGRAMS_MICROBENCHMARKS_H_
#define ASSAY_PROGRAMS_MICROBENCHMARKS_H_

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "assay/fixture/fixture.h"
#include "assay/fixture/keep.h"
#include "assay/random/splitmix64.h"

namespace assay::microbenchmarks {

inline constexpr std::size_t units = 1000;

// Listing 3.2 (a): a counter in memory, which is read and written for each step.
class volatile_counter {
 public:
  void run() {
    for (std::size_t i = 0; i < units; ++i) counter_ = counter_ + 1;
  }
  [[nodiscard]] std::uint64_t counter() const { return counter_; }

 private:
  volatile std::uint64_t counter_ = 0;
};

inline constexpr std::size_t stride = 256;  // bytes

// Listing 3.2 (b): what is read says where to read next, so that no read begins before the one
// before it has ended. Independent reads (section 3.1.2.1) are at places that are known before: the
// processor waits for several at once.
template <bool Dependent>
class reads {
 public:
  explicit reads(const fixture::setup& given) : reads(std::vector<char>(given.size, 1)) {}
  // Each is how many strides it is from there to the next, at most as many as there are bytes.
  explicit reads(std::vector<char> bytes) : bytes_(std::move(bytes)) {
    if (bytes_.size() < stride) throw std::invalid_argument("size: must be at least 256 bytes");
  }

  void run() {
    char* const bytes = bytes_.data();
    const std::size_t size = bytes_.size();
    std::size_t at = at_;
    for (std::size_t i = 0; i < units; ++i) {
      const char step = bytes[at];
      bytes[at] = static_cast<char>(step * step);
      at += (Dependent ? static_cast<std::size_t>(step) : 1) * stride;
      if (at >= size) at -= size;
    }
    at_ = at;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

// A branch for each bit of a number. Random ones are guessed wrongly every second time; alternating
// ones are learnt.
template <bool Random>
class branches {
 public:
  explicit branches(const fixture::setup& given) : draw_(given.seed) {}

  void run() {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < units; ++i) {
      if (i % 64 == 0) bits = Random ? draw_() : 0x5555'5555'5555'5555;
      if (bits & 1) {
        asm volatile("" : "+r"(taken_));  // not to be made a conditional move
        ++taken_;
      }
      bits >>= 1;
    }
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  random::splitmix64 draw_;
  std::uint64_t taken_ = 0;
};

}  // namespace assay::microbenchmarks

#endif  // ASSAY_PROGRAMS_MICROBENCHMARKS_H_
