// Simulated caches of instructions. They hold the numbers of lines, and no data.

#ifndef ASSAY_LAYOUT_CACHE_H_
#define ASSAY_LAYOUT_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "assay/random/splitmix64.h"

namespace assay::layout {

enum class replacement : std::uint8_t { least_recent, random };

// All of them powers of two; at least one set.
struct cache_shape {
  std::uint32_t bytes = 8192;  // the Alpha 21064's, as in Blackwell 1998, section 4.2
  std::uint32_t ways = 1;
  std::uint32_t line = 32;  // bytes
  replacement policy = replacement::least_recent;

  [[nodiscard]] std::uint32_t sets() const { return bytes / line / ways; }
};

inline constexpr std::uint64_t no_line = ~std::uint64_t{0};

// Both caches: takes a line's number, and returns which line it drives out: itself if it was there,
// no_line if there was room.
class direct_mapped {
 public:
  explicit direct_mapped(const cache_shape& shape, std::uint64_t /*seed*/ = 0)
      : lines_(shape.sets(), no_line), mask_(shape.sets() - 1) {}

  std::uint64_t take(std::uint64_t line) {
    std::uint64_t& place = lines_[line & mask_];
    const std::uint64_t before = place;
    place = line;
    return before;
  }

 private:
  std::vector<std::uint64_t> lines_;
  std::uint64_t mask_;
};

class set_associative {
 public:
  explicit set_associative(const cache_shape& shape, std::uint64_t seed = 0)
      : lines_(std::size_t{shape.sets()} * shape.ways, no_line),
        ways_(shape.ways),
        mask_(shape.sets() - 1),
        at_random_(shape.policy == replacement::random),
        draw_(seed) {}

  std::uint64_t take(std::uint64_t line) {
    // The line that was used last comes first.
    const auto set = std::span(lines_).subspan((line & mask_) * ways_, ways_);
    auto at = std::ranges::find(set, line);
    if (at == set.end()) {
      at = std::ranges::find(set, no_line);
      if (at == set.end()) at = at_random_ ? set.begin() + draw() : set.end() - 1;
    }
    const std::uint64_t before = *at;
    std::shift_right(set.begin(), at + 1, 1);
    set.front() = line;
    return before;
  }

 private:
  // A way. There are so few that what is left over of 2^64 does not count.
  std::ptrdiff_t draw() { return static_cast<std::ptrdiff_t>(draw_() % ways_); }

  std::vector<std::uint64_t> lines_;
  std::uint32_t ways_;
  std::uint64_t mask_;
  bool at_random_;
  random::splitmix64 draw_;
};

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_CACHE_H_
