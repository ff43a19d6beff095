#include "assay/host/time_stamp_counter.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <ctime>
#include <limits>
#include <stop_token>
#include <thread>

#include "assay/host/clock.h"
#include "assay/host/placement.h"
#include "assay/host/topology.h"

namespace assay::host {
namespace {

constexpr std::size_t most_pairs = 8;

// One cache line that two threads write in turn. Two lines long, as some processors fetch lines in
// pairs.
struct alignas(128) exchange {
  std::atomic<std::uint64_t> asked{0};     // number of the question, from 1
  std::atomic<std::uint64_t> answered{0};  // number of the question that `reading` answers
  std::uint64_t reading = 0;               // published by `answered`
};

clock_agreement agreement_between(unsigned a, unsigned b, std::uint64_t (*now)()) {
  constexpr std::uint64_t enough = 1000;
  constexpr std::uint64_t budget_ns = 50'000'000;  // where others take a processor for some ms
  constexpr std::uint64_t warm_up = 10;
  clock_agreement found{
      a, b, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
      0, 0};
  exchange line;
  bind_this_thread_to(b);  // a new thread is bound as the one that makes it
  const std::jthread partner([&line, now](const std::stop_token& stop) {
    for (std::uint64_t next = 1; !stop.stop_requested();) {
      // (1) synchronises with (2): the question was asked before this reading
      if (line.asked.load(std::memory_order_acquire) < next) continue;
      line.reading = now();
      line.answered.store(next++, std::memory_order_release);  // (3)
    }
  });
  bind_this_thread_to(a);
  const std::uint64_t end_ns = now_ns() + budget_ns;
  for (std::uint64_t number = 1; found.exchanges < enough && now_ns() < end_ns; ++number) {
    const std::uint64_t before = now();
    line.asked.store(number, std::memory_order_release);  // (2)
    // (4) synchronises with (3): the answer's reading was made before the next one here
    while (line.answered.load(std::memory_order_acquire) != number) {
      if (now_ns() > end_ns) return found;
    }
    const std::uint64_t there = line.reading;
    const std::uint64_t after = now();
    if (number <= warm_up) continue;
    ++found.exchanges;
    if (there < before || after < there) ++found.backwards;
    const auto ahead = [](std::uint64_t x, std::uint64_t y) {
      return x >= y ? static_cast<double>(x - y) : -static_cast<double>(y - x);
    };
    // before <= there - offset <= after
    found.least_offset = std::max(found.least_offset, ahead(there, after));
    found.most_offset = std::min(found.most_offset, ahead(there, before));
  }
  return found;
}

#if defined(__x86_64__)
std::uint64_t raw_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

struct moment {
  double ticks;
  std::uint64_t ns;
};

// Both clocks at one moment: of several tries the one that took the least time.
moment both_now() {
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  moment best{};
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = time_stamp_begin();
    const std::uint64_t ns = raw_ns();
    const std::uint64_t after = time_stamp_end();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {static_cast<double>(before) + static_cast<double>(shortest) / 2, ns};
  }
  return best;
}

double ns_per_tick_between(const moment& start, const moment& end) {
  return static_cast<double>(end.ns - start.ns) / (end.ticks - start.ticks);
}

time_stamp_counter_state examine() {
  constexpr double most_error = 1e-4;
  constexpr std::uint64_t half_ns = 5'000'000;
  time_stamp_counter_state state;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  const bool has_rdtscp = __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (d & (1U << 27)) != 0;
  state.invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
  if (!has_rdtscp) {
    state.unusable_because = "this processor has no RDTSCP";
    return state;
  }
  std::array<moment, 3> moments{};
  for (auto& moment : moments) {
    moment = both_now();
    if (&moment == &moments.back()) break;
    for (const std::uint64_t end = now_ns() + half_ns; now_ns() < end;) {
    }
  }
  state.ns_per_tick = ns_per_tick_between(moments[0], moments[2]);
  state.calibration_error = std::abs(ns_per_tick_between(moments[0], moments[1]) -
                                     ns_per_tick_between(moments[1], moments[2])) /
                            state.ns_per_tick;
  state.agreements = clock_agreements(time_stamp_end);
  if (!state.invariant) {
    state.unusable_because =
        "it may change its rate: the processor does not say that it is invariant";
  } else if (!(state.calibration_error <= most_error)) {
    state.unusable_because = "two calibrations differ by more than 0.01%";
  } else if (std::ranges::any_of(state.agreements,
                                 [](const clock_agreement& pair) { return pair.backwards > 0; })) {
    state.unusable_because = "it goes back from one processor to another";
  }
  return state;
}
#else
time_stamp_counter_state examine() { return {.unusable_because = "it is written for x86-64 only"}; }
#endif

}  // namespace

std::vector<clock_agreement> clock_agreements(std::uint64_t (*now)()) {
  std::vector<clock_agreement> found;
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return found;
  const auto processors = to_vector(topology::this_machine().allowed());
  const std::size_t neighbours = processors.empty() ? 0 : processors.size() - 1;
  const std::size_t pairs = std::min(neighbours, most_pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::size_t at = i * neighbours / pairs;
    const auto pair = agreement_between(processors[at], processors[at + 1], now);
    if (pair.exchanges > 0) found.push_back(pair);
  }
  sched_setaffinity(0, sizeof before, &before);
  return found;
}

const time_stamp_counter_state& time_stamp_counter_facts() {
  static const time_stamp_counter_state state = examine();
  return state;
}

}  // namespace assay::host
