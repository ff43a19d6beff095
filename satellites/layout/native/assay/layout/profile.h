// How often procedures run soon after each other: the weights by which layouts are made better.

#ifndef ASSAY_LAYOUT_PROFILE_H_
#define ASSAY_LAYOUT_PROFILE_H_

#include <cstdint>
#include <vector>

#include "assay/layout/trace.h"

namespace assay::layout {

struct edge {
  std::uint32_t a = 0;  // procedures; a < b where there is no direction
  std::uint32_t b = 0;
  double weight = 0;
};

struct sampling {
  std::uint32_t one_in = 1;  // only every one_in-th execution counts
  std::uint64_t offset = 0;  // the first one that does, below `one_in`

  [[nodiscard]] bool counts(std::uint64_t number) const { return number % one_in == offset; }
};

struct history {
  // For the n-th most recent procedure, a^n is added, as long as that is at least 0.01. 0: the last
  // one alone, as Pettis and Hansen (1990) do. Below 1.
  double a = 0;
  bool distinct = false;  // the same procedure stands in the queue of recent ones only once
  sampling sampled{};     // of entries, which add weight
};

// Each entry into a procedure, by a call, a return or a jump, adds weight to its edges to those
// that were active before (Blackwell 1998, section 4.4). No procedure has an edge to itself. One
// that is not movable, such as a stub of .plt, counts as a part of what called it. In the order of
// a, then of b.
[[nodiscard]] std::vector<edge> profile(const trace& recorded, const history& how);

// Those movable procedures that were executed, in the order of addresses.
[[nodiscard]] std::vector<std::uint32_t> executed_procedures(const trace& recorded);

// How often `a` called or jumped to the begin of `b`, in the same order.
[[nodiscard]] std::vector<edge> calls(const trace& recorded);

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_PROFILE_H_
