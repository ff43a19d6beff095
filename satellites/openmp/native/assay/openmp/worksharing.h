// Loops, sections and single with copyprivate, whose work a team shares.
//
// The constructs that a team comes to are numbered, and each uses one of a few places in turn: with
// nowait, a thread may be some constructs ahead of the others. A thread that is as many ahead as
// there are places waits.

#ifndef ASSAY_OPENMP_WORKSHARING_H_
#define ASSAY_OPENMP_WORKSHARING_H_

#include <array>
#include <cstdint>

#include "assay/base/atomics.h"
#include "assay/openmp/settings.h"

namespace assay::omp {

struct loop_position {};

struct worksharing {
  // Before a region.
  void begin() noexcept {}
};

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_WORKSHARING_H_
