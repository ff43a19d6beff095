#include "assay/rig/watch/allocated.h"

#include "assay/base/sanitizers.h"
#include "assay/maps/node_arena.h"

#if ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER
#include <cstddef>
// As in <sanitizer/allocator_interface.h>, which gcc 12 does not bring; nor has its ThreadSanitizer
// the first of them.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] void __sanitizer_purge_allocator();
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
// NOLINTEND(bugprone-reserved-identifier)
#else
#include <malloc.h>
#endif

namespace assay::rig {

std::uint64_t allocated_bytes() {
#if ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER
  // What was freed lately is kept for a while, and counted.
  if (&__sanitizer_purge_allocator != nullptr) __sanitizer_purge_allocator();
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd + node_arena::used().bytes_in_use;
#endif
}

}  // namespace assay::rig
