// Memory reclamation as ASCYLIB's allocator does it (ssmem: David, Guerraoui and Trigonakis 2015),
// for comparisons (Kharal and Brown 2022, section 5 and figure 5), not for programs. (concept.h
// says what reclamation is for.)
//
//     assay::reclaim::garbage_sets domain;
//     auto me = domain.join();                 // in each thread
//     auto guard = me.pin();                   // begins an operation: the thread's count goes up
//     guard.retire(node);                      // into the thread's open set
//
// When a thread's set of garbage is full, the thread notes every other thread's count of operations
// with the set. The set is freed as a whole once all these counts have changed: each thread has
// then begun another operation, and holds nothing from before.
//
// It takes little to do, and waits for everybody. A thread that does nothing between two operations
// holds up the garbage of all others as one inside an operation does, until it begins the next or
// its participant is destroyed. With more threads than processors garbage therefore grows with the
// time for which threads wait for a processor. epochs.h does without that.
//
// Unlike ssmem's, a set goes back to the allocator of the process, not to a list of the thread's
// own from which nobody else can take, and memory is not taken 32 MB at a time for each thread.
// What ASCYLIB takes is therefore more than what this policy takes.
//
// Promises:
// - protect, retire and the end of a guard are wait-free; pin and join are wait-free and lock-free,
//   apart from the allocator and the nodes' destructors. Where a set is full, pin reads all records
//   and frees whole sets.
// - Nothing bounds garbage.
// - The garbage of a participant that leaves is freed by the next one with its record, or by the
//   domain at its end.
//
// Why it is right. Thread P retires a node N, which it has unlinked, and later closes the set: it
// passes the heavy fence (3) and reads R's count as k (4). It frees the set after it has read
// another count of R's (5), m. R's guards are numbered by its counts, and (5) reads no older count
// than (4).
//    - A guard of R before number m ended before R stored m (1), with release, so that (5) comes
//      after all that it read.
//    - Guard m or a later one: (4) did not read m. So (3) came before this guard's light fence (2),
//      which comes before all that it reads: it sees N unlinked, and does not reach it.
// A thread whose count is `left`, or whose record (4) does not meet, has no guard, and the next one
// is as guard m above.

#ifndef ASSAY_RECLAIM_GARBAGE_SETS_H_
#define ASSAY_RECLAIM_GARBAGE_SETS_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "assay/base/asymmetric_fence.h"
#include "assay/base/atomics.h"
#include "assay/reclaim/checks.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/observer.h"
#include "assay/reclaim/participant.h"
#include "assay/reclaim/records.h"
#include "assay/reclaim/retired.h"

namespace assay::reclaim::inline ASSAY_ABI {

// Settings that tests shrink so that rare paths run.
struct garbage_sets_settings {
  using observer = no_observer;
  static constexpr std::size_t nodes_of_a_set = 507;  // ssmem's
  static constexpr std::size_t records_per_chunk = 8;
};

template <class Settings>
class basic_garbage_sets {
  struct record;

 public:
  static constexpr protection protects = protection::everything;
  // The second guard would tell others that the first has ended. As in hazard_pointers.h, debug
  // builds find it, and a thread that needs one joins once more.
  static constexpr bool nests = false;
  using participant = detail::participant<basic_garbage_sets>;

  class guard;
  class read_guard {
   public:
    read_guard(const read_guard&) = delete;
    read_guard& operator=(const read_guard&) = delete;
    // Wait-free: only the next guard tells others that this one has ended.
    ~read_guard() { record_->use.unpin(); }

    // Returns the pointer that `source` holds. Its node, and every node that is reached through it,
    // is not freed until the guard ends. Wait-free.
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

    read_guard(basic_garbage_sets& /*domain*/, record& mine) noexcept : record_(&mine) {
      // (1) release: pairs with (4) and (5), so that what earlier guards read happened before.
      mine.begin();
      sync::light_fence();  // (2) pairs with (3)
      mine.use.pin();
    }

    record* record_;
  };

  class guard : public read_guard {
   public:
    // As concept.h says. Wait-free. Beyond retires_per_guard in one guard a node for which there is
    // no memory is leaked.
    template <class T, deleter_of<T> Deleter = std::default_delete<T>>
    void retire(T* node, Deleter deleter = {}) noexcept(detail::fits<Deleter>) {
      misuse::require(node != nullptr, "retire() is given a null pointer");
      add(node, std::move(deleter));
    }
    template <class F>
      requires std::invocable<F&>
    void retire(F function) noexcept(detail::fits<F>) {
      add(static_cast<void*>(nullptr), [kept = std::move(function)](void*) mutable { kept(); });
    }

   private:
    friend participant;

    guard(basic_garbage_sets& domain, record& mine) : read_guard(domain, prepared(domain, mine)) {}

