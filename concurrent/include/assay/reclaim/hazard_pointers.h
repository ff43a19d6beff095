// Memory reclamation that bounds how much garbage a stalled thread can hold back. (concept.h says
// what reclamation is for.)
//
//     assay::reclaim::hazard_pointers domain;
//     auto me = domain.join();                 // in each thread
//     {
//       auto guard = me.pin();
//       node* top = guard.protect(0, head);    // this node stays, until slot 0 protects another
//       if (head.compare_exchange_strong(top, top->next)) guard.retire(top);  // `delete`, later
//     }                                        // the guard ends, and protects nothing any more
//
// A thread announces each pointer before it follows it, in one of a few slots that all others can
// read, and a node is freed only when no slot holds it (Michael 2004). A thread scans all slots
// when it has retired enough nodes to make that worth while.
//
// Only what was protected by name stays. For each node that it reaches, a structure must make sure
// that the node was not retired before it was announced, usually by finding it still linked from a
// node that is itself not unlinked. Structures whose readers walk through unlinked nodes cannot do
// so, and refuse this policy when they are compiled.
//
// Promises:
// - pin, retire and the end of a guard are wait-free, apart from the allocator and the nodes'
//   destructors; protect and join are lock-free: protect begins again when the source changes.
// - Garbage is bounded. With N records, a participant that is not in the middle of a scan has at
//   most 2 * 8 * N + 256 nodes of garbage, whatever the others do; all together have at most N
//   times as many. (N is a multiple of 8: as many as there are participants at once, or a few more,
//   see records.h.)
// - Most calls of retire free nothing. One that scans frees all that it can, in time proportional
//   to that number.
// - A participant that leaves loses nothing: others free its garbage. The garbage of a thread that
//   never calls again, and whose participant is not destroyed, waits for the domain's end.
//
// Why it is right. The numbers are those at the code. A thread P announces a node (1), passes a
// light fence (2) and reads its source again (3). Another unlinks the node, retires it, passes a
// heavy fence (4) and reads the slots (5). The fences are ordered.
// - If (2) came first, (5) finds P's record. Either it reads the announcement, and the node is
//   kept. Or it reads a later value of the slot, and P has finished with the node: what P read
//   happened before, because later values are written with release (1, 6).
// - If (4) came first, (3) sees the node unlinked, and P does not use it.

#ifndef ASSAY_RECLAIM_HAZARD_POINTERS_H_
#define ASSAY_RECLAIM_HAZARD_POINTERS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

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
struct hazard_pointers_settings {
  using observer = no_observer;
  // How many nodes a participant retires between two scans, beyond two for each slot that there is.
  static constexpr std::size_t nodes_between_scans = 256;
  static constexpr std::size_t records_per_chunk = 8;
};

template <class Settings>
class basic_hazard_pointers {
 public:
  static constexpr protection protects = protection::named;
  // A participant has one guard at a time: a second one would take over the slots of the first,
  // whose nodes could then be freed. It cannot have slots of its own, because they would have to be
  // allocated where pin_to_read() never fails, or scanned by all where nobody nests. Debug builds
  // end the program at the second guard. A thread that needs one joins once more: each of its
  // participants has a guard with all slots.
  static constexpr bool nests = false;
  using participant = detail::participant<basic_hazard_pointers>;
  class read_guard;
  class guard;

  // Never fails. The first domain of a process asks the kernel for cheap fences, which takes some
  // milliseconds if other threads run.
  basic_hazard_pointers() noexcept { sync::prepare_light_fences(); }
  basic_hazard_pointers(const basic_hazard_pointers&) = delete;
  basic_hazard_pointers& operator=(const basic_hazard_pointers&) = delete;
  // Frees all nodes that still wait. No participant is left, and no thread inside a call.
  ~basic_hazard_pointers() = default;

  // A participant for the calling thread. By any thread; lock-free; throws std::bad_alloc.
  participant join() { return {*this, records_.claim()}; }

  // Frees all nodes that wait. By any thread, while the domain is at rest (concept.h), of which
  // debug builds check that no guard is open. Never fails, and waits for nobody.
  void free_all() noexcept {
    records_.all([](record& one) {
      one.use.expect_at_rest();
      Settings::observer::freed(one.nodes.free_all());
      one.count();
      return true;
    });
  }

  // How many retired nodes wait to be freed: exact while no other thread is inside a call. By any
  // thread; wait-free.
  std::uint64_t unfreed() const { return records_.waiting(); }

 private:
  friend participant;

  // A participant's slots, which others read, and its nodes, which belong to the thread that has
  // claimed the record.
  struct alignas(detail::record_alignment) record : detail::record_base {
    std::array<atomic<void*>, slots> hazards{};
    detail::retired_list nodes;
    detail::spare_blocks spares;
    std::uint64_t scan_at = Settings::nodes_between_scans;  // the size of `nodes` at which to scan

    void retire(void* node, void (*call)(void*, detail::retired::word),
                detail::retired::word deleter) noexcept {
      if (nodes.full()) {
        detail::retired_block* const block = spares.take();
        if (block == nullptr) {  // beyond what was promised
          detail::leak(node);
          return;
        }
        nodes.add(*block);
      }
      nodes.push(node, call, deleter);
      count();
    }
    void count() { waiting.store(nodes.size(), memory_order_relaxed); }
  };

  void scan(record& mine) noexcept;
  void collect(record& mine);
  void leave(record& mine) {
    if (!mine.nodes.empty()) scan(mine);
    records_.release(mine);
  }

  detail::record_list<record, Settings::records_per_chunk> records_;
};

using hazard_pointers = basic_hazard_pointers<hazard_pointers_settings>;

