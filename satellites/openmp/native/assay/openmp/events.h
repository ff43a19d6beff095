// Threads that wait for any of several things that others do: they look for a while, then sleep,
// and are woken when something has changed that might be it. An event count.
//
//     waiter                                  who changes something
//       key = news.prepare();                   change();
//       if (it is so) news.forget();            news.tell();
//       else news.sleep(key);
//
// Either the waiter sees the change, or the other sees that somebody is about to sleep: each writes
// before it reads, with a fence between. That of tell(), which comes after each task that is made,
// costs nothing where membarrier(2) does the work for both sides (asymmetric_fence.h).

#ifndef ASSAY_OPENMP_EVENTS_H_
#define ASSAY_OPENMP_EVENTS_H_

#include <cstdint>

#include "assay/base/asymmetric_fence.h"
#include "assay/base/atomics.h"

namespace assay::omp {

class events {
 public:
  [[nodiscard]] std::uint32_t prepare() noexcept {
    const std::uint32_t key = count_.load(memory_order_acquire);
    sleepers_.fetch_add(1, memory_order_relaxed);
    sync::heavy_fence();  // (1) with (2)
    return key;
  }
  void forget() noexcept { sleepers_.fetch_sub(1, memory_order_relaxed); }
  void sleep(std::uint32_t key) noexcept {
    count_.wait(key, memory_order_acquire);
    forget();
  }

  // Wakes all that sleep, after a change. Wait-free, and a load where nobody sleeps.
  void tell() noexcept {
    sync::light_fence();  // (2) with (1)
    if (sleepers_.load(memory_order_relaxed) == 0) [[likely]]
      return;
    count_.fetch_add(1, memory_order_release);
    count_.notify_all();
  }

 private:
  alignas(64) atomic<std::uint32_t> count_{0};
  atomic<std::uint32_t> sleepers_{0};
};

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_EVENTS_H_
