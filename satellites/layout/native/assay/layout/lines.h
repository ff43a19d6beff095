// Places for procedures by which lines of them are executed in turn, after Gloy et al. 1997: finer
// than by procedures, of which a large one may use a few lines only.

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

// A line of the cache, if its procedure begins with one.
struct code_line {
  std::uint32_t procedure = 0;
  std::uint32_t number = 0;  // from the begin of the procedure
};

struct line_profile {
  std::vector<code_line> lines;
  std::vector<edge> edges;  // between lines, by their index; a < b
};

// The weight of two lines is how often one was executed between two executions of the other one:
// the misses that a direct-mapped cache has if both are in one set and nothing else is. Counted are
// the `most_lines` lines that are executed most often, and executions with at most twice as many
// lines between them as the cache has.
inline constexpr std::size_t most_lines = 4096;
// Of these, only every one_in-th counts, from `offset` on, as a sampling profiler would see them.
[[nodiscard]] line_profile profile_lines(const trace& recorded, const cache_shape& cache,
                                         const sampling& how = {});

// Gives each procedure with lines in the profile the set to begin with in which it adds least to
// the sum of weights of lines that share a set, those with the most weight first; then each anew,
// beside all others, until none moves. Procedures stand in memory so that gaps are small. Those
// without lines come last, as they were linked: if another input executes them, what is near is
// what runs with them. Drawn: e^(rZ) for each weight (equation 1 of Blackwell 1998), which of equal
// sets, and in which order procedures are placed anew.
[[nodiscard]] addresses by_lines(const trace& recorded, const line_profile& profile,
                                 const cache_shape& cache, double r,
                                 const random::decisions& drawn);

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_LINES_H_
