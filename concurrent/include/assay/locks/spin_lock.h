// A lock in one byte, for what is held during a few instructions only.
//
//     assay::sync::spin_lock lock;
//     {
//       const std::scoped_lock held(lock);
//       ... a few instructions ...
//     }
//
// A std::mutex takes 40 bytes, and puts threads to sleep that would have had the lock before they
// slept. This one is for a place in every node of a structure. It is not fair: a thread that waits
// may be overtaken any number of times. A thread that holds it does not lock it again. Builds
// without NDEBUG find one that is unlocked though nobody holds it, or destroyed while it is held.
//
// Threads that wait only read, so that the lock's cache line stays with all of them, until they see
// it free (test and test-and-set: Rudolph and Segall 1984). They read less and less often, so that
// not all try at once (Anderson 1990). Before long they give up their processor, which the holder
// may be waiting for.

#ifndef ASSAY_LOCKS_SPIN_LOCK_H_
#define ASSAY_LOCKS_SPIN_LOCK_H_

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/point.h"

namespace assay::sync::inline ASSAY_ABI {

class spin_lock {
 public:
#if ASSAY_CHECKS
  constexpr spin_lock() noexcept = default;
  ~spin_lock() {
    misuse::require(!taken_.load(memory_order_relaxed),
                    "a spin lock is destroyed while it is held");
  }
  spin_lock(const spin_lock&) = delete;
  spin_lock& operator=(const spin_lock&) = delete;
#endif

  // Waits until the lock is free, and takes it.
  void lock() noexcept {
    ASSAY_LOCK_STEP(wanted, this);
    backoff backoff;
    while (!try_lock()) backoff.wait();
  }

  // Wait-free; fails only if the lock was taken.
  [[nodiscard]] bool try_lock() noexcept {
    // The relaxed load is only there to avoid the exchange, which would take the cache line.
    const bool got = !taken_.load(memory_order_relaxed) &&
                     !taken_.exchange(true, memory_order_acquire);  // (1) with (2)
    if (got) ASSAY_LOCK_STEP(taken, this);
    return got;
  }

  // By its holder. Wait-free.
  void unlock() noexcept {
    if constexpr (misuse::checks) {
      misuse::require(taken_.load(memory_order_relaxed),
                      "a spin lock that nobody holds is unlocked");
    }
    ASSAY_LOCK_STEP(released, this);
    taken_.store(false, memory_order_release);  // (2) with (1)
  }

 private:
  atomic<bool> taken_{false};
};

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_LOCKS_SPIN_LOCK_H_