    static record& prepared(basic_garbage_sets& domain, record& mine) {
      mine.spares.provide();  // may throw: nothing has changed
      if (mine.open.size() >= Settings::nodes_of_a_set) domain.close_set(mine);
      return mine;
    }

    template <class T, class Deleter>
    void add(T* node, Deleter deleter) noexcept(detail::fits<Deleter>) {
      detail::retired::make(node, std::move(deleter),
                            [this](auto... parts) noexcept { this->record_->retire(parts...); });
      Settings::observer::retired();
    }
  };

  // Never fails. The first domain of a process asks the kernel for cheap fences, which takes some
  // milliseconds if other threads run.
  basic_garbage_sets() noexcept { sync::prepare_light_fences(); }
  basic_garbage_sets(const basic_garbage_sets&) = delete;
  basic_garbage_sets& operator=(const basic_garbage_sets&) = delete;
  // Frees all nodes that still wait. No participant is left, and no thread inside a call.
  ~basic_garbage_sets() = default;

  // A participant for the calling thread. By any thread; lock-free; throws std::bad_alloc.
  participant join() {
    record& mine = records_.claim();
    mine.begin();  // as (1): what the record's last owner read happened before, by its claim
    return {*this, mine};
  }

  // Frees all nodes that wait. By any thread, while the domain is at rest (concept.h). Never fails.
  void free_all() noexcept {
    records_.all([](record& one) {
      one.use.expect_at_rest();
      one.freed(one.open.free_all());
      while (!one.sets.empty()) one.free_oldest();
      return true;
    });
  }

  // How many retired nodes wait to be freed. By any thread; wait-free.
  [[nodiscard]] std::uint64_t unfreed() const { return records_.waiting(); }

 private:
  friend participant;

  static constexpr std::uint64_t left = 0;

  // A closed set, and what (4) read of each other thread.
  struct set {
    detail::retired_list nodes;
    std::vector<std::pair<const record*, std::uint64_t>> counts;
  };

  struct alignas(detail::record_alignment) record : detail::record_base {
    atomic<std::uint64_t> count{left};  // of the guards begun; written by the owner
    std::uint64_t last = left;          // what it was when its owner left
    detail::spare_blocks spares;
    detail::retired_list open;
    std::deque<set> sets;  // the oldest first

    void begin() {
      count.store(std::max(last, count.load(memory_order_relaxed)) + 1, memory_order_release);
    }
    void retire(void* node, void (*call)(void*, detail::retired::word),
                detail::retired::word deleter) noexcept {
      if (open.full()) {
        detail::retired_block* const block = spares.take();
        if (block == nullptr) {  // beyond what was promised
          detail::leak(node);
          return;
        }
        open.add(*block);
      }
      open.push(node, call, deleter);
      waiting.store(waiting.load(memory_order_relaxed) + 1, memory_order_relaxed);
    }
    void free_oldest() noexcept {
      freed(sets.front().nodes.free_all());
      sets.pop_front();
    }
    void freed(std::uint64_t nodes) noexcept {
      waiting.store(waiting.load(memory_order_relaxed) - nodes, memory_order_relaxed);
      Settings::observer::freed(nodes);
    }
  };

  // Outside of guards. Throws std::bad_alloc, with nothing changed.
  void close_set(record& mine) {
    std::vector<std::pair<const record*, std::uint64_t>> counts;
    sync::heavy_fence();  // (3) pairs with (2)
    records_.all([&](const record& one) {
      // (4) acquire: pairs with (1).
      const std::uint64_t count = one.count.load(memory_order_acquire);
      if (&one != &mine && count != left) counts.emplace_back(&one, count);
      return true;
    });
    mine.sets.emplace_back().counts = std::move(counts);
    mine.sets.back().nodes.splice(mine.open);
    Settings::observer::waiting(mine.waiting.load(memory_order_relaxed));
    const auto begun_anew = [](const auto& noted) {
      // (5) acquire: pairs with (1), and with leave().
      return noted.first->count.load(memory_order_acquire) != noted.second;
    };
    while (!mine.sets.empty() && std::ranges::all_of(mine.sets.front().counts, begun_anew)) {
      Settings::observer::batch(mine.sets.front().nodes.size());
      mine.free_oldest();
    }
  }

  // Wait-free.
  void leave(record& mine) {
    mine.last = mine.count.load(memory_order_relaxed);
    mine.count.store(left, memory_order_release);  // as (1)
    records_.release(mine);
  }

  detail::record_list<record, Settings::records_per_chunk> records_;
};

using garbage_sets = basic_garbage_sets<garbage_sets_settings>;

static_assert(policy<garbage_sets>);

}  // namespace assay::reclaim::inline ASSAY_ABI

#endif  // ASSAY_RECLAIM_GARBAGE_SETS_H_
