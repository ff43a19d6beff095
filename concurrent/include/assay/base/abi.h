// Builds with checks of misuse, and builds without.
//
//     namespace assay::reclaim::inline ASSAY_ABI { ... misuse::require(owner == me, "..."); ... }
//
// Builds without NDEBUG check how locks, domains and handles are used: one line on standard error
// names the mistake, and the program ends. In builds with NDEBUG the checks are gone, and the same
// mistakes are undefined behaviour. ASSAY_CHECKS=0 or 1 decides otherwise.
//
// What differs between the two kinds is in the inline namespace ASSAY_ABI, so that files of both
// kinds can be in one program, but cannot hand an object to each other: that does not link.
//
// Builds without exceptions (-fno-exceptions) are refused: memory runs out, and comparisons and
// copies of keys may throw.

#ifndef ASSAY_BASE_ABI_H_
#define ASSAY_BASE_ABI_H_

#ifndef __cpp_exceptions
#error "assay reports by exceptions that memory has run out: compile without -fno-exceptions"
#endif

#ifndef ASSAY_CHECKS
#ifdef NDEBUG
#define ASSAY_CHECKS 0
#else
#define ASSAY_CHECKS 1
#endif
#endif

// Marks what is one in a process: with -fvisibility=hidden each shared library would have its own.
#define ASSAY_ONE_IN_PROCESS [[gnu::visibility("default")]]

#if ASSAY_CHECKS
#include <cstdio>
#include <cstdlib>
#define ASSAY_ABI checked
#else
#define ASSAY_ABI unchecked
#endif

namespace assay::misuse::inline ASSAY_ABI {

inline constexpr bool checks = ASSAY_CHECKS != 0;

// Ends the program unless `right`, in builds with checks.
inline void require([[maybe_unused]] bool right, [[maybe_unused]] const char* otherwise) {
#if ASSAY_CHECKS
  if (right) return;
  std::fprintf(stderr, "assay: %s\n", otherwise);
  std::abort();
#endif
}

}  // namespace assay::misuse::inline ASSAY_ABI

#endif  // ASSAY_BASE_ABI_H_
