// A lock in one word whose readers write nothing: they read what it protects, and afterwards ask
// whether anybody has changed it meanwhile.
//
// In a tree every operation passes the root. Were it to write there, if only to say that it reads,
// the processors would take the root's cache line away from each other, and more of them would get
// less done. So each node has a version, which every change of the node moves on (optimistic lock
// coupling: Leis, Haubenschild and Neumann 2019):
//
//     const auto seen = node->lock.look();
//     if (!sync::optimistic_lock::is_free(seen)) return try_again();
//     ... read the node, by relaxed loads ...
//     if (!node->lock.is_still(seen)) return try_again();   // believe nothing of it
//
// To change it, take the lock at the version at which it was read, which needs no is_still():
//
//     if (!node->lock.try_lock(seen)) return try_again();
//     ... change the node, by relaxed stores ...
//     node->lock.unlock();
//
// A node that leaves the tree is given up by unlock_obsolete() instead. Nobody locks it again, and
// whoever still looks at it knows that it is gone.
//
// Why it is right. What readers read is atomic, as it may be changed meanwhile. Say that a reader's
// is_still() is true, and that one of its loads returned what a holder wrote.
// - Had that holder taken the lock after look(), then is_still() would be false: the fence (5),
//   which the store comes after, synchronises with the fence (2), which the load comes before. So
//   the load (3) returns what (4) wrote or something later, and a holder that writes gives up the
//   lock at a version that never was before (Boehm 2012).
// - So the holder had given up the lock before look(). What look() returned was written by the last
//   holder until then, at (6) or (7). (1) synchronises with it, and it with the holders before. So
//   the reader saw all that they wrote, and nothing that one of them had replaced.
// Until is_still() is true, what was read may be half of one state and half of another: use it for
// nothing that could do harm, such as an index out of bounds.
// try_lock(seen) says the same without a fence: it finds the last word that was written, not just
// some word. Later holders come after this one, and cannot have written what it had read before.
//
// Several locks. Say that two threads change something each under a lock of its own, and then read
// what the other one changes. At least one of them sees the other's change, although nothing else
// orders them: (1) and (4) are in the one order that all seq_cst operations have, in which each
// thread's (4) comes before its (1), and a (1) that comes after a (4) finds the lock taken or
// changed. So a read takes effect at its look(), a change when its lock is taken, and both as if
// all threads took turns (the order S of the standard respects what each of them saw). Whoever
// wants to know what several locks protect, all as of one moment, looks at all of them, reads,
// calls have_looked(), and asks is_still() of each. If all are, the moment is that of the call: the
// fence (9) is in the same order, after each look(), and before each (4) that an is_still() did not
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

#ifndef ASSAY_SYNC_OPTIMISTIC_LOCK_H_
#define ASSAY_SYNC_OPTIMISTIC_LOCK_H_

#include <cstdint>

#include "assay/sync/atomics.h"

namespace assay::sync {

class optimistic_lock {
 public:
  // The whole word: bit 0 when obsolete, bit 1 while locked, and how often it was changed.
  using version = std::uint64_t;

  // The word now. What is read after it from what the lock protects is at least as new. Wait-free.
  [[nodiscard]] version look() const noexcept {
    return state_.load(memory_order_seq_cst);  // (1) with (6), (7) and (8), and with all (4)
  }

  [[nodiscard]] static bool is_locked(version seen) noexcept { return (seen & locked) != 0; }
  [[nodiscard]] static bool is_obsolete(version seen) noexcept { return (seen & obsolete) != 0; }
  // Neither: it may be read, and taken.
  [[nodiscard]] static bool is_free(version seen) noexcept {
    return (seen & (locked | obsolete)) == 0;
  }

  // Whether nothing was changed since the lock was seen free, as `seen`. Then all that was read in
  // between is what it was at that version. Wait-free.
  [[nodiscard]] bool is_still(version seen) const noexcept {
    // (2) with (5). It stands between what was read and the load, which may then be relaxed.
    atomic_thread_fence(memory_order_acquire);
    return state_.load(memory_order_relaxed) == seen;  // (3) at least as new as (4)
  }

  // Between the last look() and the first is_still() at several locks: if all are still what they
  // were seen as, they were so at one moment, that of this call. Wait-free.
  static void have_looked() noexcept { atomic_thread_fence(memory_order_seq_cst); }  // (9) with (4)

  // Takes the lock at `seen`, which must be free: if nothing was changed since. What was read in
  // between is then what it still is. Never waits; fails only if somebody else succeeded.
  [[nodiscard]] bool try_lock(version seen) noexcept {
    // (4) an acquire, with (6) and (7), and in one order with (1) and (9); fails with nothing read
    // that anything relies on
    if (!state_.compare_exchange_strong(seen, seen | locked, memory_order_seq_cst,
                                        memory_order_relaxed)) {
      return false;
    }
    // (5) with (2). It stands between (4) and the holder's stores, which may then be relaxed:
    // whoever reads one of them finds the lock taken.
    atomic_thread_fence(memory_order_release);
    return true;
  }

  // Gives the lock up at a new version: what it protects was changed. By its holder, as nobody
  // else writes the word then. Wait-free, like the other two.
  void unlock() noexcept {
    // The bit carries into the version.
    const version next = state_.load(memory_order_relaxed) + locked;
    state_.store(next, memory_order_release);  // (6) with (1) and (4)
  }

  // Gives it up at the version at which it was taken: nothing was changed. By its holder.
  void unlock_unchanged() noexcept {
    const version same = state_.load(memory_order_relaxed) - locked;
    state_.store(same, memory_order_release);  // (7) with (1) and (4)
  }

  // Gives it up for ever: what it protects has left the structure. By its holder.
  void unlock_obsolete() noexcept {
    state_.store(obsolete, memory_order_release);  // (8) with (1)
  }

 private:
  static constexpr version obsolete = 1;
  static constexpr version locked = 2;

  atomic<version> state_{0};
};

}  // namespace assay::sync

#endif  // ASSAY_SYNC_OPTIMISTIC_LOCK_H_
