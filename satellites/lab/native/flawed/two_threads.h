// What the programs here share: two threads that use a lock whose sections run as transactions, and
// data for them. Each program breaks one of the five guidelines for transactional memory
// (Bonnichsen 2016, section 5.1), and `sound` breaks none. `assay lab advise` is to say so.

#ifndef ASSAY_FLAWED_TWO_THREADS_H_
#define ASSAY_FLAWED_TWO_THREADS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "assay/locks/elided_lock.h"
#include "assay/locks/spin_lock.h"

namespace assay::flawed {

using lock = sync::elided_lock<sync::spin_lock>;

inline constexpr std::size_t thread_count = 2;
inline constexpr int rounds = 200;

// Some data that is only read: two lines of it for each thread.
inline constexpr std::size_t words = 64;
struct alignas(64) table {
  std::array<volatile std::uint32_t, words> word{};
};

// What a thread writes, on a line of its own.
struct alignas(64) slot {
  std::uint64_t sum = 0;
};

// Long enough for a section to be worth a transaction.
[[gnu::always_inline]] inline std::uint64_t sum_of(const table& from) {
  std::uint64_t sum = 0;
  for (const volatile std::uint32_t& each : from.word) sum += each;
  return sum;
}

template <class F>
void run_threads(F section) {
  std::array<std::thread, thread_count> threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([section, i] {
      for (int n = 0; n < rounds; ++n) section(i);
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace assay::flawed

#endif  // ASSAY_FLAWED_TWO_THREADS_H_
