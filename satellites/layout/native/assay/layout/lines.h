// Places procedures by which of their lines are executed in turn, after Gloy et al. 1997. A large
// procedure may execute only a few of its lines, which weights of whole procedures do not show.

#ifndef ASSAY_LAYOUT_LINES_H_
#define ASSAY_LAYOUT_LINES_H_

#include <cstdint>
#include <vector>

#include "assay/layout/cache.h"
#include "assay/layout/profile.h"
#include "assay/layout/replay.h"
#include "assay/layout/trace.h"
#include "assay/random/decision.h"

namespace assay::layout {

// A piece of a procedure, as long as a line of the cache and counted from the procedure's begin.
struct code_line {
  std::uint32_t procedure = 0;
  std::uint32_t number = 0;
};

struct line_profile {
  std::vector<code_line> lines;
  std::vector<edge> edges;              // between lines, by their index; a < b
  std::vector<std::uint32_t> executed;  // procedures, as they were linked
};

// The weight of two lines is how often one was executed between two executions of the other one:
// the misses that a direct-mapped cache has if both are in one set and nothing else is. Only the
// `most_lines` lines that are executed most often count, and only executions with at most twice as
// many lines between them as the cache has. `how`: only every one_in-th execution counts, from
// `offset` on, as a sampling profiler would see them.
inline constexpr std::size_t most_lines = 4096;
[[nodiscard]] line_profile profile_lines(const trace& recorded, const cache_shape& cache,
                                         const sampling& how = {});

// Places procedures one after the other, those with the most weight first. Each begins with the set
// of the cache where its lines conflict least: where the sum of weights of lines in one set grows
// least. Then each is moved to a better set, until no move helps. In memory, gaps are small. What
// is executed without a place fills gaps or comes next. The rest comes last, in the order in which
// it was linked: neighbours in the source are likely to run together, if another input needs them.
// Drawn: e^(rZ) for each weight (equation 1 of Blackwell 1998), which of equal sets, and in which
// order procedures are moved.
[[nodiscard]] addresses by_lines(const trace& recorded, const line_profile& profile,
                                 const cache_shape& cache, double r,
                                 const random::decisions& drawn);

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_LINES_H_
