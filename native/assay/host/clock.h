// The clock of every measurement: monotonic, in nanoseconds.

#ifndef ASSAY_HOST_CLOCK_H_
#define ASSAY_HOST_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace assay::host {

// Nanoseconds since an arbitrary fixed moment. It never goes back, and takes about 20 ns where the
// kernel offers it without a system call.
inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace assay::host

#endif  // ASSAY_HOST_CLOCK_H_
