// What critical sections are behind: a lock, or one that they elide, as the user chose for the
// whole process.

#ifndef ASSAY_OPENMP_EXCLUSION_H_
#define ASSAY_OPENMP_EXCLUSION_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "assay/base/atomics.h"
#include "assay/host/clock.h"
#include "assay/locks/elided_lock.h"
#include "assay/locks/transaction.h"
#include "assay/openmp/futex_lock.h"
#include "assay/openmp/settings.h"
#include "assay/openmp/statistics.h"

namespace assay::omp {

// Counts for statistics what becomes of sections that begin as transactions (elision.h).
struct elision_counted {
  static void created() noexcept {}
  static void attempted() noexcept { count(elision_event::begun); }
  static void committed() noexcept { count(elision_event::committed); }
  static void found_held() noexcept { count(elision_event::lock_held); }
  static void aborted(sync::transaction::cause why) noexcept {
    using sync::transaction::cause;
    count(why == cause::conflict   ? elision_event::conflict
          : why == cause::capacity ? elision_event::too_large
                                   : elision_event::other);
  }
  static void fell_back() noexcept { count(elision_event::locked); }

 private:
  static void count(elision_event what) noexcept {
    if (statistics::on) [[unlikely]]
      statistics::count_elision(what);
  }
};

// What the calling thread waited for the section that it is in. Counted after that: in a
// transaction, threads that count would meet.
struct section_wait {
  const void* at = nullptr;
  std::uint64_t nanoseconds = 0;
};
inline thread_local constinit section_wait waited;

class exclusion {
  struct without_backoff : sync::elision_apart {
    static constexpr bool backs_off = false;
  };

  template <class Call>
  auto with_lock_in_use(const Call& call) {
    switch (elides_ ? process_settings().critical : critical_policy::plain) {
      case critical_policy::elision:
        return call(elided_);
      case critical_policy::backoff:
        return call(patient_);
      case critical_policy::plain:
        break;
    }
    return call(plain_);
  }

 public:
  // `elides`: as the user chose; otherwise it is a lock.
  explicit exclusion(bool elides = true) noexcept : elides_(elides) {}

  // Blocking. `from`: the place in the program, for statistics.
  void lock(const void* from) {
    statistics::used(construct::critical);
    if (statistics::on) [[unlikely]] {
      lock_and_count(from);
    } else {
      with_lock_in_use([](auto& in_use) { in_use.lock(); });
    }
  }
  [[nodiscard]] bool try_lock() {
    return with_lock_in_use([](auto& in_use) { return in_use.try_lock(); });
  }
  void unlock() {
    with_lock_in_use([](auto& in_use) { in_use.unlock(); });
    if (statistics::on && waited.nanoseconds != 0) [[unlikely]] {
      statistics::count_wait(construct::critical, waited.at, waited.nanoseconds);
      waited = {};
    }
  }

 private:
  void lock_and_count(const void* from) {
    if (try_lock()) return;
    const std::uint64_t began = host::now_ns();
    with_lock_in_use([](auto& in_use) { in_use.lock(); });
    waited = {.at = from, .nanoseconds = host::now_ns() - began + 1};
  }

  const bool elides_;
  futex_lock plain_;
  sync::elided_lock<futex_lock, elision_counted, without_backoff> elided_;
  sync::elided_lock<futex_lock, elision_counted> patient_;
};

// The one of a critical section with a name, for which compilers give a pointer that is null at
// first. It is never destroyed, as threads may be in sections when the program ends.
inline exclusion& exclusion_of(void** name, bool elides = true) {
  const std::atomic_ref<void*> known(*name);
  void* found = known.load(memory_order_acquire);  // (1) with (2)
  if (found == nullptr) {
    auto fresh = std::make_unique<exclusion>(elides);
    if (known.compare_exchange_strong(found, fresh.get(), memory_order_acq_rel,  // (2) with (1)
                                      memory_order_acquire)) {
      return *fresh.release();
    }
  }
  return *static_cast<exclusion*>(found);
}

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_EXCLUSION_H_
