// What the programs here share: a lock whose sections run as transactions, and two threads that use
// it. Each program breaks one of the five guidelines for transactional memory (Bonnichsen 2016, section
// 5.1), and `sound` breaks none. `assay advise` is to say so.

#ifndef ASSAY_FLAWED_TRANSACTIONS_ELIDED_H_
#define ASSAY_FLAWED_TRANSACTIONS_ELIDED_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "assay/sync/transaction.h"

namespace assay::flawed {

class alignas(64) elided {
 public:
  template <class F>
  [[gnu::always_inline]] void run(const F& section) {
    constexpr int attempts = 3;
    for (int i = 0; i < attempts; ++i) {
      const sync::transaction::status status = sync::transaction::begin();
      if (status.begun()) {
        if (taken_.load(std::memory_order_relaxed)) sync::transaction::abort<1>();
        section();
        sync::transaction::commit();
        return;
      }
      if (!status.may_succeed_again()) break;
    }
    // Acquires what the store below releases: what sections did before.
    while (taken_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    section();
    taken_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> taken_{false};
};

inline constexpr std::size_t thread_count = 2;
inline constexpr int rounds = 200;

// Some data that is only read: two lines of it for each thread.
inline constexpr std::size_t words = 64;
struct alignas(64) table {
  std::array<volatile std::uint32_t, words> word{};
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

#endif  // ASSAY_FLAWED_TRANSACTIONS_ELIDED_H_
