// How long should a thread wait before it tries again what another thread was in the way of?
//
//     assay::sync::backoff backoff;
//     while (!try_it()) backoff.wait();
//
// It waits for a few instructions at first, and twice as long each time. After six times, about a
// microsecond in all, it gives up its processor instead: the other thread may be waiting for just
// that one, as happens whenever there are more threads than processors. An object belongs to one
// thread and one attempt. wait() returns after a bounded time and throws nothing.

#ifndef ASSAY_BASE_BACKOFF_H_
#define ASSAY_BASE_BACKOFF_H_

#include <thread>

namespace assay::sync {

class backoff {
 public:
  void wait() noexcept {
    if (pauses_ > most_pauses) {
      std::this_thread::yield();
      return;
    }
    for (unsigned i = 0; i < pauses_; ++i) pause();
    pauses_ *= 2;
  }

  // A moment: some 40 cycles on recent processors, and up to 140.
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

 private:
  // 63 pauses take about a microsecond, which is longer than any holder of a lock needs that has a
  // processor.
  static constexpr unsigned most_pauses = 32;

  unsigned pauses_ = 1;
};

}  // namespace assay::sync

#endif  // ASSAY_BASE_BACKOFF_H_
