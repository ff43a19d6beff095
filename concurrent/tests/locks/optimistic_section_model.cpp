// An optimistic section under relacy: threads change two words and publish what a third leads to,
// and read all of it in sections. What must hold: a section returns what was there at one moment,
// never older than what its thread knew; no change is lost; and what a pointer leads to was made.

#include <array>
#include <cstddef>
#include <mutex>
#include <shared_mutex>

#include "tests/base/model_atomics.h"
// The product's own headers, with relacy's atomics. All threads of a model are one to the system,
// so that what a thread is inside of cannot be checked here.
#ifndef NDEBUG
#define NDEBUG
#endif
#include "assay/locks/optimistic_section.h"
#include "assay/locks/spin_lock.h"

namespace assay::sync {
namespace {

// Readers that have failed too often share it in the product; here they have it alone.
class readers_and_writers {
 public:
  void lock() { lock_.lock(); }
  bool try_lock() { return lock_.try_lock(); }
  void unlock() { lock_.unlock(); }
  void lock_shared() {
    if (!planted("no_lock_for_readers")) lock_.lock();
  }
  void unlock_shared() {
    if (!planted("no_lock_for_readers")) lock_.unlock();
  }

 private:
  spin_lock lock_;
};

struct optimistic_section_model : rl::test_suite<optimistic_section_model, 3> {
  void before() {
    section_.emplace();
    for (auto& word : words_) word.emplace(0);
    latest_.emplace(made_.data());
    made_[0]($) = 0;
    held_($) = 0;
  }

  void thread(unsigned index) {
    if (index == 0) {
      change_if_even();
      change();
    } else if (index == 1) {
      change();
      read(1);
    } else {
      read(read(0));
    }
  }

  void after() { RL_ASSERT(read(2) == words_[0]->read()); }

 private:
  // A writer has read all that the one before did.
  int change_words() {
    RL_ASSERT(held_($) == 0);  // plain data: relacy reports two threads that nothing has ordered
    held_($) = 1;
    const int next = words_[0]->read() + 1;
    RL_ASSERT(words_[1]->read() == next - 1);
    made_[static_cast<std::size_t>(next)]($) = next;
    words_[0]->write(next);
    words_[1]->write(next);
    latest_->write(&made_[static_cast<std::size_t>(next)]);
    held_($) = 0;
    return next;
  }

  void change() {
    RL_ASSERT(section_->write([&] { return change_words(); }) > 0);
  }
  void change_if_even() {
    section_->write([&](auto& change) {
      if (words_[0]->read() % 2 != 0) return;
      change.begin();
      change_words();
    });
  }

  int read(int known) {
    const auto [first, second, made] = section_->read([&] {
      // The pointer last, so that what it leads to is not ordered by the others.
      const int one = words_[0]->read();
      const int other = words_[1]->read();
      rl::var<int>* const leads_to = latest_->read();
      return std::array{one, other, static_cast<int>((*leads_to)($))};
    });
    RL_ASSERT(first == second && first == made && first >= known);
    return first;
  }

  std::optional<optimistic_section<readers_and_writers>> section_;
  std::array<std::optional<section_word<int>>, 2> words_;
  std::optional<section_word<rl::var<int>*>> latest_;
  std::array<rl::var<int>, 4> made_;
  rl::var<int> held_;
};

}  // namespace
}  // namespace assay::sync

int main(int argc, char** argv) {
  return assay::judge<assay::sync::optimistic_section_model>(argc, argv, 100'000);
}
