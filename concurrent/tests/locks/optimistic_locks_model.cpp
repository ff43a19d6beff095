// Several optimistic locks under relacy, as trees use them: each protects something of its own, and
// nothing but the locks orders what happens to different ones. What must hold is what is expected
// of operations that take effect one after the other: of two threads that change something each and
// then read what the other changes, one sees the other's change; and two threads that read both as
// of one moment do not see the changes in different orders. What a version protects is left
// out here: optimistic_lock_model.cpp has it.

#include <array>
#include <cstddef>
#include <optional>

#include "tests/base/model_atomics.h"
// The product's own header, with relacy's atomics.
#include "assay/locks/optimistic_lock.h"

namespace assay::sync {
namespace {

struct optimistic_locks_model : rl::test_suite<optimistic_locks_model, 4> {
  void before() {
    for (auto& each : locks_) each.emplace();
    for (auto& each : missed_) each($) = 0;
    for (auto& each : alone_) each($) = 0;
  }

  void thread(unsigned index) {
    if (index < 2) {
      RL_ASSERT(locks_[index]->try_lock(unchanged));  // nobody else takes it
      locks_[index]->unlock();
      missed_[index]($) = locks_[1 - index]->read() == unchanged ? 1 : 0;
    } else {
      read_both(index - 2);
    }
  }

  void after() {
    RL_ASSERT(missed_[0]($) + missed_[1]($) < 2);
    RL_ASSERT(alone_[0]($) + alone_[1]($) < 2);
  }

 private:
  static constexpr optimistic_lock::version unchanged = 0;

  // Notes whether it saw the change under that lock without the other's. The two threads that do
  // this begin with different locks.
  void read_both(std::size_t which) {
    const optimistic_lock& own = *locks_[which];
    const optimistic_lock& other = *locks_[1 - which];
    const auto other_seen = other.read();
    const auto own_seen = own.read();
    if (!optimistic_lock::is_free(own_seen)) return;
    optimistic_lock::all_read();
    if (!other.validate(other_seen) || !own.validate(own_seen)) return;
    alone_[which]($) = other_seen == unchanged && own_seen != unchanged ? 1 : 0;
  }

  std::array<std::optional<optimistic_lock>, 2> locks_;
  std::array<rl::var<int>, 2> missed_;  // whether the thread that changed this missed the other
  std::array<rl::var<int>, 2> alone_;   // whether the change under this lock was seen alone
};

}  // namespace
}  // namespace assay::sync

int main(int argc, char** argv) {
  return assay::judge<assay::sync::optimistic_locks_model>(argc, argv, 100'000);
}
