// The names by which Fortran calls the same functions: with an underscore at the end, arguments by
// address, and _8_ where integers have eight bytes.

#ifndef ASSAY_OPENMP_ENTRIES_FORTRAN_H_
#define ASSAY_OPENMP_ENTRIES_FORTRAN_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "assay/openmp/entries/entry.h"

namespace assay::omp {

inline int narrowed(std::int64_t value) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>(value, std::numeric_limits<int>::min(),
                                                   std::numeric_limits<int>::max()));
}

}  // namespace assay::omp

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define ASSAY_OPENMP_FORTRAN(result, name) \
  ASSAY_OPENMP_ENTRY result name##_() { return name(); }

#define ASSAY_OPENMP_FORTRAN_OF_NUMBER(result, name)                                    \
  ASSAY_OPENMP_ENTRY result name##_(const std::int32_t* value) { return name(*value); } \
  ASSAY_OPENMP_ENTRY result name##_8_(const std::int64_t* value) { return name(narrowed(*value)); }
// NOLINTEND(bugprone-macro-parentheses)

#endif  // ASSAY_OPENMP_ENTRIES_FORTRAN_H_
