// Memory reclamation for every structure, at a cost that readers hardly notice. (concept.h says
// what reclamation is for.)
//
//     assay::reclaim::epochs domain;
//     auto me = domain.join();                 // in each thread
//     {
//       auto guard = me.pin();                 // from here on nothing that is reached is freed
//       node* old = guard.protect(0, head);    // an acquire load
//       if (head.compare_exchange_strong(old, old->next)) guard.retire(old);  // `delete`, later
//     }                                        // the guard ends
//
// Time is divided into epochs. A thread that pins announces the current epoch. The epoch is
// advanced when all threads that are pinned have announced it, and nobody can hold what was retired
// three epochs ago (Fraser 2004, section 5.2.3). Threads keep their garbage in bags, one for each
// epoch, and read each other's announcements only now and then (Brown's DEBRA, 2015, section 4).
// What is ready is not freed all at once, but two nodes for each node that is retired: freeing
// whole bags floods the allocator's caches of free memory, for which it then contends with other
// threads (Kim, Brown and Singh 2024).
//
// Promises:
// - protect, retire and the end of a guard are wait-free, apart from the allocator's own `free` and
//   the nodes' destructors; pin and join are lock-free.
// - Each call does a bounded amount of work: at most two nodes are freed in retire, and at most 64
//   in every 2048th call of pin, pin_to_read and retire, which also looks at every participant's
//   record, and once more if the epoch can be advanced.
// - pin_to_read allocates nothing and never fails.
// - A participant that leaves loses nothing: others free its garbage. The garbage of a thread that
//   never calls again, and whose participant is not destroyed, waits for the domain's end.
//
// What it does not promise is a bound on garbage. A thread that stops inside a guard holds the
// epoch, and nothing that is retired from the next epoch on is freed until it continues.
// hazard_pointers.h has that bound, at a higher price.
//
// Why it is right. The global epoch E never decreases. The numbers are those at the code.
//
// A. While a thread P is pinned at epoch e, E is e or e + 1. A thread that advances from e + 1 to
//    e + 2 has read E = e + 1 (4), passed a heavy fence (5), and then read every announcement (6).
//    P wrote its announcement (1), passed a light fence (2), and read E = e again (3). The fences
//    are ordered.
//    - If (2) came first, then (6) finds P's record. Either it reads the announcement of e, and the
//      thread does not advance, or a later one, and P is no longer pinned at e.
//    - If (5) came first, then (3), which comes after, reads no older value than (4), which came
//      before: e + 1, not e, so that P was not pinned yet.
// B. When the epoch advances from e + 1 to e + 2, all that threads did while they were pinned at e
//    happened before. For (6) read what such a thread later wrote with release, when it unpinned
//    (7) or pinned again (1), and (8) releases what (6) acquired.
// C. A node that was retired by a thread pinned at e can be freed once E >= e + 3 was read.
//    It was unlinked while that thread was pinned, hence before the advance to e + 2, by B. A
//    reader that read E >= e + 2 when it was pinned (3) acquired that advance (8) or a later one of
//    the same release sequence: it sees the node unlinked and does not reach it. Any other reader
//    is pinned at e + 1 or before, and was unpinned when E became e + 3, by A; what it read
//    happened before that, by B, and thus before the node is freed.
//
// So three bags for each thread are enough: when it meets epoch e, what its bag number e % 3 holds
// was retired at e - 3 or before.

#ifndef ASSAY_RECLAIM_EPOCHS_H_
#define ASSAY_RECLAIM_EPOCHS_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "assay/base/abi.h"
#include "assay/base/asymmetric_fence.h"
#include "assay/base/atomics.h"
#include "assay/base/point.h"
#include "assay/reclaim/checks.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/observer.h"
#include "assay/reclaim/participant.h"
#include "assay/reclaim/records.h"
#include "assay/reclaim/retired.h"

namespace assay::reclaim::inline ASSAY_ABI {

// Settings that tests shrink so that rare paths run.
struct epochs_settings {
  using observer = no_observer;
  // How many calls of pin and retire lie between a participant's looks at the others. A look that
  // advances the epoch costs about 1.1 us, and as much on each other processor that runs one of the
  // program's threads: 1 ns for an operation. Larger periods leave more nodes waiting.
  static constexpr std::int32_t period = 2048;
  static constexpr std::size_t records_per_chunk = 8;
  // A node is freed this many epochs after the epoch of its retirement. Proved right above; with
  // fewer, tests show that they would notice.
  static constexpr std::size_t bags = 3;
};

template <class Settings>
class basic_epochs {
 public:
  static constexpr protection protects = protection::everything;
  static constexpr bool nests = true;
  using participant = detail::participant<basic_epochs>;
  class read_guard;
  class guard;

