// single, and single with copyprivate.

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

bool comes_first(member& mine) {
  std::uint64_t mine_next = mine.singles++;
  return mine.in->single.compare_exchange_strong(mine_next, mine_next + 1, memory_order_relaxed);
}

}  // namespace

ASSAY_OPENMP_ENTRY bool GOMP_single_start() { return comes_first(*enter().me); }

// Null for the thread that runs the construct, which calls GOMP_single_copy_end(). A barrier, which
// the program calls, follows for all: until then nobody writes `copied` again.
ASSAY_OPENMP_ENTRY void* GOMP_single_copy_start() {
  member& mine = *enter().me;
  if (comes_first(mine)) return nullptr;
  static_cast<void>(wait_at_barrier(__builtin_return_address(0), false));
  return enter().me->in->copied;
}

ASSAY_OPENMP_ENTRY void GOMP_single_copy_end(void* data) {
  enter().me->in->copied = data;
  static_cast<void>(wait_at_barrier(__builtin_return_address(0), false));
}

}  // namespace assay::omp
