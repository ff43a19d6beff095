// What is a clock good for? Functions over any way of reading one, in its own units: nanoseconds,
// or ticks of a counter.
//
//     clock_cost(now_ns);          // 21.3: what a reading takes
//     clock_resolution(now_ns);    // 1: the step that it makes
//
// `clock_getres` says 1 ns of every clock of Linux that has a high resolution, whatever its true
// steps are: they can only be measured. Of a coarse clock it says the kernel's tick, which is true.

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

// The same for a clock that may not advance for longer than its readings take; another clock times
// it.
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

// Steps that differ by no more than their rounding and slewing, a thousandth.
struct step_run {
  std::uint64_t least, most;
  std::size_t count;
};

// The step of a clock from what its readings differed by.
//   A clock that does not advance between its steps shows each of them. The typical one counts: the
//   least
// may be an update that a reading split in two, and steps of 3,999,998 and 4,000,001 ns are no
// multiples of 3. A clock that is read more slowly than it steps shows multiples of its step: times
// of 40, 41 and 43 units are of one that steps by 1, times of 40, 50, 51 and 70 of one that steps
// by 10, and rounds. What occurs in less than one of 200 is left out, as interrupts lie between
// readings.
inline std::uint64_t step_of(std::vector<std::uint64_t> steps, bool stands_still) {
  if (steps.empty()) return 0;
  std::ranges::sort(steps);
  if (stands_still) return steps[steps.size() / 2];
  std::vector<step_run> runs;
  for (const std::uint64_t step : steps) {
    if (runs.empty() || step - runs.back().most > 1 + step / 1000) {
      runs.push_back({step, step, 0});
    }
    runs.back().most = step;
    ++runs.back().count;
  }
  const std::size_t fewest = steps.size() / 200 + 1;
  std::erase_if(runs, [&](const step_run& run) { return run.count < fewest; });
  const auto middle = [](const step_run& run) { return (run.least + run.most) / 2; };

  // Multiples of a step are runs of two or three units, whose distances are multiples of it, too.
  // Two could lie anywhere.
  if (runs.size() > 2) {
    std::uint64_t least = middle(runs.front());
    for (std::size_t i = 1; i < runs.size(); ++i) {
      least = std::min(least, middle(runs[i]) - middle(runs[i - 1]));
    }
    const auto last = static_cast<double>(middle(runs.back()));
    const double step = last / std::round(last / static_cast<double>(least));
    std::size_t all = 0;
    std::size_t fitting = 0;
    for (const step_run& run : runs) {
      const auto value = static_cast<double>(middle(run));
      const double error = std::abs(value - std::round(value / step) * step);
      all += run.count;
      if (error <= 1.5 + value / 500 && run.most - run.least <= 2 + run.most / 500) {
        fitting += run.count;
      }
    }
    if (fitting * 20 >= all * 19) return static_cast<std::uint64_t>(std::llround(step));
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
  std::uint64_t until_last_step = 0;  // readings
  constexpr std::size_t fewest_steps = 20;
  const auto is_over = [&] {
    const std::uint64_t at = now_ns();
    return at >= end_ns && (steps.size() >= fewest_steps || at >= end_ns + 9 * most_ns);
  };
  while (steps.size() < enough && (++seen.readings % 64 != 0 || !is_over())) {
    const std::uint64_t next = now();
    if (next < last) ++seen.backwards;
    if (next > last) {
      steps.push_back(next - last);
      until_last_step = seen.readings;
    }
    last = next;
  }
  const bool stands_still = until_last_step > 2 * steps.size();
  seen.resolution = step_of(std::move(steps), stands_still);
  return seen;
}

}  // namespace assay::host

#endif  // ASSAY_HOST_CLOCK_QUALITY_H_
