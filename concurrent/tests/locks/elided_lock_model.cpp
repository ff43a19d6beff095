// An elided lock under relacy, which falls dormant and opens at random: sections that are
// transactions, and sections that have taken the lock, count in two words. What must hold: each
// finds both words alike, and no count is lost.

#include <array>
#include <mutex>
#include <optional>

#include "tests/base/model_atomics.h"
#include "tests/locks/elision_test_tuning.h"
#include "tests/locks/model_transactions.h"
// The product's own headers, with relacy's atomics. All threads of a model are one to the system,
// so that whose a lock is cannot be checked here.
#ifndef NDEBUG
#define NDEBUG
#endif
#include "assay/locks/elided_lock.h"
#include "assay/locks/spin_lock.h"

namespace assay::sync {
namespace {

struct elided_lock_model : rl::test_suite<elided_lock_model, 2> {
  void before() {
    // A run that failed left this behind, and is then run again.
    detail::eliding_thread::current() = {};
    lock_.emplace();
    for (auto& word : words_) word.emplace(0);
  }

  void thread(unsigned index) {
    count();
    if (index == 0) {
      count();
    } else if (lock_->try_lock()) {
      change();
      lock_->unlock();
    } else {
      count();
    }
  }

  void after() { RL_ASSERT(words_[0]->load(memory_order_relaxed) == 4); }

 private:
  void count() {
    const std::scoped_lock held(*lock_);
    change();
  }
  // Relaxed: nothing but the lock orders what it protects.
  void change() {
    const int first = words_[0]->load(memory_order_relaxed);
    const int second = words_[1]->load(memory_order_relaxed);
    RL_ASSERT(first == second);
    words_[0]->store(first + 1, memory_order_relaxed);
    words_[1]->store(second + 1, memory_order_relaxed);
  }

  std::optional<elided_lock<spin_lock>> lock_;
  std::array<std::optional<atomic<int>>, 2> words_;
};

}  // namespace
}  // namespace assay::sync

int main(int argc, char** argv) {
  return assay::judge<assay::sync::elided_lock_model>(argc, argv, 100'000);
}
