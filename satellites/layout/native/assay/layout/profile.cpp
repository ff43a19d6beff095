#include "assay/layout/profile.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

namespace assay::layout {
namespace {

constexpr double least = 0.01;

// a^0 = 1, a^1, ... as long as they are at least 0.01. The margin is for a whose power is 0.01, and
// is computed as a little less.
std::vector<double> powers_of(double a) {
  std::vector<double> powers{1};
  while (powers.back() * a >= least * (1 - 1e-9)) powers.push_back(powers.back() * a);
  return powers;
}

// Sorted by the two procedures. A key has the first one in its higher half.
std::vector<edge> edges_of(const std::unordered_map<std::uint64_t, double>& weights) {
  std::vector<edge> edges;
  edges.reserve(weights.size());
  for (const auto& [pair, weight] : weights) {
    edges.push_back({.a = static_cast<std::uint32_t>(pair >> 32U),
                     .b = static_cast<std::uint32_t>(pair),
                     .weight = weight});
  }
  std::ranges::sort(edges, {}, [](const edge& each) { return std::pair(each.a, each.b); });
  return edges;
}

}  // namespace

std::vector<edge> profile(const trace& recorded, const history& how) {
  const std::vector<double> powers = powers_of(how.a);
  std::unordered_map<std::uint64_t, double> weights;
  std::deque<std::uint32_t> recent;  // the last one first
  std::uint64_t entries = 0;
  std::uint32_t active = ~0U;
  for (const std::uint32_t number : recorded.executed) {
    const std::uint32_t entered = recorded.blocks[number].procedure;
    if (entered == active || !recorded.procedures[entered].movable) continue;
    active = entered;
    if (how.sampled.counts(entries++)) {
      for (std::size_t n = 0; n < recent.size(); ++n) {
        if (recent[n] == entered) continue;
        const auto [a, b] = std::minmax(recent[n], entered);
        weights[std::uint64_t{a} << 32U | b] += powers[n];
      }
    }
    if (how.distinct) std::erase(recent, entered);
    recent.push_front(entered);
    if (recent.size() > powers.size()) recent.pop_back();
  }
  return edges_of(weights);
}

std::vector<std::uint32_t> executed_procedures(const trace& recorded) {
  std::vector<char> is_executed(recorded.procedures.size());
  for (const std::uint32_t number : recorded.executed) {
    is_executed[recorded.blocks[number].procedure] = 1;
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < is_executed.size(); ++i) {
    if (is_executed[i] != 0 && recorded.procedures[i].movable) found.push_back(i);
  }
  return found;
}

std::vector<edge> calls(const trace& recorded) {
  std::unordered_map<std::uint64_t, double> counts;
  std::uint32_t active = ~0U;
  for (const std::uint32_t number : recorded.executed) {
    const block& here = recorded.blocks[number];
    if (here.procedure == active || !recorded.procedures[here.procedure].movable) continue;
    const std::uint32_t before = std::exchange(active, here.procedure);
    if (here.offset == 0 && before != ~0U) {
      ++counts[std::uint64_t{before} << 32U | here.procedure];
    }
  }
  return edges_of(counts);
}

}  // namespace assay::layout
