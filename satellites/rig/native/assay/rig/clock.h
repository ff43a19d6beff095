// When did an operation begin and end, so that threads on different processors can be compared?
//
// A counter that all threads increase would answer it, and would order the very operations that are
// under test: each increase is a fence. So every thread reads the clock of its own processor:
//
//     const stamp_clock clock;                  // once; takes some milliseconds
//     const auto call = clock.before();
//     map.insert(1, 2);
//     const auto end = clock.after();           // clock.ns(call) <= the insert <= clock.ns_up(end)
//
// On x86-64 that is the time-stamp counter where it runs at one rate in all states of the processor
// (CPUID 80000007H, bit 8 of EDX) and the kernel keeps time by it, which it does only once it has
// seen that the counters of all processors agree. Elsewhere it is CLOCK_MONOTONIC, which the kernel
// keeps the same for all processors. Two threads, on the first processor and on each other one in
// turn, then hand a token to and fro: a stamp that is earlier than one which was taken before it
// was handed over shows by how much clocks differ. Operations are made to last longer by twice the
// greatest difference seen, at both ends, as two other processors may differ by as much. That may
// hide that a history is wrong, also because operations of one thread then overlap each other, and
// can never make a right one look wrong.
//
// What the token shows is how much a difference exceeds the time that handing it over takes, some
// 100 ns. A smaller one is not seen, and what one processor tells another of by cache lines alone
// may take less time than that. That such a difference does not make a right history look wrong
// rests on the kernel, which compares the counters in the same way when it starts each processor
// and sets those right that can be, and on the manufacturer, whose counters start together.

#ifndef ASSAY_RIG_CLOCK_H_
#define ASSAY_RIG_CLOCK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "assay/host/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace assay::rig {

// Any thread may call it at any time.
class stamp_clock {
 public:
  stamp_clock();
  // Takes clocks to differ by `difference`, in units of the stamps.
  explicit stamp_clock(std::uint64_t difference);

  // A moment before everything that follows. Nothing that follows in the program is executed before
  // the clock is read: lfence waits for the reading, and holds back the loads and stores behind it.
  [[nodiscard]] std::uint64_t before() const {
    const std::uint64_t now = read();
    fence();
    return now;
  }

  // A moment after everything that went before: the stores, too, have reached the memory that all
  // processors share, for which mfence waits.
  [[nodiscard]] std::uint64_t after() const {
    fence();
    return read();
  }

  // A stamp in nanoseconds after `start`, another stamp, rounded down or up and less or more the
  // uncertainty: the widest interval that an answer of before() and after() may mean.
  [[nodiscard]] std::int64_t ns(std::uint64_t stamp, std::uint64_t start) const;
  [[nodiscard]] std::int64_t ns_up(std::uint64_t stamp, std::uint64_t start) const;

  // By how much clocks of two processors may differ, in nanoseconds.
  [[nodiscard]] std::int64_t uncertainty_ns() const { return uncertainty_ns_; }

 private:
  [[nodiscard]] std::uint64_t read() const {
#if defined(__x86_64__)
    if (counts_ticks_) return __rdtsc();
#endif
    return host::now_ns();
  }
  static void fence() {
#if defined(__x86_64__)
    _mm_mfence();
    _mm_lfence();
#else
    // Pairs with nothing: it keeps the clock's reading and the operation in their order.
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  void widen_by(std::uint64_t difference);

  bool counts_ticks_ = false;
  double ns_per_tick_ = 1;
  std::int64_t uncertainty_ns_ = 0;
};

// The greatest difference between stamps of the first of the processors and of each other one that
// a token between them shows. `stamp` answers the time in the thread that calls it, the first (0)
// or the second (1).
[[nodiscard]] std::uint64_t greatest_difference(
    const std::function<std::uint64_t(unsigned thread)>& stamp,
    std::span<const unsigned> processors);

}  // namespace assay::rig

#endif  // ASSAY_RIG_CLOCK_H_
