#include "assay/layout/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace assay::layout {
namespace {

// The lines of the first cache that a block lies in.
struct span {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

std::vector<span> spans_of(const trace& recorded, const addresses& where, std::uint32_t line,
                           double expansion) {
  const std::uint64_t base = where.empty() ? 0 : *std::ranges::min_element(where);
  const auto moved = [&](std::uint64_t address) {
    if (expansion == 1) return address;
    const double distance = static_cast<double>(address - base) * expansion;
    return base + static_cast<std::uint64_t>(std::floor(distance));
  };
  std::vector<span> spans;
  spans.reserve(recorded.blocks.size());
  for (const block& each : recorded.blocks) {
    const std::uint64_t begin = where[each.procedure] + each.offset;
    const std::uint64_t first = moved(begin);
    // The last byte moves as the first one does.
    const std::uint64_t last = std::max(first, moved(begin + each.bytes - 1));
    spans.push_back({.first = first / line, .last = last / line});
  }
  return spans;
}

// Calls `access(number, block, line)` for each line that is accessed after another one.
template <class Access>
void each_access(const trace& recorded, const std::vector<span>& spans, const Access& access) {
  std::uint64_t before = no_line;
  for (const std::uint32_t number : recorded.executed) {
    const span& at = spans[number];
    for (std::uint64_t line = at.first; line <= at.last; ++line) {
      if (line == before) continue;
      before = line;
      access(number, line);
    }
  }
}

// Calls `use` with a cache of this shape, of the kind that is quickest.
template <class Use>
auto with_cache(const cache_shape& shape, std::uint64_t seed, const Use& use) {
  if (shape.ways == 1) {
    direct_mapped cache(shape);
    return use(cache);
  }
  set_associative cache(shape, seed);
  return use(cache);
}

}  // namespace

misses replay(const trace& recorded, const addresses& where, const hierarchy& caches,
              double expansion) {
  const std::vector<span> spans = spans_of(recorded, where, caches.first.line, expansion);
  // A line of the second cache is as long, or several of the first.
  const int shift = std::countr_zero(caches.second.line) - std::countr_zero(caches.first.line);
  return with_cache(caches.first, caches.seed, [&](auto& first) {
    return with_cache(caches.second, caches.seed + 1, [&](auto& second) {
      misses counted;
      each_access(recorded, spans, [&](std::uint32_t /*number*/, std::uint64_t line) {
        if (first.take(line) == line) return;
        ++counted.first;
        const std::uint64_t wide = line >> shift;
        if (second.take(wide) != wide) ++counted.second;
      });
      return counted;
    });
  });
}

std::vector<conflict> conflicts(const trace& recorded, const addresses& where,
                                const hierarchy& caches, double expansion) {
  const std::vector<span> spans = spans_of(recorded, where, caches.first.line, expansion);
  std::unordered_map<std::uint64_t, std::uint32_t> taker;  // of each line that was driven out
  std::unordered_map<std::uint64_t, std::uint64_t> times;  // by both procedures
  with_cache(caches.first, caches.seed, [&](auto& cache) {
    each_access(recorded, spans, [&](std::uint32_t number, std::uint64_t line) {
      const std::uint64_t gone = cache.take(line);
      if (gone == line) return;
      const std::uint32_t here = recorded.blocks[number].procedure;
      if (gone != no_line) taker[gone] = here;
      if (const auto found = taker.find(line); found != taker.end()) {
        ++times[std::uint64_t{here} << 32U | found->second];
      }
    });
    return 0;
  });
  std::vector<conflict> all;
  for (const auto& [pair, count] : times) {
    all.push_back({.missed = static_cast<std::uint32_t>(pair >> 32U),
                   .taken_by = static_cast<std::uint32_t>(pair),
                   .times = count});
  }
  std::ranges::sort(all, std::ranges::greater{}, [](const conflict& each) {
    return std::tuple(each.times, ~each.missed, ~each.taken_by);
  });
  return all;
}

std::vector<set_use> uses_of_sets(const trace& recorded, const addresses& where,
                                  const hierarchy& caches, double expansion) {
  const std::vector<span> spans = spans_of(recorded, where, caches.first.line, expansion);
  const std::uint64_t sets = caches.first.sets();
  std::unordered_map<std::uint64_t, set_use> uses;  // by procedure and set
  with_cache(caches.first, caches.seed, [&](auto& cache) {
    each_access(recorded, spans, [&](std::uint32_t number, std::uint64_t line) {
      const std::uint32_t procedure = recorded.blocks[number].procedure;
      const auto set = static_cast<std::uint32_t>(line & (sets - 1));
      set_use& use = uses[procedure * sets + set];
      use.procedure = procedure;
      use.set = set;
      ++use.accesses;
      if (cache.take(line) != line) ++use.misses;
    });
    return 0;
  });
  std::vector<set_use> all;
  for (const auto& [place, use] : uses) all.push_back(use);
  std::ranges::sort(all, {},
                    [](const set_use& each) { return std::pair(each.procedure, each.set); });
  return all;
}

}  // namespace assay::layout
