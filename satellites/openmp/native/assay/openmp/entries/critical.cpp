// critical, with and without a name, and the atomic constructs that the processor has no
// instruction for. A section that the thread runs ahead into ends that first.

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/exclusion.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

// Never destroyed: threads may be in sections when the program ends.
exclusion& unnamed() {
  static auto* const one = new exclusion;
  return *one;
}
exclusion& of_atomics() {
  static auto* const one = new exclusion;
  return *one;
}

void begin(exclusion& section, const void* from) {
  static_cast<void>(enter());
  section.lock(from);
}
void end(exclusion& section) {
  static_cast<void>(enter());
  section.unlock();
}

}  // namespace

ASSAY_OPENMP_ENTRY void GOMP_critical_start() { begin(unnamed(), __builtin_return_address(0)); }
ASSAY_OPENMP_ENTRY void GOMP_critical_end() { end(unnamed()); }

ASSAY_OPENMP_ENTRY void GOMP_critical_name_start(void** name) {
  begin(exclusion_of(name), __builtin_return_address(0));
}
ASSAY_OPENMP_ENTRY void GOMP_critical_name_end(void** name) { end(exclusion_of(name)); }

ASSAY_OPENMP_ENTRY void GOMP_atomic_start() { begin(of_atomics(), __builtin_return_address(0)); }
ASSAY_OPENMP_ENTRY void GOMP_atomic_end() { end(of_atomics()); }

}  // namespace assay::omp
