#include "assay/rig/clock.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace assay::rig {
namespace {

bool has_invariant_counter() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0 || (edx >> 8 & 1) == 0) return false;
  std::string source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
  return source == "tsc";
#else
  return false;
#endif
}

std::vector<unsigned> usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> usable;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return usable;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) usable.push_back(i);
  }
  return usable;
}

// Where it may not, the thread stays where it is, and less is found out.
void bind_this_thread(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  static_cast<void>(sched_setaffinity(0, sizeof set, &set));
}

}  // namespace

stamp_clock::stamp_clock() : stamp_clock(0) {
  const auto now = [this](unsigned) { return after(); };
  widen_by(greatest_difference(now, usable_processors()));
}

stamp_clock::stamp_clock(std::uint64_t difference) : counts_ticks_(has_invariant_counter()) {
  if (counts_ticks_) {
    const std::uint64_t start_ns = host::now_ns();
    const std::uint64_t start = after();
    std::uint64_t end_ns = host::now_ns();
    while (end_ns - start_ns < 5'000'000) end_ns = host::now_ns();
    ns_per_tick_ = static_cast<double>(end_ns - start_ns) / static_cast<double>(after() - start);
  }
  widen_by(difference);
}

void stamp_clock::widen_by(std::uint64_t difference) {
  uncertainty_ns_ = std::llround(std::ceil(2 * ns_per_tick_ * static_cast<double>(difference)));
}

std::int64_t stamp_clock::ns(std::uint64_t stamp, std::uint64_t start) const {
  const auto ticks = static_cast<double>(static_cast<std::int64_t>(stamp - start));
  return std::llround(std::floor(ticks * ns_per_tick_)) - uncertainty_ns_;
}

std::int64_t stamp_clock::ns_up(std::uint64_t stamp, std::uint64_t start) const {
  const auto ticks = static_cast<double>(static_cast<std::int64_t>(stamp - start));
  return std::llround(std::ceil(ticks * ns_per_tick_)) + uncertainty_ns_;
}

// An even number is the first thread's turn to have the token, an odd one the second's. Where other
// programs want the processors, too, a turn takes milliseconds.
std::uint64_t greatest_difference(const std::function<std::uint64_t(unsigned thread)>& stamp,
                                  std::span<const unsigned> processors) {
  using std::chrono::steady_clock;
  constexpr std::uint64_t turns = 2000;
  constexpr std::uint64_t least_turns = 20;
  constexpr std::chrono::milliseconds long_enough{200};
  std::uint64_t greatest = 0;
  for (std::size_t other = 1; other < processors.size(); ++other) {
    const auto begin = steady_clock::now();
    std::atomic<std::uint64_t> turn{0};
    std::uint64_t last = 0;  // stamp of the thread that had the token last
    const auto play = [&](unsigned thread, unsigned processor) {
      bind_this_thread(processor);
      for (;;) {
        // (1) this acquire load synchronises with the release store at (2)
        const std::uint64_t now = turn.load(std::memory_order_acquire);
        if (now >= turns) return;
        if (now % 2 != thread) {
          std::this_thread::yield();
          continue;
        }
        if (const std::uint64_t time = stamp(thread); time < last) {
          greatest = std::max(greatest, last - time);
        }
        last = stamp(thread);
        const bool over = now >= least_turns && steady_clock::now() - begin > long_enough;
        // (2) this release store synchronises with the acquire load at (1)
        turn.store(over ? turns : now + 1, std::memory_order_release);
      }
    };
    const std::jthread second(play, 1U, processors[other]);
    const std::jthread first(play, 0U, processors[0]);
  }
  return greatest;
}

}  // namespace assay::rig
