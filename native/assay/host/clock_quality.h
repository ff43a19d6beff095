// What is a clock good for? Functions over any way of reading one, in its own units: nanoseconds, or
// ticks of a counter.
//
//     clock_cost(now_ns);          // 21.3: what a reading takes
//     clock_resolution(now_ns);    // 1: the step that it makes
//
// `clock_getres` says 1 ns of every clock of Linux that has a high resolution, whatever its true
// steps are: they can only be measured.

#ifndef ASSAY_HOST_CLOCK_QUALITY_H_
#define ASSAY_HOST_CLOCK_QUALITY_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
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

// Steps that differ by no more than their rounding and slewing, a thousandth: a coarse clock steps by
// 3,999,998 and by 4,000,001 ns.
struct step_run {
  std::uint64_t least, most;
  std::size_t count;
};

// The step of a clock from what its readings differed by. What occurs in less than a share of them is
// left out: an update may be split in two by a reading, or an interrupt lie between two readings.
//   A clock that stands still between its steps shows each of them: the least is its step. One that
// is read more slowly than it steps shows multiples of its step: times of 40, 41 and 43 units are of
// one that steps by 1, times of 40, 50, 51 and 70 of one that steps by 10, and rounds.
inline std::uint64_t step_of(std::vector<std::uint64_t> steps, bool stands_still) {
  if (steps.empty()) return 0;
  std::ranges::sort(steps);
  std::vector<step_run> runs;
  for (const std::uint64_t step : steps) {
    if (runs.empty() || step - runs.back().most > 1 + step / 1000) {
      runs.push_back({step, step, 0});
    }
    runs.back().most = step;
    ++runs.back().count;
  }
  const std::size_t fewest = steps.size() / (stands_still ? 10 : 200) + 1;
  std::erase_if(runs, [&](const step_run& run) { return run.count < fewest; });
  const auto middle = [](const step_run& run) { return (run.least + run.most) / 2; };
  if (stands_still && !runs.empty()) return middle(runs.front());

  // Multiples of a step are runs of two or three units, of which each has the same distance from its
  // neighbours or a multiple of it. Two could lie anywhere.
  const auto is_narrow = [](const step_run& run) {
    return run.most - run.least <= 2 + run.most / 500;
  };
  if (runs.size() > 2 && std::ranges::all_of(runs, is_narrow)) {
    std::uint64_t least = middle(runs.front());
    for (std::size_t i = 1; i < runs.size(); ++i) {
      least = std::min(least, middle(runs[i]) - middle(runs[i - 1]));
    }
    const double multiple = std::round(static_cast<double>(middle(runs.back())) / static_cast<double>(least));
    const double step = static_cast<double>(middle(runs.back())) / multiple;
    const auto fits = [&](const step_run& run) {
      const double value = static_cast<double>(middle(run));
      return std::abs(value - std::round(value / step) * step) <= 1.5 + value / 500;
    };
    if (std::ranges::all_of(runs, fits)) return static_cast<std::uint64_t>(std::llround(step));
  }
  std::uint64_t least = steps.front();
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] > steps[i - 1]) least = std::min(least, steps[i] - steps[i - 1]);
  }
  return least;
}

// Reads a clock until it has stepped 10,000 times, or `most_ns` have passed and it has stepped 20
// times or `most_ns` have passed ten times.
template <class Now>
clock_steps clock_steps_of(Now now, std::uint64_t most_ns = 20'000'000) {
  constexpr std::size_t enough = 10'000;
  clock_steps seen;
  std::vector<std::uint64_t> steps;
  steps.reserve(enough);
  const std::uint64_t end_ns = now_ns() + most_ns;
  std::uint64_t last = now();
  constexpr std::size_t few = 20;
  const auto is_over = [&] {
    const std::uint64_t at = now_ns();
    return at >= end_ns && (steps.size() >= few || at >= end_ns + 9 * most_ns);
  };
  while (steps.size() < enough && (++seen.readings % 64 != 0 || !is_over())) {
    const std::uint64_t next = now();
    if (next < last) ++seen.backwards;
    if (next > last) steps.push_back(next - last);
    last = next;
  }
  const bool stands_still = seen.readings > 2 * steps.size();
  seen.resolution = step_of(std::move(steps), stands_still);
  return seen;
}

}  // namespace assay::host

#endif  // ASSAY_HOST_CLOCK_QUALITY_H_