  // Never fails. The first domain of a process asks the kernel for cheap fences, which takes some
  // milliseconds if other threads run.
  basic_epochs() noexcept { sync::prepare_light_fences(); }
  basic_epochs(const basic_epochs&) = delete;
  basic_epochs& operator=(const basic_epochs&) = delete;
  // Frees all nodes that still wait. No participant is left, and no thread inside a call.
  ~basic_epochs() = default;

  // Makes a participant for the calling thread, which alone may open guards by it. By any thread;
  // lock-free; throws std::bad_alloc.
  participant join() { return {*this, records_.claim()}; }

  // Frees all nodes that wait. By any thread, while the domain is at rest (concept.h), of which
  // debug builds check that no guard is open. Never fails, and waits for nobody.
  void free_all() noexcept {
    records_.all([](record& one) {
      one.use.expect_at_rest();
      one.free_all();
      return true;
    });
  }

  // In builds with checks, ends the program with the message `otherwise` if a guard is open. As
  // free_all().
  void expect_at_rest([[maybe_unused]] const char* otherwise) const {
    if constexpr (misuse::checks) {
      records_.all([otherwise](const record& each) {
        each.use.expect_at_rest(otherwise);
        return true;
      });
    }
  }

  // How many retired nodes wait to be freed: exact while no other thread is inside a call. By any
  // thread; wait-free.
  std::uint64_t unfreed() const { return records_.waiting(); }

 private:
  friend participant;
  class record;

  void attend(record& mine) noexcept;
  bool look_around(record& mine, std::uint64_t epoch);
  void advance(std::uint64_t epoch);
  void leave(record& mine) { records_.release(mine); }

  atomic<std::uint64_t> epoch_{0};
  detail::record_list<record, Settings::records_per_chunk> records_;
};

using epochs = basic_epochs<epochs_settings>;

// A participant's announcement, which others read, and its nodes, which belong to the thread that
// has claimed the record.
template <class Settings>
class alignas(detail::record_alignment) basic_epochs<Settings>::record
    : public detail::record_base {
 public:
  static constexpr std::uint64_t unpinned = 0;
  static std::uint64_t pinned_at(std::uint64_t epoch) { return 2 * epoch + 1; }
  // The epoch that the owner announced last, to the owner, who is pinned.
  [[nodiscard]] std::uint64_t pinned_epoch() const {
    return announced.load(memory_order_relaxed) / 2;  // its own store
  }
  // To the owner.
  [[nodiscard]] bool is_pinned() const {
    return announced.load(memory_order_relaxed) != unpinned;  // its own store
  }

  atomic<std::uint64_t> announced{unpinned};
  std::uint32_t more_guards = 0;     // open ones, beyond the first
  std::int32_t until_attention = 1;  // calls; 0 or less: the next pin attends
  std::uint64_t seen = 0;            // the epoch at the last look around
  detail::spare_blocks spares;

  void retire(void* node, void (*call)(void*, detail::retired::word),
              detail::retired::word deleter) noexcept {
    const std::uint64_t epoch = pinned_epoch();
    meet(epoch);
    --until_attention;
    detail::retired_list& bag = bags_[epoch % bags_.size()];
    if (bag.full()) {
      detail::retired_block* const block = spares.take();
      if (block == nullptr) {  // beyond what was promised
        detail::leak(node);
        return;
      }
      bag.add(*block);
    }
    bag.push(node, call, deleter);
    count(1);
  }

  // `epoch` was read with acquire: what was retired this many epochs before is ready.
  void meet(std::uint64_t epoch) {
    if (epoch == epoch_) return;
    const std::uint64_t passed = std::min<std::uint64_t>(epoch - epoch_, bags_.size());
    const std::uint64_t before = ready_.size();
    for (std::uint64_t i = 1; i <= passed; ++i) ready_.splice(bags_[(epoch_ + i) % bags_.size()]);
    epoch_ = epoch;
    if (ready_.size() > before) Settings::observer::batch(ready_.size() - before);
  }

  // Frees some of what is ready.
  void free(std::uint64_t most) noexcept {
    const std::uint64_t number = std::min(most, ready_.size());
    if (number == 0) return;
    for (std::uint64_t i = 0; i < number; ++i) ready_.pop(spares).destroy();
    count(0 - number);
    Settings::observer::freed(number);
  }
  // Frees all nodes. The domain is at rest.
  void free_all() noexcept {
    std::uint64_t number = ready_.free_all();
    for (detail::retired_list& bag : bags_) number += bag.free_all();
    waiting.store(0, memory_order_relaxed);
    Settings::observer::freed(number);
  }

  // Takes the nodes of a record that the caller has claimed. Both have met the same epoch.
  void adopt(record& other) {
    ready_.splice(other.ready_);
    for (std::size_t i = 0; i < bags_.size(); ++i) bags_[i].splice(other.bags_[i]);
    count(other.waiting.load(memory_order_relaxed));
    other.waiting.store(0, memory_order_relaxed);
  }

 private:
  void count(std::uint64_t more) {
    waiting.store(waiting.load(memory_order_relaxed) + more, memory_order_relaxed);
  }

  plain<std::uint64_t> epoch_ = 0;                         // the newest that its owner has met
  std::array<detail::retired_list, Settings::bags> bags_;  // of its last epochs, by epoch % bags
  detail::retired_list ready_;
};

// While it exists, nothing that its thread reaches is freed. Only the thread that opened it calls
// it. A participant may have several guards at once, which end in any order: they protect from the
// beginning of the first to the end of the last.
template <class Settings>
class basic_epochs<Settings>::read_guard {
 public:
  read_guard(const read_guard&) = delete;
  read_guard& operator=(const read_guard&) = delete;
  // Wait-free.
  ~read_guard() {
    record_->use.unpin();
    if (record_->more_guards > 0) [[unlikely]] {
      --record_->more_guards;
      return;
    }
    // (7) release: pairs with (6).
    record_->announced.store(record::unpinned, memory_order_release);
  }

