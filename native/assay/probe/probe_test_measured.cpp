// A function with every probe. The test compiles it with probes, with ASSAY_PROBES=0, and with
// PROBE(...) leaving nothing of the lines that concern probes: the latter two must be the same
// machine code.

#include <cstdint>

#ifdef ABSENT
#define PROBE(...)
#else
#include "assay/probe/probe.h"
#define PROBE(...) __VA_ARGS__
#endif

PROBE(static assay::probe::counter steps{"measured_steps", "that a search took"};)
PROBE(static assay::probe::maximum longest{"measured_longest", "search", "steps"};)
PROBE(static assay::probe::histogram lengths{"measured_lengths", "of searches",
                                             assay::probe::logarithmic(), "steps"};)
PROBE(static assay::probe::histogram parts{"measured_parts", "of searches",
                                           assay::probe::linear(0, 100, 10), "steps"};)
PROBE(static assay::probe::series first{"measured_first", "searches", 10'000, "steps"};)
PROBE(static assay::probe::summary size{"measured_size", "of searches"};)

// NOLINTNEXTLINE(misc-use-internal-linkage): the test calls it
std::uint64_t search(std::uint64_t from, std::uint64_t to);
std::uint64_t search(std::uint64_t from, std::uint64_t to) {
  PROBE(const assay::probe::timer whole(lengths);)
  std::uint64_t taken = 0;
  while (from != to) {
    from = from % 2 == 0 ? from / 2 : 3 * from + 1;
    ++taken;
    PROBE(steps.add();)
  }
  PROBE(longest.record(taken);)
  PROBE(lengths.record(taken);)
  PROBE(parts.record(taken);)
  PROBE(first.record(taken);)
  PROBE(first.stamp();)
  PROBE(size.record(0.5);)
  return taken;
}

#if !defined(ABSENT) && !ASSAY_PROBES
#include <type_traits>
static_assert(!assay::probe::compiled_in);
static_assert(std::is_empty_v<assay::probe::counter> && std::is_empty_v<assay::probe::maximum> &&
              std::is_empty_v<assay::probe::histogram> && std::is_empty_v<assay::probe::series> &&
              std::is_empty_v<assay::probe::summary>);
#endif
