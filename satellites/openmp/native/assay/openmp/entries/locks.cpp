// omp_*_lock and omp_*_nest_lock, in the memory that gcc's omp.h gives them: 4 and 16 bytes. Where
// the program's Fortran has a nestable lock, it has a pointer to one.
//
// A nestable lock belongs to a task (OpenMP 3.0 and later).

#include <cstdint>
#include <new>

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/futex_lock.h"
#include "assay/openmp/task.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

struct nest_lock {
  futex_lock lock;
  int times = 0;                        // how often its owner has set it; the owner's
  atomic<const task*> owner = nullptr;  // relaxed: a task compares with itself
};
static_assert(sizeof(nest_lock) == 16);

bool owns(const nest_lock& lock) noexcept {
  return lock.owner.load(memory_order_relaxed) == self().current;
}

void set(nest_lock& lock) {
  static_cast<void>(enter());
  if (!owns(lock)) {
    lock.lock.lock();
    lock.owner.store(self().current, memory_order_relaxed);
  }
  ++lock.times;
}

void unset(nest_lock& lock) {
  static_cast<void>(enter());
  if (--lock.times != 0) return;
  lock.owner.store(nullptr, memory_order_relaxed);
  lock.lock.unlock();
}

int test(nest_lock& lock) {
  static_cast<void>(enter());
  if (!owns(lock)) {
    if (!lock.lock.try_lock()) return 0;
    lock.owner.store(self().current, memory_order_relaxed);
  }
  return ++lock.times;
}

}  // namespace

ASSAY_OPENMP_ENTRY void omp_init_lock(futex_lock* lock) { ::new (lock) futex_lock; }
ASSAY_OPENMP_ENTRY void omp_init_lock_(futex_lock* lock) { omp_init_lock(lock); }
// A hint says how a lock may be used, not what it does.
ASSAY_OPENMP_ENTRY void omp_init_lock_with_hint(futex_lock* lock, unsigned /*hint*/) {
  omp_init_lock(lock);
}
ASSAY_OPENMP_ENTRY void omp_init_lock_with_hint_(futex_lock* lock, const std::int32_t* /*hint*/) {
  omp_init_lock(lock);
}

ASSAY_OPENMP_ENTRY void omp_destroy_lock(futex_lock* lock) { lock->~futex_lock(); }
ASSAY_OPENMP_ENTRY void omp_destroy_lock_(futex_lock* lock) { omp_destroy_lock(lock); }

ASSAY_OPENMP_ENTRY void omp_set_lock(futex_lock* lock) {
  static_cast<void>(enter());
  lock->lock();
}
ASSAY_OPENMP_ENTRY void omp_set_lock_(futex_lock* lock) { omp_set_lock(lock); }

ASSAY_OPENMP_ENTRY void omp_unset_lock(futex_lock* lock) {
  static_cast<void>(enter());
  lock->unlock();
}
ASSAY_OPENMP_ENTRY void omp_unset_lock_(futex_lock* lock) { omp_unset_lock(lock); }

ASSAY_OPENMP_ENTRY int omp_test_lock(futex_lock* lock) {
  static_cast<void>(enter());
  return lock->try_lock() ? 1 : 0;
}
ASSAY_OPENMP_ENTRY std::int32_t omp_test_lock_(futex_lock* lock) { return omp_test_lock(lock); }

ASSAY_OPENMP_ENTRY void omp_init_nest_lock(nest_lock* lock) { ::new (lock) nest_lock; }
ASSAY_OPENMP_ENTRY void omp_init_nest_lock_(nest_lock** lock) { *lock = new nest_lock; }
ASSAY_OPENMP_ENTRY void omp_init_nest_lock_with_hint(nest_lock* lock, unsigned /*hint*/) {
  omp_init_nest_lock(lock);
}
ASSAY_OPENMP_ENTRY void omp_init_nest_lock_with_hint_(nest_lock** lock,
                                                      const std::int32_t* /*hint*/) {
  omp_init_nest_lock_(lock);
}

ASSAY_OPENMP_ENTRY void omp_destroy_nest_lock(nest_lock* lock) { lock->~nest_lock(); }
ASSAY_OPENMP_ENTRY void omp_destroy_nest_lock_(nest_lock** lock) {
  delete *lock;
  *lock = nullptr;
}

ASSAY_OPENMP_ENTRY void omp_set_nest_lock(nest_lock* lock) { set(*lock); }
ASSAY_OPENMP_ENTRY void omp_set_nest_lock_(nest_lock** lock) { set(**lock); }

ASSAY_OPENMP_ENTRY void omp_unset_nest_lock(nest_lock* lock) { unset(*lock); }
ASSAY_OPENMP_ENTRY void omp_unset_nest_lock_(nest_lock** lock) { unset(**lock); }

ASSAY_OPENMP_ENTRY int omp_test_nest_lock(nest_lock* lock) { return test(*lock); }
ASSAY_OPENMP_ENTRY std::int32_t omp_test_nest_lock_(nest_lock** lock) { return test(**lock); }

}  // namespace assay::omp