// While it exists, the nodes that protect() returned last for each slot are not freed. Only the
// thread that opened it calls it.
template <class Settings>
class basic_hazard_pointers<Settings>::read_guard {
 public:
  read_guard(const read_guard&) = delete;
  read_guard& operator=(const read_guard&) = delete;
  // Wait-free.
  ~read_guard() {
    record_->use.unpin();
    for (std::size_t slot = 0; slot < used_; ++slot) {
      // (6) release: pairs with (5).
      record_->hazards[slot].store(nullptr, memory_order_release);
    }
  }

  // Returns the pointer that `source` holds, announced in this slot. If its node was not retired
  // before, which the structure must make sure of, it is not freed until this slot protects another
  // one or the guard ends. `slot` is below `slots`. Lock-free.
  template <class T>
  T* protect(std::size_t slot, const atomic<T*>& source) {
    return protect(slot, source, [](T* node) { return node; });
  }
  // The same for a word that holds a pointer and marks; pointer_of(word) is the pointer.
  template <class Word, class PointerOf>
  Word protect(std::size_t slot, const atomic<Word>& source, PointerOf pointer_of) {
    misuse::require(slot < slots, "protect() is given a slot that does not exist: they are 0 to 7");
    used_ = std::max(used_, slot + 1);
    Word word = source.load(memory_order_acquire);  // as (3)
    while (true) {
      void* const node = pointer_of(word);
      // (1) release: pairs with (5), so that what was done with the node that the slot protected
      // happened before.
      record_->hazards[slot].store(node, memory_order_release);
      ASSAY_POINT("hazard_pointers_announced");
      sync::light_fence();  // (2) pairs with (4)
      // (3) acquire: pairs with the store that linked the node.
      word = source.load(memory_order_acquire);
      if (pointer_of(word) == node) return word;
    }
  }

 private:
  friend participant;
  friend guard;

  read_guard(basic_hazard_pointers& domain, record& mine) noexcept
      : domain_(&domain), record_(&mine) {
    mine.use.pin();
  }

  basic_hazard_pointers* domain_;
  record* record_;
  std::size_t used_ = 0;  // slots, the first ones
};

// A guard under which nodes are retired, too.
template <class Settings>
class basic_hazard_pointers<Settings>::guard : public read_guard {
 public:
  // Has `node` deleted, or passed to `deleter` (deleter_of, concept.h), when no slot holds it any
  // more. The caller has unlinked it, and retires it once. The node's address as a void* is the one
  // that others protect. Wait-free but for destructors and the allocator. Never fails if the
  // deleter is trivially copied and at most as large as a pointer; otherwise throws std::bad_alloc,
  // or what moving it throws, with nothing retired. In a guard that retires more than
  // retires_per_guard nodes, those for which there is no memory are leaked.
  template <class T, deleter_of<T> Deleter = std::default_delete<T>>
  void retire(T* node, Deleter deleter = {}) noexcept(detail::fits<Deleter>) {
    misuse::require(node != nullptr, "retire() is given a null pointer");
    detail::retired::make(node, std::move(deleter),
                          [this](auto... parts) noexcept { this->record_->retire(parts...); });
    Settings::observer::retired();
    if (this->record_->nodes.size() >= this->record_->scan_at) this->domain_->scan(*this->record_);
  }

 private:
  friend participant;

  guard(basic_hazard_pointers& domain, record& mine) : read_guard(domain, with_spares(mine)) {}

  static record& with_spares(record& mine) {
    mine.spares.provide();  // may throw: nothing has changed
    return mine;
  }
};

// Frees the caller's nodes that no slot protects, and likewise nodes that others left behind.
template <class Settings>
[[gnu::noinline]] void basic_hazard_pointers<Settings>::scan(record& mine) noexcept {
  collect(mine);
  ASSAY_POINT("hazard_pointers_before_scan");
  sync::heavy_fence();  // (4) pairs with (2)

  // The slots are read in groups that are sorted without an allocation, so that a scan cannot fail.
  std::array<const void*, 512> group;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t number = 0;
  const auto keep_group = [&mine, &group, &number] {
    std::sort(group.begin(), group.begin() + number, std::less<>());
    mine.nodes.keep([&group, number](const void* node) {
      return std::binary_search(group.begin(), group.begin() + number, node, std::less<>());
    });
    number = 0;
  };
  std::uint64_t slots_seen = 0;
  records_.all([&](record& one) {
    for (const atomic<void*>& hazard : one.hazards) {
      // (5) acquire: pairs with (1) and (6).
      const void* const node = hazard.load(memory_order_acquire);
      if (node != nullptr) group[number++] = node;
    }
    slots_seen += slots;
    if (group.size() - number < slots) keep_group();
    return true;
  });
  if (number > 0) keep_group();

  mine.scan_at = 2 * slots_seen + Settings::nodes_between_scans;
  const std::uint64_t freed = mine.nodes.free_others(mine.spares);
  mine.count();
  Settings::observer::freed(freed);
  Settings::observer::batch(freed);
}

// Takes over the nodes of records that nobody has claimed.
template <class Settings>
void basic_hazard_pointers<Settings>::collect(record& mine) {
  std::uint64_t waiting = 0;
  records_.all([&](record& one) {
    const std::uint64_t nodes = one.waiting.load(memory_order_relaxed);  // a guess
    waiting += nodes;
    if (nodes > 0 && records_.try_claim(one)) {
      mine.nodes.splice(one.nodes);
      one.count();
      records_.release(one);
    }
    return true;
  });
  mine.count();
  Settings::observer::waiting(waiting);
}

#ifndef ASSAY_ATOMICS_HEADER
static_assert(policy<hazard_pointers>);
#endif

}  // namespace assay::reclaim::inline ASSAY_ABI

#endif  // ASSAY_RECLAIM_HAZARD_POINTERS_H_
