// A thread is taken off its processor wherever it is, also inside code that has no marked points:
// other people's maps, the allocator, a lock.
//
//     const preemption often(seed);    // up to 4 times, some microseconds apart, at random,
//     handle->ask(...);                // unless the scope ends first
//
// A timer sends this thread a signal, whose handler yields to another thread. On few processors, or
// busy ones, threads would otherwise run one after the other: an operation lasts less than a
// microsecond, and the kernel lets a thread run for milliseconds. (A timer that went off without
// end could leave a thread no time for anything else.) With high randomness the thread stops for a
// time, mostly short and sometimes long (randomness.h), instead of a yield.
//
//     const interruption somewhere(seed, act);
//
// calls `act` instead, in the handler, and only in code of the program itself: what the C and C++
// libraries do may hold a lock of theirs.

#ifndef ASSAY_RIG_INTERFERE_PREEMPTION_H_
#define ASSAY_RIG_INTERFERE_PREEMPTION_H_

#include <cstdint>

namespace assay::rig {

// Preempts the thread that builds it, which also destroys it; one at a time. Uses the signal
// SIGRTMAX - 1.
class preemption {
 public:
  // Does nothing where the kernel gives no timer.
  explicit preemption(std::uint64_t seed);
  ~preemption();
  preemption(const preemption&) = delete;
  preemption& operator=(const preemption&) = delete;
};

// Interrupts the thread that builds it, which also destroys it, again and again some microseconds
// apart, until `act` says that it was enough. The same signal; not together with a preemption.
class interruption {
 public:
  // Whether there can be any: sanitizers have code in the program and handle its signals later.
  static bool possible();
  interruption(std::uint64_t seed, bool (*act)());
  ~interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_INTERFERE_PREEMPTION_H_
