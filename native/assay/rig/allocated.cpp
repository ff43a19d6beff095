#include "assay/rig/allocated.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ASSAY_SANITIZED 1
#endif
#endif

#ifdef ASSAY_SANITIZED
#include <cstddef>
// As in <sanitizer/allocator_interface.h>, which gcc 12 does not bring.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" void __sanitizer_purge_allocator();
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
// NOLINTEND(bugprone-reserved-identifier)
#else
#include <malloc.h>
#endif

namespace assay::rig {

std::uint64_t allocated_bytes() {
#ifdef ASSAY_SANITIZED
  __sanitizer_purge_allocator();  // what was freed lately is kept for a while, and counted
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
#endif
}

}  // namespace assay::rig
