// In the runtime whose marked points are compiled in: delays threads at the point that TEST_POINT
// names. At the end it says how often threads came there.

#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "assay/base/point.h"

namespace {

std::string_view delayed_point;
std::atomic<unsigned> passes{0};

void delay(const char* point) {
  if (point != delayed_point) return;
  // The first threads to come, and others now and then: long enough for the others to go on, even
  // if they sleep, and not so often that all is as slow as this.
  constexpr unsigned first = 8;
  constexpr unsigned now_and_then = 64;
  const unsigned pass = passes.fetch_add(1, std::memory_order_relaxed);
  if (pass >= first && pass % now_and_then != 0) return;
  constexpr long nanoseconds = 300'000;
  const timespec length{.tv_sec = 0, .tv_nsec = nanoseconds};
  ::nanosleep(&length, nullptr);
}

[[gnu::constructor]] void set_hook() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread is there yet
  if (const char* const point = std::getenv("TEST_POINT")) delayed_point = point;
  assay::sync::at_points.store(delay, std::memory_order_release);
}

[[gnu::destructor]] void say() {
  std::fprintf(stderr, "passes: %u\n", passes.load(std::memory_order_relaxed));
}

}  // namespace
