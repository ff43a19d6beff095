// Critical sections and simple locks of programs of clang, elided. Nestable locks are libomp's, as
// is what Fortran calls.

#include "assay/openmp/exclusion.h"

#include <cstdint>

#include "assay/kmpc/thread.h"
#include "assay/openmp/entries/entry.h"

namespace assay::kmpc {
namespace {

using omp::exclusion;

// As omp_sync_hint_t numbers it.
constexpr std::uint32_t hint_nonspeculative = 4;

bool may_elide(std::uint32_t hint) { return (hint & hint_nonspeculative) == 0; }

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): libomp's names
// A name is 32 zero bytes, as libomp has them.
ASSAY_OPENMP_ENTRY void __kmpc_critical(void* /*place*/, std::int32_t /*thread*/, void** name) {
  enter();
  omp::exclusion_of(name).lock(__builtin_return_address(0));
}
ASSAY_OPENMP_ENTRY void __kmpc_critical_with_hint(void* /*place*/, std::int32_t /*thread*/,
                                                  void** name, std::uint32_t hint) {
  enter();
  omp::exclusion_of(name, may_elide(hint)).lock(__builtin_return_address(0));
}
ASSAY_OPENMP_ENTRY void __kmpc_end_critical(void* /*place*/, std::int32_t /*thread*/, void** name) {
  enter();
  omp::exclusion_of(name).unlock();
}

ASSAY_OPENMP_ENTRY void omp_init_lock(exclusion** lock) { *lock = new exclusion; }
ASSAY_OPENMP_ENTRY void omp_init_lock_with_hint(exclusion** lock, std::uint32_t hint) {
  *lock = new exclusion(may_elide(hint));
}
ASSAY_OPENMP_ENTRY void omp_destroy_lock(exclusion** lock) {
  enter();
  delete *lock;
  *lock = nullptr;
}
ASSAY_OPENMP_ENTRY void omp_set_lock(exclusion** lock) {
  enter();
  (*lock)->lock(__builtin_return_address(0));
}
ASSAY_OPENMP_ENTRY void omp_unset_lock(exclusion** lock) {
  enter();
  (*lock)->unlock();
}
ASSAY_OPENMP_ENTRY int omp_test_lock(exclusion** lock) {
  enter();
  return (*lock)->try_lock() ? 1 : 0;
}

// NOLINTEND(bugprone-reserved-identifier)

}  // namespace assay::kmpc