  // Returns the pointer that `source` holds. Its node, and every node that is reached through it,
  // is not freed until the guard ends. The slot does not matter: it is for policies that protect by
  // name. Wait-free.
  template <class T>
  T* protect(std::size_t /*slot*/, const atomic<T*>& source) const {
    return source.load(memory_order_acquire);  // pairs with the store that linked the node
  }
  template <class Word, class PointerOf>
  Word protect(std::size_t /*slot*/, const atomic<Word>& source, PointerOf /*pointer_of*/) const {
    return source.load(memory_order_acquire);  // likewise
  }

 private:
  friend participant;
  friend guard;

  read_guard(basic_epochs& domain, record& mine) noexcept : record_(&mine) {
    if (mine.is_pinned()) [[unlikely]] {
      ++mine.more_guards;
    } else {
      announce(domain, mine);
    }
    mine.use.pin();
  }

  static void announce(basic_epochs& domain, record& mine) noexcept {
    if (--mine.until_attention <= 0) domain.attend(mine);
    std::uint64_t epoch = domain.epoch_.load(memory_order_relaxed);  // a guess: (3) decides
    while (true) {
      // (1) release: pairs with (6), so that what an earlier guard read happened before.
      mine.announced.store(record::pinned_at(epoch), memory_order_release);
      ASSAY_POINT("epochs_announced");
      sync::light_fence();  // (2) pairs with (5)
      // (3) acquire: pairs with (8).
      const std::uint64_t now = domain.epoch_.load(memory_order_acquire);
      if (now == epoch) return;
      epoch = now;
    }
  }

  record* record_;
};

// A guard under which nodes are retired, too.
template <class Settings>
class basic_epochs<Settings>::guard : public read_guard {
 public:
  // Has `node` deleted, or passed to `deleter` (deleter_of, concept.h), when no thread can hold it
  // any more. The caller has unlinked it under this guard, and retires it once. Now it frees at
  // most two nodes, which were retired long before. Wait-free but for their destructors and the
  // allocator. Never fails if the deleter is trivially copied and at most as large as a pointer;
  // otherwise throws std::bad_alloc, or what moving it throws, with nothing retired. In a guard
  // that retires more than retires_per_guard nodes, those for which there is no memory are leaked.
  template <class T, deleter_of<T> Deleter = std::default_delete<T>>
  void retire(T* node, Deleter deleter = {}) noexcept(detail::fits<Deleter>) {
    misuse::require(node != nullptr, "retire() is given a null pointer");
    add(node, std::move(deleter));
  }

  // Has function() called once, when all guards that are open now have ended: by any thread of the
  // domain, or at the domain's end. The function must not throw, nor use the domain. Costs,
  // progress and errors are those of retire(node, deleter).
  template <class F>
    requires std::invocable<F&>
  void retire(F function) noexcept(detail::fits<F>) {
    add(static_cast<void*>(nullptr), [kept = std::move(function)](void*) mutable { kept(); });
  }

