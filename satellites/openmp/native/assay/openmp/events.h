// Threads that wait for any of several things that others do: they look for a while, then sleep,
// and are woken when something has changed that might be it. An event count.
//
//     waiter                                  who changes something
//       key = news.prepare();                   change();
//       if (it is so) news.forget();            news.tell();
//       else news.sleep(key);
//
// Either the waiter sees the change, or the other sees that somebody is about to sleep: each writes
// before it reads, and all four are sequentially consistent. So `change` must be a
// read-modify-write of that order, and be read in it; on x86-64 this costs nothing, as such a write
// is a fence and such a read an ordinary one. After another change, tell_of_any() has the fence.

#ifndef ASSAY_OPENMP_EVENTS_H_
#define ASSAY_OPENMP_EVENTS_H_

#include <cstdint>

#include "assay/base/atomics.h"
#include "assay/base/point.h"
#include "assay/openmp/futex.h"

namespace assay::omp {

class events {
 public:
  [[nodiscard]] std::uint32_t prepare() noexcept {
    const std::uint32_t key = count_.load(memory_order_acquire);
    ASSAY_POINT("openmp_about_to_sleep");
    sleepers_.fetch_add(1, memory_order_seq_cst);
    return key;
  }
  void forget() noexcept { sleepers_.fetch_sub(1, memory_order_relaxed); }
  void sleep(std::uint32_t key) noexcept {
    ASSAY_POINT("openmp_sleeps");
    // Acquire, with the release of who tells.
    while (count_.load(memory_order_acquire) == key) futex::sleep_while(count_, key);
    forget();
  }

  // Wakes all that sleep, after a change. A load where nobody sleeps.
  void tell() noexcept {
    if (sleepers_.load(memory_order_seq_cst) == 0) [[likely]]
      return;
    ASSAY_POINT("openmp_tells");
    count_.fetch_add(1, memory_order_release);
    futex::wake_all(count_);
  }
  void tell_of_any() noexcept {
    atomic_thread_fence(memory_order_seq_cst);
    tell();
  }
  // Wakes one that sleeps, for a task that the caller runs itself if nobody else does: it may see
  // nobody where somebody is about to sleep.
  void offer() noexcept {
    if (sleepers_.load(memory_order_relaxed) == 0) [[likely]]
      return;
    count_.fetch_add(1, memory_order_release);
    futex::wake_one(count_);
  }

 private:
  alignas(64) futex::word count_{0};
  atomic<std::uint32_t> sleepers_{0};
};

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_EVENTS_H_
