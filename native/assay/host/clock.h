// The clocks of every measurement, in nanoseconds.

#ifndef ASSAY_HOST_CLOCK_H_
#define ASSAY_HOST_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <ctime>

namespace assay::host {

// Nanoseconds since an arbitrary fixed moment. It never goes back, and takes about 20 ns where the
// kernel offers it without a system call.
inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// Processor time of the calling thread. It does not advance while the thread waits or another has
// its processor. A system call.
inline std::uint64_t processor_time_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace assay::host

#endif  // ASSAY_HOST_CLOCK_H_
