// The ready tasks of one member of a team: it pushes and pops at one end, all others steal at the
// other. The deque of Chase and Lev (2005) with the memory orders of Lê et al. (2013, figure 1),
// but of a fixed size: where there is no room, the thread that made a task runs it at once, as
// OpenMP allows, so that no array ever grows.

#ifndef ASSAY_OPENMP_DEQUE_H_
#define ASSAY_OPENMP_DEQUE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "assay/base/atomics.h"
#include "assay/base/point.h"

namespace assay::omp {

struct task;

class deque {
 public:
  static constexpr std::int64_t capacity = 256;

  // By the owner. Wait-free; false if it is full.
  [[nodiscard]] bool push(task* ready) noexcept {
    const std::int64_t bottom = bottom_.load(memory_order_relaxed);
    const std::int64_t top =
        top_.load(memory_order_acquire);  // (1) with (4): a place is read before it is reused
    if (bottom - top >= capacity) return false;
    at(bottom).store(ready, memory_order_relaxed);
    ASSAY_POINT("openmp_pushes");
    bottom_.store(bottom + 1, memory_order_release);  // (2) with (3): the task's contents
    return true;
  }

  // By the owner: the task that was pushed last, or null. Lock-free.
  [[nodiscard]] task* pop() noexcept {
    const std::int64_t bottom = bottom_.load(memory_order_relaxed) - 1;
    if (bottom < top_.load(memory_order_relaxed))
      return nullptr;  // empty: no thief ever lowers `top`
    // (2) with (3) here as well: a thief may read this value, and what it then steals was pushed
    // before.
    bottom_.store(bottom, memory_order_release);
    atomic_thread_fence(
        memory_order_seq_cst);  // (5) with (6): owner or thief sees the other's step
    ASSAY_POINT("openmp_pops");
    std::int64_t top = top_.load(memory_order_relaxed);
    if (top < bottom) return at(bottom).load(memory_order_relaxed);
    task* last = top == bottom ? at(bottom).load(memory_order_relaxed) : nullptr;
    if (last != nullptr &&
        !top_.compare_exchange_strong(top, top + 1, memory_order_seq_cst, memory_order_relaxed)) {
      last = nullptr;  // a thief has it
    }
    bottom_.store(bottom + 1, memory_order_relaxed);
    return last;
  }

  // By any thread: the oldest task, or null if there is none or another thief was faster.
  // Lock-free.
  [[nodiscard]] task* steal() noexcept {
    std::int64_t top = top_.load(memory_order_acquire);
    ASSAY_POINT("openmp_steal_has_read_top");
    atomic_thread_fence(memory_order_seq_cst);                       // (6) with (5)
    const std::int64_t bottom = bottom_.load(memory_order_acquire);  // (3) with (2)
    if (top >= bottom) return nullptr;
    task* const oldest = at(top).load(memory_order_relaxed);
    ASSAY_POINT("openmp_steals");
    return top_.compare_exchange_strong(top, top + 1, memory_order_seq_cst,  // (4) with (1)
                                        memory_order_relaxed)
               ? oldest
               : nullptr;
  }

  // By any thread: whether it seemed empty at some moment of the call.
  [[nodiscard]] bool empty() const noexcept {
    return bottom_.load(memory_order_relaxed) <= top_.load(memory_order_relaxed);
  }

 private:
  static constexpr std::size_t line = 64;

  [[nodiscard]] atomic<task*>& at(std::int64_t place) noexcept {
    return tasks_[static_cast<std::size_t>(place % capacity)];
  }

  alignas(line) atomic<std::int64_t> top_{0};  // thieves write it, the owner only for the last task
  alignas(line) atomic<std::int64_t> bottom_{0};
  std::array<atomic<task*>, capacity> tasks_{};
};

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_DEQUE_H_
