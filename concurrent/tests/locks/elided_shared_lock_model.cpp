// An elided shared lock under relacy, which falls dormant and opens at random: readers and writers
// that are transactions, and such as have taken or share the lock. What must hold: each finds both
// words alike, and no count is lost.

#include <array>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "tests/base/model_atomics.h"
#include "tests/locks/elision_test_tuning.h"
#include "tests/locks/model_transactions.h"
// The product's own headers, as in elided_lock_model.cpp.
#ifndef NDEBUG
#define NDEBUG
#endif
#include "assay/locks/elided_shared_lock.h"

namespace assay::sync {
namespace {

// A lock in one word: how many threads share it, or -1 if one has it exclusively.
class small_shared_lock {
 public:
  void lock() {
    while (!try_lock()) rl::yield(1, $);
  }
  bool try_lock() {
    int nobody = 0;
    return state_.compare_exchange_strong(nobody, -1, memory_order_acquire, memory_order_relaxed);
  }
  void unlock() { state_.store(0, memory_order_release); }
  void lock_shared() {
    while (!try_lock_shared()) rl::yield(1, $);
  }
  bool try_lock_shared() {
    int seen = state_.load(memory_order_relaxed);
    return seen >= 0 && state_.compare_exchange_strong(seen, seen + 1, memory_order_acquire,
                                                       memory_order_relaxed);
  }
  void unlock_shared() { state_.fetch_sub(1, memory_order_release); }

 private:
  atomic<int> state_{0};
};

struct elided_shared_lock_model : rl::test_suite<elided_shared_lock_model, 2> {
  void before() {
    // A run that failed left this behind, and is then run again.
    detail::eliding_thread::current() = {};
    lock_.emplace();
    for (auto& word : words_) word.emplace(0);
  }

  void thread(unsigned index) {
    if (index == 0) {
      write();
      write();
    } else {
      const int seen = read();
      RL_ASSERT(read() >= seen);
      write();
    }
  }

  void after() { RL_ASSERT(read() == 3); }

 private:
  // Relaxed: nothing but the lock orders what it protects.
  int both() const {
    const int first = words_[0]->load(memory_order_relaxed);
    RL_ASSERT(first == words_[1]->load(memory_order_relaxed));
    return first;
  }
  int read() {
    const std::shared_lock reading(*lock_);
    return both();
  }
  void write() {
    const std::scoped_lock writing(*lock_);
    const int next = both() + 1;
    words_[0]->store(next, memory_order_relaxed);
    words_[1]->store(next, memory_order_relaxed);
  }

  std::optional<elided_shared_lock<small_shared_lock>> lock_;
  std::array<std::optional<atomic<int>>, 2> words_;
};

}  // namespace
}  // namespace assay::sync

int main(int argc, char** argv) {
  return assay::judge<assay::sync::elided_shared_lock_model>(argc, argv, 100'000);
}
