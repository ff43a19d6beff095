// A spin lock under relacy: threads take it, change what it protects, and give it up. What must
// hold: one at a time, and each sees what the one before did.

#include "tests/base/model_atomics.h"
// The product's own header, with relacy's atomics.
#include "assay/locks/spin_lock.h"

namespace assay::sync {
namespace {

struct spin_lock_model : rl::test_suite<spin_lock_model, 3> {
  void before() {
    lock_.emplace();
    held_($) = 0;
  }

  void thread(unsigned /*index*/) {
    for (int round = 0; round < 2; ++round) {
      if (!lock_->try_lock()) continue;
      // Plain data: relacy reports two threads here that the lock has not ordered.
      RL_ASSERT(held_($) == 0);
      held_($) = 1;
      held_($) = 0;
      lock_->unlock();
    }
  }

  void after() { RL_ASSERT(lock_->try_lock()); }

 private:
  std::optional<spin_lock> lock_;
  rl::var<int> held_;
};

}  // namespace
}  // namespace assay::sync

int main(int argc, char** argv) {
  return assay::judge<assay::sync::spin_lock_model>(argc, argv, 100'000);
}
