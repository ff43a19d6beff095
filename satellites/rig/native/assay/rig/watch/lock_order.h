// Two locks that threads take in opposite orders make a deadlock only if each has its first when it
// comes to its second. Where one order is taken once in a million calls, that takes hours.
//
//     const provoked_deadlocks provoked;   // while it lives, one at a time in a process
//
// notes in which orders locks are taken, one while another is held. A thread that is about to take
// one against an order that was seen stops there for two milliseconds, with what it holds: if the
// others come to it in their order meanwhile, that is the deadlock, a real one; if there is a
// reason why they cannot, nothing has happened.
//
// It watches locks that say who takes them (ASSAY_LOCK_STEP in assay/base/point.h), such as
// sync::spin_lock, and pthread_mutex_lock, pthread_rwlock_wrlock and pthread_rwlock_rdlock, on
// which std::mutex and std::shared_mutex rest. Sanitizers watch the pthread locks themselves; with
// them, it does not.

#ifndef ASSAY_RIG_WATCH_LOCK_ORDER_H_
#define ASSAY_RIG_WATCH_LOCK_ORDER_H_

#include <sys/types.h>

#include <optional>

namespace assay::rig {

class provoked_deadlocks {
 public:
  provoked_deadlocks();
  ~provoked_deadlocks();
  provoked_deadlocks(const provoked_deadlocks&) = delete;
  provoked_deadlocks& operator=(const provoked_deadlocks&) = delete;
};

// The thread that holds the lock that `thread` waits for. None if it waits for none that is noted.
[[nodiscard]] std::optional<pid_t> holder_of_lock_wanted_by(pid_t thread);

}  // namespace assay::rig

#endif  // ASSAY_RIG_WATCH_LOCK_ORDER_H_
