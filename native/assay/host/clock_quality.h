// What is a clock good for? Functions over any way of reading one, in its own units: nanoseconds, or
// ticks of a counter.
//
//     clock_cost(now_ns);          // 21.3: what a reading takes
//     clock_resolution(now_ns);    // 1: the least step that it makes
//
// `clock_getres` says 1 ns of every clock of Linux that has a high resolution, whatever its true
// steps are: they can only be measured.

#ifndef ASSAY_HOST_CLOCK_QUALITY_H_
#define ASSAY_HOST_CLOCK_QUALITY_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/host/clock.h"

namespace assay::host {

// What one reading costs: the least of several rounds, so that an interrupt does not count.
template <class Now>
double clock_cost(Now now) {
  constexpr int readings = 1000;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t start = now();
    std::uint64_t last = start;
    for (int i = 0; i < readings; ++i) last = now();
    least = std::min(least, last - start);
  }
  return static_cast<double>(least) / readings;
}

// The same of a clock that may stand still for longer than its readings take, as told by another.
template <class Now>
double clock_cost_ns(Now now) {
  double least = std::numeric_limits<double>::max();
  constexpr int readings = 1000;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t start = now_ns();
    for (int i = 0; i < readings; ++i) static_cast<void>(now());
    least = std::min(least, static_cast<double>(now_ns() - start) / readings);
  }
  return least;
}

// How a clock went in one thread.
struct clock_steps {
  std::uint64_t resolution = 0;  // the least step; 0 if it did not move in the time that there was
  std::uint64_t readings = 0;
  std::uint64_t backwards = 0;  // readings that lay before the one before them
};

// Reads a clock until it has stepped 10,000 times, or `most_ns` have passed. A clock that is read
// more slowly than it steps shows its step in what its readings differ by: times of 40, 41 and 43
// units are of one that steps by 1, times of 40, 50 and 70 of one that steps by 10.
template <class Now>
clock_steps clock_steps_of(Now now, std::uint64_t most_ns = 20'000'000) {
  constexpr std::size_t enough = 10'000;
  clock_steps seen;
  std::vector<std::uint64_t> steps;
  steps.reserve(enough);
  const std::uint64_t end_ns = now_ns() + most_ns;
  std::uint64_t last = now();
  while (steps.size() < enough && (++seen.readings % 64 != 0 || now_ns() < end_ns)) {
    const std::uint64_t next = now();
    if (next < last) ++seen.backwards;
    if (next > last) steps.push_back(next - last);
    last = next;
  }
  std::ranges::sort(steps);
  std::uint64_t before = 0;
  for (const std::uint64_t step : steps) {
    if (step > before && (seen.resolution == 0 || step - before < seen.resolution)) {
      seen.resolution = step - before;
    }
    before = step;
  }
  return seen;
}

}  // namespace assay::host

#endif  // ASSAY_HOST_CLOCK_QUALITY_H_
