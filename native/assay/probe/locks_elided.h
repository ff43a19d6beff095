// Whether the process has made an elided lock that is counted (elided_locks.h): trials then say
// what share of such sections ran as transactions, 0 where there are none.

#ifndef ASSAY_PROBE_LOCKS_ELIDED_H_
#define ASSAY_PROBE_LOCKS_ELIDED_H_

#include <atomic>

namespace assay::probe {

inline std::atomic<bool> locks_elided{false};

// Relaxed: who reads it has started the threads that make maps, and has joined them.
inline void lock_is_elided() noexcept { locks_elided.store(true, std::memory_order_relaxed); }

}  // namespace assay::probe

#endif  // ASSAY_PROBE_LOCKS_ELIDED_H_
