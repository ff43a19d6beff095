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
// membarrier is not available (older kernels, sandboxes), both are such fences.
//
// The process asks the kernel for membarrier once: in the first prepare_light_fences(), or else in
// the first heavy fence. Until then a light fence is a full one. No code runs before main().
//
// A sandbox that the program enters later must allow membarrier: light fences rely on it by then,
// other threads may be in the middle of one, and nothing could take its place. If membarrier is
// refused, a heavy fence ends the program with a message.
//
// All may be called by any thread at any time. A light fence is wait-free, and costs a load and a
// predicted branch. A heavy fence is a system call that waits for no other thread to do anything:
// measured here on two processors, 0.6 us when the process has no other thread running, 1.1 us when
// it has one, whose processor is interrupted. The request to the kernel took 2 us in a process of
// one thread, and 12 ms in one of several, because the kernel waits until all processors have
// changed tasks.
//
// Why it is right. `availability` is `unknown` at first, and changes once, to `available` or to
// `refused`. A light fence may read any value that it ever had, so that a relaxed load is enough:
// - It is nothing only if it read `available`. Then no heavy fence of the process ever finds
//   `refused`: each passes membarrier or ends the program.
// - Otherwise it is a full fence, and pairs with a heavy fence of either kind.
// A heavy fence is a full fence without membarrier only if it read `refused`. Then no light fence
// of the process ever reads `available`, and all are full fences.

#ifndef ASSAY_BASE_ASYMMETRIC_FENCE_H_
#define ASSAY_BASE_ASYMMETRIC_FENCE_H_

#include "assay/base/abi.h"
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

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#endif

namespace assay::sync {

#if ASSAY_MEMBARRIER

namespace detail {

inline bool membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// Whether the kernel serves this process.
inline bool register_membarrier() { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }

enum class availability : std::uint8_t { unknown, available, refused };

// constinit: nothing runs before main().
ASSAY_ONE_IN_PROCESS inline constinit atomic<availability> membarrier_availability{
    availability::unknown};

// Asks the kernel if nobody has, and returns the answer for the process. The first answer stays, as
// the kernel may serve one thread and refuse another.
inline availability decide_availability() {
  availability known = membarrier_availability.load(memory_order_relaxed);
  if (known != availability::unknown) return known;
  const availability answer =
      register_membarrier() ? availability::available : availability::refused;
  return membarrier_availability.compare_exchange_strong(known, answer, memory_order_relaxed)
             ? answer
             : known;
}

}  // namespace detail

// Makes light fences cheap from now on, where the kernel can. Lock-free; never fails; after the
// first call a load and a branch. Domains of reclamation call it when they are constructed.
inline void prepare_light_fences() { detail::decide_availability(); }

inline void light_fence() {
  if (detail::membarrier_availability.load(memory_order_relaxed) == detail::availability::available)
      [[likely]] {
    asm volatile("" ::: "memory");
  } else {
    atomic_thread_fence(memory_order_seq_cst);
  }
}

inline void heavy_fence() {
  if (detail::decide_availability() == detail::availability::refused) {
    atomic_thread_fence(memory_order_seq_cst);
    return;
  }
  if (detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  // A forked child may not have inherited what its parent asked for.
  if (detail::register_membarrier() && detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  std::fputs("assay: membarrier(2), on which fences rely, was refused after it was granted\n",
             stderr);
  std::abort();
}

#elif !defined(ASSAY_ATOMICS_HEADER)

inline void prepare_light_fences() {}
inline void light_fence() { atomic_thread_fence(memory_order_seq_cst); }
inline void heavy_fence() { atomic_thread_fence(memory_order_seq_cst); }

#endif

}  // namespace assay::sync

#endif  // ASSAY_BASE_ASYMMETRIC_FENCE_H_
