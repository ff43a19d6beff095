// Threads that have work by turns meet at a barrier (Bonnichsen 2016, figure 4.5).
//
//   barriers [ITERATIONS [WORK]]      1000 and 10000; the figure has 1000000 and 10000

#include <omp.h>

#include <vector>

#include "program.h"

namespace {

// That nobody leaves a barrier before all have come: each finds what the others wrote before it.
bool barriers_hold(long rounds) {
  struct alignas(64) slot {
    long round = 0;
  };
  std::vector<slot> slots(static_cast<std::size_t>(omp_get_max_threads()));
  bool right = true;
#pragma omp parallel reduction(&& : right)
  {
    const auto id = static_cast<std::size_t>(omp_get_thread_num());
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    for (long round = 1; round <= rounds; ++round) {
      slots[id].round = round;
#pragma omp barrier
      for (std::size_t other = 0; other < threads; ++other) {
        right = right && slots[other].round == round;
      }
#pragma omp barrier
    }
  }
  return right;
}

}  // namespace

int main(int count, char** words) {
  program::arguments given(count, words);
  const long iterations = given.next("ITERATIONS", 1000, 1, 1'000'000'000);
  const long work = given.next("WORK", 10'000, 0, 1'000'000'000);
  given.end();
  const double seconds = program::seconds_of([&] {
#pragma omp parallel
    {
      const int id = omp_get_thread_num();
      for (long i = 0; i < iterations; ++i) {
        volatile long j = 0;
        while (j != work * ((id + i) % 2)) j = j + 1;
#pragma omp barrier
      }
    }
  });
  std::printf("barrier_ns=%.1f\n", seconds * 1e9 / static_cast<double>(iterations));
  return program::finish(barriers_hold(100), seconds);
}
