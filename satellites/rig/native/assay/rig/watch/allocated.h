// How much memory does the process have from its allocator, and from the arena of maps?

#ifndef ASSAY_RIG_WATCH_ALLOCATED_H_
#define ASSAY_RIG_WATCH_ALLOCATED_H_

#include <cstdint>

namespace assay::rig {

// Bytes allocated and not freed, of all threads. glibc and the arena count what a living thread
// keeps at hand for its next allocations as allocated; sanitizers' allocators do not.
[[nodiscard]] std::uint64_t allocated_bytes();

}  // namespace assay::rig

#endif  // ASSAY_RIG_WATCH_ALLOCATED_H_
