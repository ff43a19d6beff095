// The functions of assay/base/prefetch.h in traced code: the lines are fetched in the simulation.

#ifndef BENCHMARKS_COHERENCE_TRACED_PREFETCH_H_
#define BENCHMARKS_COHERENCE_TRACED_PREFETCH_H_

#include "trace.h"

namespace assay::sync {

inline void prefetch(const void* address) noexcept { coherence::report(address, 1, false); }
inline void prefetch_to_write(const void* address) noexcept { coherence::report(address, 1, true); }

}  // namespace assay::sync

#endif  // BENCHMARKS_COHERENCE_TRACED_PREFETCH_H_
