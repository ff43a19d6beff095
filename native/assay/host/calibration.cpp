#include "assay/host/calibration.h"

#include <sys/mman.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <thread>

#include "assay/host/clock.h"

namespace assay::host {
namespace {

constexpr std::uint64_t ms = 1'000'000;  // in nanoseconds

// Together with 5 ms for the start of the process, hwloc and the buffer, half of the 30 ms that a
// calibration may take: on a busy host each can be late by a time slice.
constexpr std::uint64_t core_to_core_budget = 6 * ms;
constexpr std::uint64_t memory_budget = 3 * ms;
constexpr std::uint64_t arithmetic_budget = 1 * ms;
constexpr std::size_t most_pairs = 8;

// With fewer repetitions one long interruption could reach the median.
constexpr std::size_t fewest_repetitions = 9;

// The median of an odd number of values, else the upper one of the middle two; the order is lost.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double per_step(std::uint64_t began, std::uint64_t ended, std::uint64_t steps) {
  return static_cast<double>(ended - began) / static_cast<double>(steps);
}

// One cache line that two threads write in turn: the first odd numbers, the second the even ones
// after them. Two lines long, as some processors fetch lines in pairs.
struct alignas(128) ball {
  std::atomic<std::uint32_t> number{0};

  // Waits for a number. False if the deadline came first: the other thread has no processor.
  bool await(std::uint32_t expected, std::uint64_t deadline) const {
    for (std::uint32_t spins = 1; number.load(std::memory_order_acquire) != expected; ++spins) {
      if (spins % 4096 == 0 && now_ns() > deadline) {
        return false;
      }
    }
    return true;
  }

  // Answers every odd number with the next one.
  void answer(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::uint32_t seen = number.load(std::memory_order_acquire);
      if (seen % 2 == 1) {
        number.store(seen + 1, std::memory_order_release);
      }
    }
  }
};

// One-way latency between the calling thread, bound to one processor, and a thread on another; none
// if the two never ran at the same time for long enough.
std::optional<double> one_way_ns(unsigned a, unsigned b, std::uint64_t budget) {
  constexpr std::uint64_t round_trips = 100;
  ball line;
  bind_this_thread_to(b);  // a new thread is bound as the one that makes it
  const std::jthread partner([&line](const std::stop_token& stop) { line.answer(stop); });
  bind_this_thread_to(a);
  std::vector<double> repetitions;
  std::uint32_t number = 0;
  bool answered = true;
  // The first repetition is left out: it contains the partner's start.
  const std::uint64_t deadline = now_ns() + budget;
  for (bool first = true; answered && now_ns() < deadline; first = false) {
    const std::uint64_t began = now_ns();
    for (std::uint64_t i = 0; answered && i < round_trips; ++i) {
      line.number.store(number + 1, std::memory_order_release);
      number += 2;
      answered = line.await(number, deadline);
    }
    if (answered && !first) {
      repetitions.push_back(per_step(began, now_ns(), 2 * round_trips));
    }
  }
  return repetitions.size() < fewest_repetitions ? std::nullopt
                                                 : std::optional(median(repetitions));
}

void measure_core_to_core(calibration& found) {
  const std::size_t neighbours = found.processors.size() - 1;
  if (neighbours == 0) {
    found.unavailable["core_to_core_ns"] = "the threads use one processor only";
    return;
  }
  const std::size_t pairs = std::min(neighbours, most_pairs);
  std::vector<double> latencies;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::size_t at = i * neighbours / pairs;
    const unsigned a = found.processors[at];
    const unsigned b = found.processors[at + 1];
    if (const auto latency = one_way_ns(a, b, core_to_core_budget / pairs)) {
      found.pairs.push_back({a, b, *latency});
      latencies.push_back(*latency);
    }
  }
  if (latencies.empty()) {
    found.unavailable["core_to_core_ns"] =
        "no two of the processors were free at the same time for long enough";
  } else {
    found.metrics["core_to_core_ns"] = median(latencies);
  }
}

// The usual way, a chain of pointers through more memory than the caches hold, would take longer to
// build than there is time: a shared cache may have hundreds of megabytes. So a buffer of 4 MiB is
// evicted from all caches line by line, and each line is then loaded once. Its blocks of two lines
// (some processors fetch lines in pairs) are visited in the order of a linear congruential
// generator of full period, which hardware does not predict, and into which each loaded value, a
// zero, is mixed, so that no load can begin before the one before it has ended. The buffer is small
// enough for its pages to stay in the second-level TLB.
void measure_memory([[maybe_unused]] calibration& found) {
#if defined(__x86_64__)
  constexpr std::size_t block = 128;
  constexpr std::size_t blocks = std::size_t{1} << 15;
  constexpr std::size_t bytes = block * blocks;
  constexpr std::size_t huge_page = std::size_t{1} << 21;
  constexpr std::size_t loads = 512;  // in one repetition, about 50 us
  const std::unique_ptr<void, decltype(&std::free)> buffer(std::aligned_alloc(huge_page, bytes),
                                                           &std::free);
  if (buffer == nullptr) {
    throw std::bad_alloc();
  }
  char* const begin = static_cast<char*>(buffer.get());
  madvise(begin, bytes, MADV_HUGEPAGE);  // only a wish: less to do for the kernel and the TLB
  std::memset(begin, 0, bytes);
  for (std::size_t i = 0; i < blocks; ++i) {
    _mm_clflush(begin + i * block);
  }
  _mm_mfence();

  std::vector<double> repetitions;
  std::size_t at = 0;
  const std::uint64_t deadline = now_ns() + memory_budget;
  for (std::size_t visited = 0;
       visited < blocks && (now_ns() < deadline || repetitions.size() < fewest_repetitions);
       visited += loads) {
    const std::uint64_t began = now_ns();
    for (std::size_t i = 0; i < loads; ++i) {
      const std::size_t loaded = *reinterpret_cast<volatile std::size_t*>(begin + at * block);
      at = (at * 20'077 + 12'345 + loaded) % blocks;
    }
    repetitions.push_back(per_step(began, now_ns(), loads));
  }
  found.metrics["memory_ns"] = median(repetitions);
#else
  found.unavailable["memory_ns"] = "evicting a line from the caches is written for x86-64 only";
#endif
}

}  // namespace

double arithmetic_ns() {
  constexpr std::uint64_t steps = 20'000;  // in one repetition, about 25 us
  std::vector<double> repetitions;
  std::uint64_t x = 1;
  const std::uint64_t deadline = now_ns() + arithmetic_budget;
  while (now_ns() < deadline || repetitions.size() < fewest_repetitions) {
    const std::uint64_t began = now_ns();
    for (std::uint64_t i = 0; i < steps; ++i) {
      x = x * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
      asm volatile("" : "+r"(x));  // one step at a time
    }
    repetitions.push_back(per_step(began, now_ns(), steps));
  }
  return median(repetitions);
}

calibration calibrate(const placement& place) {
  calibration found;
  found.processors = place.processors();
  measure_core_to_core(found);
  bind_this_thread_to(found.processors.front());
  measure_memory(found);
  found.metrics["arithmetic_ns"] = arithmetic_ns();
  return found;
}

}  // namespace assay::host
