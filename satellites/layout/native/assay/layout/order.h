// Where procedures are put: at random, or by an optimiser. Where that has no reason to prefer one
// choice to another, the choice is drawn (Blackwell 1998, sections 4.4 and 4.5).

#ifndef ASSAY_LAYOUT_ORDER_H_
#define ASSAY_LAYOUT_ORDER_H_

#include <cstdint>
#include <vector>

#include "assay/layout/cache.h"
#include "assay/layout/profile.h"
#include "assay/layout/replay.h"
#include "assay/layout/trace.h"
#include "assay/random/decision.h"

namespace assay::layout {

using order = std::vector<std::uint32_t>;  // those procedures that are movable, each once

// As compilers align functions of x86-64.
inline constexpr std::uint64_t alignment = 16;

// Any order, each as likely; nothing moves if nothing is drawn.
void shuffle(order& all, random::decision& drawn);

// One after the other, each aligned, and what is not movable after them.
[[nodiscard]] addresses in_order(const trace& recorded, const order& all);
// As the program was linked.
[[nodiscard]] addresses as_linked(const trace& recorded);

// Any order, each as likely.
[[nodiscard]] order permuted(const trace& recorded, const random::decisions& drawn);
// In any order and with gaps, so that each procedure begins anywhere in both caches, independently
// of all others: "an independently randomly chosen address" (section 4.5).
[[nodiscard]] addresses scattered(const trace& recorded, const hierarchy& caches,
                                  const random::decisions& drawn);

// The weights w e^(rZ), Z standard normal and drawn for each edge (equation 1).
[[nodiscard]] std::vector<edge> noisy(const trace& recorded, std::vector<edge> edges, double r,
                                      const random::decisions& drawn);

// Pettis and Hansen 1990: the two chains of procedures with the heaviest edge between them become
// one, again and again. Of the four ways to join them, the one in which the sum of weights times
// distances of the edges between them is least. Drawn: which of equal edges, which of equal ways,
// the order of the chains that are left and which way round each stands, and the order of what was
// not executed, which comes last.
[[nodiscard]] order pettis_hansen(const trace& recorded, const std::vector<edge>& edges,
                                  const random::decisions& drawn);

// Blackwell 1998, section 4.4. Again and again, takes the heaviest edge with a procedure that has
// no place yet. Places it where it shares no set of the cache with the other one and conflicts
// least with all that have a place, by the sum of weights; if there is no such place, where it
// conflicts least. Drawn: which of equal edges comes first, which of its procedures if both have no
// place, and which of equal places. Procedures without an edge fill the gaps, in drawn order.
[[nodiscard]] addresses without_conflicts(const trace& recorded, const std::vector<edge>& edges,
                                          const cache_shape& cache, const random::decisions& drawn);

// Puts procedures where each begins with its set of the cache, and gaps are small: next comes the
// one that needs the least gap, one of these at random. Others fill the gaps, or come last.
struct begin_at {
  std::uint32_t procedure = 0;
  std::uint64_t set = 0;
};
[[nodiscard]] addresses with_gaps(const trace& recorded, const std::vector<begin_at>& placed,
                                  const order& fillers, const cache_shape& cache,
                                  const random::decisions& drawn);

// The order in which procedures stand.
[[nodiscard]] order order_of(const addresses& where);

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_ORDER_H_
