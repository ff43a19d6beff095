// What builds without NDEBUG check of how locks are used: one line on standard error names the
// mistake, and the program ends.
//
//     namespace assay::sync::inline ASSAY_MISUSE_BUILD { ... misuse::require(owner == me, "..."); ... }
//
// What differs between builds with and without checks has different names in a program.

#ifndef ASSAY_BASE_MISUSE_H_
#define ASSAY_BASE_MISUSE_H_

#include <cstdio>
#include <cstdlib>

#ifdef NDEBUG
#define ASSAY_MISUSE_BUILD unchecked
#else
#define ASSAY_MISUSE_BUILD checked
#endif

namespace assay::sync::misuse {

inline void require(bool right, const char* otherwise) {
  if (right) return;
  std::fprintf(stderr, "assay: %s\n", otherwise);
  std::abort();
}

}  // namespace assay::sync::misuse

#endif  // ASSAY_BASE_MISUSE_H_
