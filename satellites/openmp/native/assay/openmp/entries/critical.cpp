// critical, with and without a name, and the atomic constructs that the processor has no
// instruction for: elided locks. A section that the thread runs ahead into ends that first.

#include <atomic>
#include <memory>

#include "assay/base/atomics.h"
#include "assay/locks/elided_lock.h"
#include "assay/openmp/entries/entry.h"
#include "assay/openmp/futex_lock.h"
#include "assay/openmp/settings.h"
#include "assay/openmp/statistics.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

struct without_backoff : sync::elision_apart {
  static constexpr bool backs_off = false;
};

// One of the three is in use, the same in the whole process.
class exclusion {
 public:
  void lock() {
    static_cast<void>(enter());
    statistics::used(construct::critical);
    const statistics::wait wait(construct::critical);
    with_lock_in_use([](auto& in_use) { in_use.lock(); });
  }
  void unlock() {
    static_cast<void>(enter());
    with_lock_in_use([](auto& in_use) { in_use.unlock(); });
  }

 private:
  template <class Call>
  void with_lock_in_use(const Call& call) {
    switch (process_settings().critical) {
      case critical_policy::plain:
        return call(plain_);
      case critical_policy::elision:
        return call(elided_);
      case critical_policy::backoff:
        return call(patient_);
    }
  }

  futex_lock plain_;
  sync::elided_lock<futex_lock, sync::elision_unobserved, without_backoff> elided_;
  sync::elided_lock<futex_lock> patient_;
};

// Never destroyed: threads may be in sections when the program ends.
exclusion& unnamed() {
  static auto* const one = new exclusion;
  return *one;
}
exclusion& of_atomics() {
  static auto* const one = new exclusion;
  return *one;
}

// gcc gives each name a pointer, null at first, one for the whole program.
exclusion& named(void** name) {
  const std::atomic_ref<void*> known(*name);
  void* found = known.load(memory_order_acquire);  // (1) with (2)
  if (found == nullptr) {
    auto fresh = std::make_unique<exclusion>();
    if (known.compare_exchange_strong(found, fresh.get(), memory_order_acq_rel,  // (2) with (1)
                                      memory_order_acquire)) {
      return *fresh.release();
    }
  }
  return *static_cast<exclusion*>(found);
}

}  // namespace

ASSAY_OPENMP_ENTRY void GOMP_critical_start() { unnamed().lock(); }
ASSAY_OPENMP_ENTRY void GOMP_critical_end() { unnamed().unlock(); }

ASSAY_OPENMP_ENTRY void GOMP_critical_name_start(void** name) { named(name).lock(); }
ASSAY_OPENMP_ENTRY void GOMP_critical_name_end(void** name) { named(name).unlock(); }

ASSAY_OPENMP_ENTRY void GOMP_atomic_start() { of_atomics().lock(); }
ASSAY_OPENMP_ENTRY void GOMP_atomic_end() { of_atomics().unlock(); }

}  // namespace assay::omp