 private:
  friend participant;

  guard(basic_epochs& domain, record& mine) : read_guard(domain, with_spares(mine)) {}

  static record& with_spares(record& mine) {
    mine.spares.provide();  // may throw: nothing has changed
    return mine;
  }

  template <class T, class Deleter>
  void add(T* node, Deleter deleter) noexcept(detail::fits<Deleter>) {
    record& mine = *this->record_;
    detail::retired::make(node, std::move(deleter),
                          [&mine](auto... parts) noexcept { mine.retire(parts...); });
    Settings::observer::retired();
    mine.free(2);
  }
};

// What is done now and then, outside of guards: a look at others, and the freeing of what is ready.
template <class Settings>
[[gnu::noinline]] void basic_epochs<Settings>::attend(record& mine) noexcept {
  mine.until_attention = Settings::period;

  // (4) acquire: pairs with (8).
  const std::uint64_t epoch = epoch_.load(memory_order_acquire);
  mine.meet(epoch);
  // If another has advanced the epoch since, then that is enough for now.
  if (look_around(mine, epoch) && mine.seen == epoch) advance(epoch);
  mine.seen = epoch_.load(memory_order_acquire);  // pairs with (8)
  mine.meet(mine.seen);
  mine.free(64);
}

// Adopts what others left behind. Returns whether it seems that the epoch could be advanced, and to
// some purpose.
template <class Settings>
bool basic_epochs<Settings>::look_around(record& mine, std::uint64_t epoch) {
  bool possible = true;
  std::uint64_t waiting = 0;
  records_.all([&](record& one) {
    ASSAY_POINT("epochs_before_adoption");
    // A guess, which spares the heavy fence where it would be in vain: pairs with nothing.
    const std::uint64_t announced = one.announced.load(memory_order_relaxed);
    if (announced != record::unpinned && announced != record::pinned_at(epoch)) possible = false;

    const std::uint64_t nodes = one.waiting.load(memory_order_relaxed);  // an estimate
    waiting += nodes;
    if (nodes > 0 && records_.try_claim(one)) {
      // What its owner did last happened before, so that this is no older than what it has met.
      const std::uint64_t now = epoch_.load(memory_order_acquire);  // pairs with (8)
      mine.meet(now);
      one.meet(now);
      mine.adopt(one);
      records_.release(one);
    }
    return true;
  });
  Settings::observer::waiting(waiting);
  return possible && mine.waiting.load(memory_order_relaxed) > 0;
}

// From `epoch`, which the caller has read, to the next, unless a thread is pinned at an older one.
// Lock-free: fails only if another advanced.
template <class Settings>
void basic_epochs<Settings>::advance(std::uint64_t epoch) {
  ASSAY_POINT("epochs_before_advance");
  sync::heavy_fence();  // (5) pairs with (2)
  const bool all_met = records_.all([epoch](record& one) {
    // (6) acquire: pairs with (7) and (1).
    const std::uint64_t announced = one.announced.load(memory_order_acquire);
    return announced == record::unpinned || announced == record::pinned_at(epoch);
  });
  // (8) release: pairs with (3) and (4), and acquire, so that this also passes on what earlier
  // advances did.
  if (all_met) {
    epoch_.compare_exchange_strong(epoch, epoch + 1, memory_order_acq_rel, memory_order_relaxed);
  }
}

#ifndef ASSAY_ATOMICS_HEADER
static_assert(policy<epochs>);

// A domain for all code of the program that does not need one of its own. The first call makes it,
// and may throw std::bad_alloc. It is never destroyed, so that threads may outlive main(): what
// waits when the program ends is not freed. By any thread; after the first call wait-free.
[[nodiscard]] ASSAY_ONE_IN_PROCESS inline epochs& default_domain() {
  static epochs& domain = *new epochs;
  return domain;
}

// The calling thread's participant of the default domain. The thread joins by its first call, which
// may throw std::bad_alloc, and leaves as it ends: not for destructors of other thread-local
// objects. After the first call wait-free.
[[nodiscard]] ASSAY_ONE_IN_PROCESS inline epochs::participant& default_participant() {
  thread_local epochs::participant joined = default_domain().join();
  return joined;
}
#endif

}  // namespace assay::reclaim::inline ASSAY_ABI

#endif  // ASSAY_RECLAIM_EPOCHS_H_
