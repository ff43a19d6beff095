// Sleeping until a word changes, by the kernel at once. std::atomic::wait() of gcc 12 gives up the
// processor four times before it sleeps. Where the kernel has put two threads that wait for each
// other on one processor, they then take turns there for tens of milliseconds, as it does not move
// threads that have just run, with the other processor idle; who sleeps is woken on an idle one.

#ifndef ASSAY_OPENMP_FUTEX_H_
#define ASSAY_OPENMP_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

#include "assay/base/atomics.h"

namespace assay::omp::futex {

using word = atomic<std::uint32_t>;
static_assert(sizeof(word) == sizeof(std::uint32_t));

// Returns when another thread has woken this one, at once if the word has another value, and now
// and then for no reason.
inline void sleep_while(word& at, std::uint32_t value) noexcept {
  ::syscall(SYS_futex, &at, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
inline void wake_one(word& at) noexcept {
  ::syscall(SYS_futex, &at, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
inline void wake_all(word& at) noexcept {
  ::syscall(SYS_futex, &at, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace assay::omp::futex

#endif  // ASSAY_OPENMP_FUTEX_H_
