// Elided locks whose sections the laboratory counts, in probes over all of them together.
//
//     assay::probe::elided_lock<std::mutex> lock;          // else as sync::elided_lock
//
// The probes record nothing where there are no transactions.

#ifndef ASSAY_PROBE_ELIDED_LOCKS_H_
#define ASSAY_PROBE_ELIDED_LOCKS_H_

#include <mutex>
#include <shared_mutex>

#include "assay/locks/elided_lock.h"
#include "assay/locks/elided_shared_lock.h"
#include "assay/locks/transaction.h"
#include "assay/probe/locks_elided.h"
#include "assay/probe/probe.h"

namespace assay::probe {

namespace elision {

inline counter attempts{"elision_attempts", "transactions that elided locks began"};
inline counter commits{"elision_commits", "sections of elided locks that committed"};
inline counter fallbacks{"elision_fallbacks", "sections that took the lock"};
inline counter held{"elision_aborts_held", "that found the lock held or dormant"};
inline counter conflict{"elision_aborts_conflict", "that another thread ended"};
inline counter capacity{"elision_aborts_capacity", "that accessed too much"};
inline counter asked{"elision_aborts_asked", "that the section or an inner lock ended"};
inline counter other{"elision_aborts_other", "that anything else ended"};

}  // namespace elision

struct elision_observer {
  static void created() noexcept { lock_is_elided(); }
  static void attempted() noexcept { elision::attempts.add(); }
  static void committed() noexcept { elision::commits.add(); }
  static void found_held() noexcept { elision::held.add(); }
  static void fell_back() noexcept { elision::fallbacks.add(); }
  static void aborted(sync::transaction::cause cause) noexcept {
    switch (cause) {
      case sync::transaction::cause::conflict:
        return elision::conflict.add();
      case sync::transaction::cause::capacity:
        return elision::capacity.add();
      case sync::transaction::cause::asked:
        return elision::asked.add();
      default:
        return elision::other.add();
    }
  }
};

template <class Lock = std::mutex>
using elided_lock = sync::elided_lock<Lock, elision_observer>;
template <class Lock = std::shared_mutex>
using elided_shared_lock = sync::elided_shared_lock<Lock, elision_observer>;

}  // namespace assay::probe

#endif  // ASSAY_PROBE_ELIDED_LOCKS_H_
