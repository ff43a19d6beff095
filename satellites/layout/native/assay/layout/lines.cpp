#include "assay/layout/lines.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "assay/layout/order.h"

namespace assay::layout {
namespace {

constexpr std::uint32_t no_number = ~0U;

// Calls `use` with the number of each line that is executed after another one. A line is numbered
// by its procedure's first number and its place in it.
template <class Use>
void each_line(const trace& recorded, const std::vector<std::uint32_t>& first, std::uint32_t line,
               const Use& use) {
  std::uint32_t before = no_number;
  for (const std::uint32_t number : recorded.executed) {
    const block& here = recorded.blocks[number];
    if (!recorded.procedures[here.procedure].movable) continue;
    // A block that falls through into the next procedure ends with its own.
    const std::uint32_t end = std::min(here.offset + std::max<std::uint32_t>(here.bytes, 1),
                                       std::max(recorded.procedures[here.procedure].bytes, 1U));
    const std::uint32_t last = (end - 1) / line;
    for (std::uint32_t at = here.offset / line; at <= last; ++at) {
      const std::uint32_t found = first[here.procedure] + at;
      if (found == before) continue;
      before = found;
      use(found);
    }
  }
}

}  // namespace

line_profile profile_lines(const trace& recorded, const cache_shape& cache, const sampling& how) {
  std::vector<std::uint32_t> first;
  std::vector<code_line> all;
  for (std::uint32_t i = 0; i < recorded.procedures.size(); ++i) {
    first.push_back(static_cast<std::uint32_t>(all.size()));
    for (std::uint32_t at = 0; at <= recorded.procedures[i].bytes / cache.line; ++at) {
      all.push_back({.procedure = i, .number = at});
    }
  }
  std::vector<std::uint64_t> executed(all.size());
  std::uint64_t executions = 0;
  each_line(recorded, first, cache.line, [&](std::uint32_t line) {
    if (how.counts(executions++)) ++executed[line];
  });
  std::vector<std::uint32_t> often(all.size());
  std::iota(often.begin(), often.end(), 0);
  std::ranges::sort(often, [&](std::uint32_t one, std::uint32_t other) {
    return std::pair(executed[other], one) < std::pair(executed[one], other);
  });
  std::erase_if(often, [&](std::uint32_t line) { return executed[line] == 0; });
  often.resize(std::min(often.size(), most_lines));

  line_profile found;
  found.executed = executed_procedures(recorded);
  std::vector<std::uint32_t> number(all.size(), no_number);
  for (const std::uint32_t line : often) {
    number[line] = static_cast<std::uint32_t>(found.lines.size());
    found.lines.push_back(all[line]);
  }
  const std::size_t size = found.lines.size();
  std::vector<std::uint32_t> between(size * size);  // times that one came between two of another
  const std::size_t most = std::size_t{2} * cache.bytes / cache.line;
  std::vector<std::uint16_t> recent;  // the last one at the end
  recent.reserve(most + 1);
  executions = 0;
  each_line(recorded, first, cache.line, [&](std::uint32_t line) {
    const bool counts = how.counts(executions++);
    const std::uint32_t here = number[line];
    if (here == no_number) return;
    std::size_t before = recent.size();
    while (before != 0 && recent[before - 1] != here) --before;
    if (before != 0) {
      for (std::size_t at = before; counts && at < recent.size(); ++at) {
        ++between[here * size + recent[at]];
      }
      recent.erase(recent.begin() + static_cast<std::ptrdiff_t>(before) - 1);
    } else if (recent.size() == most) {
      recent.erase(recent.begin());
    }
    recent.push_back(static_cast<std::uint16_t>(here));
  });
  for (std::uint32_t a = 0; a < size; ++a) {
    for (std::uint32_t b = a + 1; b < size; ++b) {
      const std::uint64_t both = std::uint64_t{between[a * size + b]} + between[b * size + a];
      if (both != 0) found.edges.push_back({.a = a, .b = b, .weight = static_cast<double>(both)});
    }
  }
  return found;
}

addresses by_lines(const trace& recorded, const line_profile& profile, const cache_shape& cache,
                   double r, const random::decisions& drawn) {
  const std::uint64_t sets = cache.sets();
  const auto name = [&](std::uint32_t line) {
    const code_line& here = profile.lines[line];
    return recorded.procedures[here.procedure].name + ":" + std::to_string(here.number);
  };
  std::vector<std::vector<std::uint32_t>> lines(recorded.procedures.size());
  for (std::uint32_t i = 0; i < profile.lines.size(); ++i) {
    lines[profile.lines[i].procedure].push_back(i);
  }
  std::vector<std::vector<edge>> neighbours(profile.lines.size());
  std::vector<double> weight(recorded.procedures.size());
  for (edge each : profile.edges) {
    const std::uint32_t one = profile.lines[each.a].procedure;
    const std::uint32_t other = profile.lines[each.b].procedure;
    if (one == other) continue;  // their distance is the same wherever the procedure is
    if (r != 0) {
      each.weight =
          drawn.named("weight of " + name(each.a) + " and " + name(each.b)).noisy(each.weight, r);
    }
    neighbours[each.a].push_back(each);
    neighbours[each.b].push_back({.a = each.b, .b = each.a, .weight = each.weight});
    weight[one] += each.weight;
    weight[other] += each.weight;
  }
  order procedures;
  for (std::uint32_t i = 0; i < lines.size(); ++i) {
    if (weight[i] > 0) procedures.push_back(i);
  }
  std::ranges::sort(procedures, [&](std::uint32_t one, std::uint32_t other) {
    return std::pair(weight[other], one) < std::pair(weight[one], other);
  });

  constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  std::vector<std::uint64_t> begin(recorded.procedures.size(), nowhere);
  random::decision place = drawn.named("which of equal sets");
  // Says whether it moves.
  const auto put = [&](std::uint32_t procedure) {
    std::vector<double> cost(sets);  // of each set to begin with
    double sum = 0;
    for (const std::uint32_t line : lines[procedure]) {
      for (const edge& to : neighbours[line]) {
        const code_line& other = profile.lines[to.b];
        if (begin[other.procedure] == nowhere) continue;
        const std::uint64_t set = begin[other.procedure] + other.number;
        cost[(set + sets - profile.lines[line].number % sets) % sets] += to.weight;
        sum += to.weight;
      }
    }
    const double least = *std::ranges::min_element(cost) + 1e-9 * sum;
    std::uint64_t& here = begin[procedure];
    if (here != nowhere && cost[here] <= least) return false;
    std::vector<std::uint64_t> equal;
    for (std::uint64_t set = 0; set < sets; ++set) {
      if (cost[set] <= least) equal.push_back(set);
    }
    here = equal[place.choose(equal.size())];
    return true;
  };
  for (const std::uint32_t each : procedures) put(each);
  random::decision turn = drawn.named("which procedure is placed anew");
  constexpr int most_rounds = 100;  // it takes some ten
  bool moved = true;
  for (int round = 0; moved && round < most_rounds; ++round) {
    moved = false;
    shuffle(procedures, turn);
    for (const std::uint32_t each : procedures) moved = put(each) || moved;
  }
  std::vector<begin_at> placed;
  std::vector<char> has_place(recorded.procedures.size());
  for (const std::uint32_t each : procedures) {
    placed.push_back({.procedure = each, .set = begin[each]});
    has_place[each] = 1;
  }
  // What is executed seldom comes next, so that all that is executed is together in larger caches.
  order seldom = profile.executed;
  std::erase_if(seldom, [&](std::uint32_t each) { return has_place[each] != 0; });
  return with_gaps(recorded, placed, seldom, cache, drawn);
}

}  // namespace assay::layout
