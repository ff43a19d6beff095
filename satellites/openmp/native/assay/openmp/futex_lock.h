// A lock in 32 bits, as omp_lock_t has no more: who waits looks for a while, then sleeps.
//
// Free, taken, or taken with perhaps somebody asleep (Drepper 2011, "Futexes are tricky", mutex 3).
// All zero is a free lock, so that memory that a program zeroed is one.

#ifndef ASSAY_OPENMP_FUTEX_LOCK_H_
#define ASSAY_OPENMP_FUTEX_LOCK_H_

#include <cstdint>

#include "assay/base/atomics.h"
#include "assay/base/point.h"
#include "assay/openmp/futex.h"
#include "assay/openmp/waiting.h"

namespace assay::omp {

class futex_lock {
 public:
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  [[nodiscard]] bool try_lock() noexcept {
    std::uint32_t seen = free;
    return state_.compare_exchange_strong(seen, taken, memory_order_acquire,  // (1) with (2)
                                          memory_order_relaxed);
  }
  void unlock() noexcept {
    ASSAY_POINT("openmp_unlocks");
    // (2) with (1): what was done under the lock
    if (state_.exchange(free, memory_order_release) == contended) futex::wake_one(state_);
  }

 private:
  enum : std::uint32_t { free, taken, contended };

  void wait() noexcept {
    patience patience;
    for (unsigned looked = 0; looked < looks && patience.look_again(); ++looked) {
      if (state_.load(memory_order_relaxed) == free && try_lock()) return;
    }
    while (state_.exchange(contended, memory_order_acquire) != free) {  // (1) with (2)
      ASSAY_POINT("openmp_waits_for_lock");
      futex::sleep_while(state_, contended);
    }
  }

  // Some 10 us: longer than most sections take, and than a thread takes to sleep and wake.
  static constexpr unsigned looks = 400;

  futex::word state_{free};
};

static_assert(sizeof(futex_lock) == sizeof(std::uint32_t));

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_FUTEX_LOCK_H_
