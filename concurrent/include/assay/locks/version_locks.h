// Two versioned locks in one word, one for each child edge of a node of a search tree.
//
// A thread that searched a tree without locks wants to change an edge only if nobody has changed it
// since. So each lock has a version: the thread reads the versions, then the edges, and later takes
// a lock only at the version that it read (David, Guerraoui and Trigonakis 2015):
//
//     const auto seen = node->locks.read();
//     if (sync::version_locks::is_taken(seen, side)) return try_again();
//     ... read node->child[side], decide what it should be ...
//     if (!node->locks.try_lock(side, seen)) return try_again();
//     node->child[side].store(...);
//     node->locks.unlock(side);
//
// try_retire() takes both locks at once, when a node leaves the tree: nobody takes them
// again.
//
// Rules. Any thread calls read() and the two try_lock functions at any time; only the thread that
// holds a lock unlocks it. The edges are atomic, as they may change while they are read. No call
// waits for a holder or throws. All are wait-free but try_lock(), which is lock-free: it tries
// again when the other lock of the pair changed in between. Builds without NDEBUG find a lock that
// is unlocked though nobody holds it.
//
// As published, a lock is a ticket lock, a pair of version and ticket. As nobody ever waits in
// line, the ticket is the version or one more, so here it is the version's lowest bit: odd while
// taken. That leaves 31 bits of version in 32. They go wrong only if a thread stops between read()
// and try_lock() while this edge of this node is changed a multiple of 2^31 times, and then
// goes on before the next change: at 10 million changes of one edge a second, after 215 seconds to
// the very change.

#ifndef ASSAY_LOCKS_VERSION_LOCKS_H_
#define ASSAY_LOCKS_VERSION_LOCKS_H_

#include <cstddef>
#include <cstdint>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"

namespace assay::sync::inline ASSAY_ABI {

class version_locks {
 public:
  // Both versions, and whether the locks are taken.
  using state = std::uint64_t;

  // Both free, at version 0; tests begin elsewhere.
  explicit version_locks(state first = 0) noexcept : state_(first) {}

  // The state now. What is read after it from what the locks protect is at least as new.
  [[nodiscard]] state read() const noexcept {
    return state_.load(memory_order_acquire);  // (1) with (3) and (4)
  }

  [[nodiscard]] static bool is_taken(state seen, std::size_t side) noexcept {
    return (half(seen, side) & 1U) != 0;
  }
  [[nodiscard]] static bool is_any_taken(state seen) noexcept {
    return is_taken(seen, 0) || is_taken(seen, 1);
  }
  // Taken by try_retire(). Two locks taken one by one are never mistaken for it unless both
  // are at their last version.
  [[nodiscard]] static bool is_retired(state seen) noexcept { return seen == retired; }

  // Takes the lock of `side`, 0 or 1, if it was free in `seen` and has not been taken since. Fails
  // only if another thread succeeded.
  [[nodiscard]] bool try_lock(std::size_t side, state seen) noexcept {
    const std::uint32_t version = half(seen, side);
    // The other lock may come and go meanwhile.
    while (half(seen, side) == version) {
      // (2) an acquire, with (3) and (4); fails with nothing read that anything relies on
      if (state_.compare_exchange_weak(seen, seen + step(side), memory_order_acquire,
                                       memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // Takes both locks for ever, if both were free in `seen` and have not been taken since.
  [[nodiscard]] bool try_retire(state seen) noexcept {
    // (2) as above
    return state_.compare_exchange_strong(seen, retired, memory_order_acquire,
                                          memory_order_relaxed);
  }

  // Releases the lock of `side` at a new version: what it protects was changed. Its holder calls
  // this.
  void unlock(std::size_t side) noexcept {
    // The version is the holder's own, so that nobody changes it here. Adding the difference of
    // old and new carries nothing into the other version, also where this one begins anew.
    require_taken(side);
    const std::uint32_t taken = half(state_.load(memory_order_relaxed), side);
    const state change = state{taken + 1U} - state{taken};
    state_.fetch_add(change << shift(side), memory_order_release);  // (3) with (1) and (2)
  }

  // Releases it at the old version: nothing was changed. Its holder calls this.
  void unlock_unchanged(std::size_t side) noexcept {
    require_taken(side);
    state_.fetch_sub(step(side), memory_order_release);  // (4) with (1) and (2)
  }

 private:
  static constexpr state retired = ~state{0};

  void require_taken([[maybe_unused]] std::size_t side) const noexcept {
    if constexpr (misuse::checks) {
      misuse::require(is_taken(state_.load(memory_order_relaxed), side),
                      "a version lock that nobody holds is unlocked");
    }
  }

  static constexpr unsigned shift(std::size_t side) { return side == 0 ? 0U : 32U; }
  static constexpr state step(std::size_t side) { return state{1} << shift(side); }
  static constexpr std::uint32_t half(state of, std::size_t side) {
    return static_cast<std::uint32_t>(of >> shift(side));
  }

  atomic<state> state_;
};

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_LOCKS_VERSION_LOCKS_H_
