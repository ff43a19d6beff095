// An optimistic lock under relacy, used as trees use it: threads read two words together and
// believe them only if the lock says so, or take it at the version at which they read them and
// change both. What must hold: what is believed is one state, and never older than what the reader
// knew before; no change is lost, because whoever took the lock had read the newest state; two
// holders are ordered; and nothing changes after the lock was given up for ever.

#include <array>
#include <cstddef>

#include "tests/base/model_atomics.h"
// The product's own header, with relacy's atomics.
#include "assay/locks/optimistic_lock.h"

namespace assay::sync {
namespace {

struct optimistic_lock_model : rl::test_suite<optimistic_lock_model, 3> {
  void before() {
    lock_.emplace();
    for (auto& word : words_) word.store(0, memory_order_relaxed);
    held_($) = 0;
    changes_($) = 0;
    last_($) = -1;
  }

  void thread(unsigned index) {
    if (index == 0) {
      change();
      remove();
    } else if (index == 1) {
      change_nothing();
      change();
    } else {
      const int first = read(0);
      read(first);
      change();
    }
  }

  void after() {
    RL_ASSERT(word(0) == changes_($) && word(1) == changes_($));
    const auto seen = lock_->read();
    if (optimistic_lock::is_obsolete(seen)) {
      RL_ASSERT(changes_($) == last_($));
    } else {
      RL_ASSERT(lock_->try_lock(seen));  // nobody is in the way
    }
  }

 private:
  // Relaxed throughout: it is the lock that orders what the words hold.
  [[nodiscard]] int word(std::size_t which) const {
    return words_[which].load(memory_order_relaxed);
  }

  // Returns what it read, or `known` when it read nothing that it can believe.
  int read(int known) {
    const auto seen = lock_->read();
    if (optimistic_lock::is_obsolete(seen)) {
      // Nobody changes them any more, so that they can be read as they are.
      RL_ASSERT(word(0) == word(1) && word(0) == last_($));
      return known;
    }
    if (!optimistic_lock::is_free(seen)) return known;
    const int first = word(0);
    const int second = word(1);
    if (!lock_->validate(seen)) return known;
    RL_ASSERT(first == second);
    RL_ASSERT(first >= known);
    return first;
  }

  void change() {
    const auto seen = lock_->read();
    if (!optimistic_lock::is_free(seen)) return;
    const int first = word(0);
    const int second = word(1);
    if (!lock_->try_lock(seen)) return;
    own();
    RL_ASSERT(first == changes_($) && second == changes_($));  // the newest state
    write(first + 1);
    disown();
    lock_->unlock();
    RL_ASSERT(!lock_->validate(seen));
  }

  void change_nothing() {
    const auto seen = lock_->read();
    if (!optimistic_lock::is_free(seen) || !lock_->try_lock(seen)) return;
    own();
    disown();
    lock_->unlock_unchanged();
  }

  void remove() {
    const auto seen = lock_->read();
    if (!optimistic_lock::is_free(seen) || !lock_->try_lock(seen)) return;
    own();
    write(changes_($) + 1);
    last_($) = changes_($);
    disown();
    lock_->unlock_obsolete();
  }

  void write(int changes) {
    for (auto& word : words_) word.store(changes, memory_order_relaxed);
    changes_($) = changes;
  }

  // Plain data: relacy reports two threads here that the lock has not ordered.
  void own() {
    RL_ASSERT(last_($) == -1);
    RL_ASSERT(held_($) == 0);
    held_($) = 1;
  }
  void disown() { held_($) = 0; }

  std::optional<optimistic_lock> lock_;
  std::array<atomic<int>, 2> words_;
  rl::var<int> held_;
  rl::var<int> changes_;  // how often the words were changed
  rl::var<int> last_;     // how often when the lock was given up for ever
};

}  // namespace
}  // namespace assay::sync

int main(int argc, char** argv) {
  return assay::judge<assay::sync::optimistic_lock_model>(argc, argv, 100'000);
}
