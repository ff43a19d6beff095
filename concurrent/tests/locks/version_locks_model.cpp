// Versioned locks under relacy, used as search trees use them: a thread notes the versions, reads
// the two edges that the locks protect, takes one of them at the version noted and changes its
// edge, or both for good. What must hold: an edge is never changed by two at once; no change is
// lost, because whoever took a lock had read the newest value of its edge; and nothing changes
// after both were taken for good.

#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/base/model_atomics.h"
// The product's own header, with relacy's atomics.
#include "assay/locks/version_locks.h"

namespace assay::sync {
namespace {

struct version_locks_model : rl::test_suite<version_locks_model, 3> {
  void before() {
    locks_.emplace(start);
    for (std::size_t side = 0; side < 2; ++side) {
      edges_[side].store(0, memory_order_relaxed);
      held_[side]($) = 0;
      changes_[side]($) = 0;
    }
  }

  void thread(unsigned index) {
    for (std::size_t round = 0; round < 2; ++round) {
      const std::size_t side = (index + round) % 2;
      if (index == 0 && round == 1) {
        remove();
      } else if (index == 1 && round == 0) {
        change_nothing(side);
      } else {
        change(side);
      }
    }
  }

  void after() {
    for (std::size_t side = 0; side < 2; ++side) {
      RL_ASSERT(edges_[side].load(memory_order_relaxed) == changes_[side]($));
    }
  }

 private:
  // Near the last version of one side, so that it begins anew and must not spill into the other.
  static constexpr version_locks::state start = 0xffff'fffe;

  // Relaxed throughout: it is the locks that order what the edges hold.
  void change(std::size_t side) {
    const version_locks::state seen = locks_->read();
    if (version_locks::is_taken(seen, side)) return;
    const int was = edges_[side].load(memory_order_relaxed);
    if (!locks_->try_lock(side, seen)) return;
    own(side);
    RL_ASSERT(changes_[side]($) == was);  // nobody has changed it since `seen`
    edges_[side].store(was + 1, memory_order_relaxed);
    changes_[side]($) = was + 1;
    disown(side);
    locks_->unlock(side);
  }

  void change_nothing(std::size_t side) {
    const version_locks::state seen = locks_->read();
    if (version_locks::is_taken(seen, side) || !locks_->try_lock(side, seen)) return;
    own(side);
    disown(side);
    locks_->unlock_unchanged(side);
  }

  void remove() {
    const version_locks::state seen = locks_->read();
    if (version_locks::is_any_taken(seen)) return;
    const std::array<int, 2> was{edges_[0].load(memory_order_relaxed),
                                 edges_[1].load(memory_order_relaxed)};
    if (!locks_->try_retire(seen)) return;
    for (std::size_t side = 0; side < 2; ++side) {
      own(side);
      RL_ASSERT(changes_[side]($) == was[side]);
    }
    RL_ASSERT(version_locks::is_retired(locks_->read()));
  }

  // Plain data: relacy reports two threads here that no lock has ordered.
  void own(std::size_t side) {
    RL_ASSERT(held_[side]($) == 0);
    held_[side]($) = 1;
  }
  void disown(std::size_t side) { held_[side]($) = 0; }

  std::optional<version_locks> locks_;
  std::array<atomic<int>, 2> edges_;
  std::array<rl::var<int>, 2> held_;
  std::array<rl::var<int>, 2> changes_;  // how often each edge was changed
};

}  // namespace
}  // namespace assay::sync

int main(int argc, char** argv) {
  return assay::judge<assay::sync::version_locks_model>(argc, argv, 100'000);
}
