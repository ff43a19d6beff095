// A lock in one word whose readers write nothing: they read a version, read what the lock protects,
// and then validate the version.
//
// In a tree every operation passes the root. If each of them wrote there, even just to say that it
// reads, the processors would take the root's cache line away from each other, and more processors
// would get less done. So each node has a version, and every change of the node gives it a new one
// (optimistic lock coupling: Leis, Haubenschild and Neumann 2019):
//
//     const auto seen = node->lock.read();
//     if (!sync::optimistic_lock::is_free(seen)) return try_again();
//     ... read the node, by relaxed loads ...
//     if (!node->lock.validate(seen)) return try_again();   // discard all that was read
//
// To change the node, take the lock at the version at which it was read. That validates it, too:
//
//     if (!node->lock.try_lock(seen)) return try_again();
//     ... change the node, by relaxed stores ...
//     node->lock.unlock();
//
// A node that leaves the tree is unlocked by unlock_obsolete() instead. Nobody locks it again, and
// readers that still have its address see that it is gone.
//
// Rules. Any thread calls read(), validate() and try_lock() at any time; only the thread that holds
// the lock unlocks it. What the lock protects is atomic, as it may change while it is read. Until
// it is validated, it may be half of one state and half of another: do nothing with it that could
// do harm, such as using an index that may be out of bounds. All calls are wait-free and noexcept,
// and none of them waits for a holder. Builds without NDEBUG find a lock that is unlocked though
// nobody holds it, or that is to be taken at a version at which it was not free.
//
// Why it is right. Say that validate() returned true, and that one of the reader's loads returned
// what a holder wrote.
// - If that holder had taken the lock after read(), validate() would have returned false. The fence
//   (5), which comes before the store, synchronises with the fence (2), which comes after the load.
//   So the load (3) returns what (4) wrote or something later, and a holder that writes gives the
//   lock up at a version that never was before (Boehm 2012).
// - So the holder gave the lock up before read(), which returned what the last holder until then
//   wrote at (6) or (7). (1) synchronises with that, and that with the holders before. So the
//   reader saw all that they wrote, and nothing that one of them had replaced.
// try_lock(seen) validates without a fence: it finds the last word that was written, not just some
// word. Later holders come after this one, and cannot have written what it had read before.
//
// Several locks. Say that two threads each change something under a lock of its own, and then read
// what the other changes. At least one of them sees the other's change, although nothing else
// orders them. (1) and (4) are in the one order that all seq_cst operations have, in which each
// thread's (4) comes before its (1), and a (1) that comes after a (4) finds the lock taken or
// changed. So a read takes effect at its read(), a change when its lock is taken, and both as if
// all threads took turns (the order S of the standard respects what each of them saw).
//
// To read what several locks protect as of one moment: read() all of them, read what they protect,
// call all_read(), and validate() each. If all are valid, the moment is when all_read() ran: the
// fence (9) is in the same order, after each read(), and before each (4) that a validate() did not
// see. On x86-64 only (9) costs anything: acquire loads and locked instructions are seq_cst there.
//
// Vector loads count too, although C++ has no atomic ones. An aligned word of at most 8 bytes that
// lies in a vector is assumed to be read in one piece, as by every x86-64 and AArch64 processor,
// though no manual promises it. So one vector load is as many relaxed loads, in no order. Fences
// order those too: the compiler moves no access across them, and the processors make no difference
// between loads of vectors and of words. (A word read in two pieces would do no harm either: what
// is said above holds for each of them.) ThreadSanitizer is right to call them races, and is given
// relaxed loads in their place; see assay/maps/vector_search.h.
//
// ThreadSanitizer does not know what fences order. It needs to only for data that is not atomic,
// and such data belongs to the holder alone, whom (4), (6), (7) and (8) order.
//
// A version has 62 bits: at one change each nanosecond, none comes twice within 146 years.

#ifndef ASSAY_LOCKS_OPTIMISTIC_LOCK_H_
#define ASSAY_LOCKS_OPTIMISTIC_LOCK_H_

#include <cstdint>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"

namespace assay::sync::inline ASSAY_ABI {

class optimistic_lock {
 public:
  // The whole word: bit 0 when obsolete, bit 1 while locked, and how often it was changed.
  using version = std::uint64_t;

  // The version now. What is read after it from what the lock protects is at least as new.
  [[nodiscard]] version read() const noexcept {
    return state_.load(memory_order_seq_cst);  // (1) with (6), (7) and (8), and with all (4)
  }

  [[nodiscard]] static bool is_locked(version seen) noexcept { return (seen & locked) != 0; }
  [[nodiscard]] static bool is_obsolete(version seen) noexcept { return (seen & obsolete) != 0; }
  // Neither: what it protects may be read, and the lock taken.
  [[nodiscard]] static bool is_free(version seen) noexcept {
    return (seen & (locked | obsolete)) == 0;
  }

  // Whether nothing was changed since read() returned `seen`, at which the lock was free. If so,
  // all that was read in between is what it was at that version.
  [[nodiscard]] bool validate(version seen) const noexcept {
    // (2) with (5). It is between what was read and the load, which may then be relaxed.
    atomic_thread_fence(memory_order_acquire);
    return state_.load(memory_order_relaxed) == seen;  // (3) at least as new as (4)
  }

  // Call it between the last read() and the first validate() of several locks: if all are valid,
  // they were so at one moment, during this call.
  static void all_read() noexcept { atomic_thread_fence(memory_order_seq_cst); }  // (9) with (4)

  // Takes the lock if nothing was changed since read() returned `seen`, at which the lock was free.
  // Then all that was read in between is as it still is. Fails only if another thread succeeded.
  [[nodiscard]] bool try_lock(version seen) noexcept {
    misuse::require(is_free(seen),
                    "an optimistic lock is to be taken at a version at which it was not free");
    // (4) an acquire, with (6) and (7), and in one order with (1) and (9); fails with nothing read
    // that anything relies on
    if (!state_.compare_exchange_strong(seen, seen | locked, memory_order_seq_cst,
                                        memory_order_relaxed)) {
      return false;
    }
    // (5) with (2). It is between (4) and the holder's stores, which may then be relaxed: whoever
    // reads one of them finds the lock taken.
    atomic_thread_fence(memory_order_release);
    return true;
  }

  // Gives the lock up at a new version: what it protects was changed. By its holder: nobody else
  // writes the word meanwhile.
  void unlock() noexcept {
    require_locked();
    // The bit carries into the version.
    const version next = state_.load(memory_order_relaxed) + locked;
    state_.store(next, memory_order_release);  // (6) with (1) and (4)
  }

  // Gives it up at the version at which it was taken: nothing was changed. By its holder.
  void unlock_unchanged() noexcept {
    require_locked();
    const version same = state_.load(memory_order_relaxed) - locked;
    state_.store(same, memory_order_release);  // (7) with (1) and (4)
  }

  // Gives it up for ever: what it protects has left the structure. By its holder.
  void unlock_obsolete() noexcept {
    require_locked();
    state_.store(obsolete, memory_order_release);  // (8) with (1)
  }

 private:
  static constexpr version obsolete = 1;
  static constexpr version locked = 2;

  void require_locked() const noexcept {
    if constexpr (misuse::checks) {
      misuse::require(is_locked(state_.load(memory_order_relaxed)),
                      "an optimistic lock that nobody holds is unlocked");
    }
  }

  atomic<version> state_{0};
};

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_LOCKS_OPTIMISTIC_LOCK_H_
