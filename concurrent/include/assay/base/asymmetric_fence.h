// Two threads each write a word and then read the other's. One of them does so all the time, the
// other hardly ever.
//
//     reader, often:                          reclaimer, now and then:
//       announced.store(p, release);            unlinked.store(p, release);
//       light_fence();                          heavy_fence();
//       if (unlinked.load(acquire) != p) ...    if (announced.load(acquire) != p) ...
//
// At least one of them must see what the other wrote. Acquire and release do not give that: a
// processor may keep a store in its buffer while later loads go ahead. A sequentially consistent
// fence on both sides does, at 3.2 ns each here, which is as much as a whole operation in a small
// map may cost. membarrier(2), which Linux has since 4.14, makes every processor that runs a thread
// of this process pass a full fence: then the frequent side needs none, and only keeps the compiler
// from moving accesses across.
//
// The promise, after Goldblatt's proposal P1202R5 (2022): a light and a heavy fence, and two heavy
// ones, order memory as two fences of memory_order_seq_cst do. Two light ones promise nothing. If
// membarrier is not available when the program starts (older kernels, sandboxes), both are such
// fences.
//
// A sandbox that the program enters later must allow membarrier: light fences rely on it by then,
// other threads may be in the middle of one, and nothing could take its place. If membarrier is
// refused, a heavy fence ends the program with a message.
//
// Both may be called by any thread at any time. A light fence is wait-free, and costs a load and a
// predicted branch. A heavy fence is a system call that waits for no other thread to do anything:
// measured here on two processors, 0.6 us when the process has no other thread running, 1.1 us when
// it has one, whose processor is interrupted.

#ifndef ASSAY_BASE_ASYMMETRIC_FENCE_H_
#define ASSAY_BASE_ASYMMETRIC_FENCE_H_

#include "assay/base/atomics.h"
#include "assay/base/sanitizers.h"

// ThreadSanitizer knows nothing of the system call. A model checker brings fences of its own.
#if ASSAY_THREAD_SANITIZER || defined(ASSAY_ATOMICS_HEADER) || !defined(__linux__)
#define ASSAY_MEMBARRIER 0
#else
#define ASSAY_MEMBARRIER 1
#endif

#if ASSAY_MEMBARRIER
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#endif

namespace assay::sync {

#if ASSAY_MEMBARRIER

namespace detail {

inline bool membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// Whether the kernel serves this process.
inline bool register_membarrier() { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }

// Known before main() begins, and the same from then on. Until then it is false, which is the
// careful answer: a light fence is then a full one, and goes with a heavy one of either kind.
inline const bool light_is_free = register_membarrier();

}  // namespace detail

inline void light_fence() {
  if (detail::light_is_free) {
    asm volatile("" ::: "memory");
  } else {
    atomic_thread_fence(memory_order_seq_cst);
  }
}

inline void heavy_fence() {
  if (detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // Not registered yet: before main() begins, or in a forked child that did not inherit it.
  if (detail::register_membarrier() && detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  if (detail::light_is_free) {
    std::fputs("assay: membarrier(2), on which fences rely, was refused after the program began\n",
               stderr);
    std::abort();
  }
  atomic_thread_fence(memory_order_seq_cst);
}

#elif !defined(ASSAY_ATOMICS_HEADER)

inline void light_fence() { atomic_thread_fence(memory_order_seq_cst); }
inline void heavy_fence() { atomic_thread_fence(memory_order_seq_cst); }

#endif

}  // namespace assay::sync

#endif  // ASSAY_BASE_ASYMMETRIC_FENCE_H_
