// Threads insert into a std::map and remove from it in a critical section (Bonnichsen 2016, figure
// 4.4): half inserts, half removes, keys uniform in [0, 2^18), with 2^17 pairs to begin with.
//
//   critical [MILLISECONDS [OPERATIONS]]      2000; each thread ends after OPERATIONS if that is
//   sooner

#include <omp.h>

#include <limits>
#include <map>

#include "program.h"

int main(int count, char** words) {
  program::arguments given(count, words);
  const long milliseconds = given.next("MILLISECONDS", 2000, 1, 1'000'000);
  const long most = given.next("OPERATIONS", std::numeric_limits<long>::max(), 1,
                               std::numeric_limits<long>::max());
  given.end();

  constexpr std::uint64_t keys = 1U << 18U;
  std::map<std::uint64_t, std::uint64_t> map;
  program::random_source initial(0);
  while (map.size() < keys / 2) map.emplace(initial.below(keys), 0);

  long operations = 0;
  long growth = 0;
  const double seconds = program::seconds_of([&] {
#pragma omp parallel reduction(+ : operations, growth)
    {
      program::random_source random(1 + static_cast<std::uint64_t>(omp_get_thread_num()));
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
      // The clock is outside of the critical section, and read seldom.
      while (operations < most &&
             (operations % 64 != 0 || std::chrono::steady_clock::now() < end)) {
        const std::uint64_t drawn = random.below(2 * keys);
        const std::uint64_t key = drawn / 2;
        if (drawn % 2 == 0) {
          bool inserted = false;
#pragma omp critical
          inserted = map.emplace(key, key).second;
          growth += inserted ? 1 : 0;
        } else {
          std::size_t removed = 0;
#pragma omp critical
          removed = map.erase(key);
          growth -= static_cast<long>(removed);
        }
        ++operations;
      }
    }
  });
  if (map.size() != keys / 2 + static_cast<std::uint64_t>(growth)) return program::finish(false, 0);
  std::printf("operations_per_second=%.0f\n", static_cast<double>(operations) / seconds);
  return program::finish(true, seconds);
}
