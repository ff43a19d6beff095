// parallel and barrier.

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/team.h"

namespace assay::omp {

ASSAY_OPENMP_ENTRY void GOMP_parallel(void (*function)(void*), void* data, unsigned threads,
                                      unsigned flags) {
  static_cast<void>(enter());
  run_parallel(function, data, team_size(threads), flags & 7U);
}

ASSAY_OPENMP_ENTRY void GOMP_parallel_start(void (*function)(void*), void* data, unsigned threads) {
  static_cast<void>(enter());
  begin_parallel(function, data, team_size(threads), 0);
}

ASSAY_OPENMP_ENTRY void GOMP_parallel_end() {
  static_cast<void>(enter());
  end_parallel();
}

ASSAY_OPENMP_ENTRY void GOMP_barrier() {
  static_cast<void>(enter());
  static_cast<void>(wait_at_barrier(__builtin_return_address(0), false));
}

ASSAY_OPENMP_ENTRY bool GOMP_barrier_cancel() {
  static_cast<void>(enter());
  return wait_at_barrier(__builtin_return_address(0), true);
}

}  // namespace assay::omp
