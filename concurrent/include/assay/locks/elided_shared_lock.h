// elided_lock.h for readers and writers. Sections that only read always run concurrently. Where
// there are transactions, they also run concurrently with sections that write, unless they
// conflict.
//
//     assay::sync::elided_shared_lock<> lock;           // over a std::shared_mutex
//
//     { const std::shared_lock reading(lock); sum = low + high; }
//     { const std::scoped_lock writing(lock); ++low; --high; }
//
// A reader of a std::shared_mutex writes the lock, to count itself in and out, and the line that
// this is in goes from one processor to the other. An elided reader writes nothing.
//
// All that elided_lock.h says of sections and rules holds here, too: a thread that shares the lock
// does not lock it again, to read or to write. Builds without NDEBUG find that, for the first 16
// locks that a thread shares at once, and readers that unlock it where nobody shares it.
//
// Why it is right. As in elided_lock.h, for each of the two words. A section that writes reads
// in its transaction that nobody has or shares the lock, a section that reads only that nobody has
// it. So the state keeps all transactions apart from a holder that writes, and `readers_` those
// that write from holders that read, each by the same fence (1). The state stays while anybody
// shares the lock: those who found it dormant are not counted, neither in nor out, and no
// transaction meets them.

#ifndef ASSAY_LOCKS_ELIDED_SHARED_LOCK_H_
#define ASSAY_LOCKS_ELIDED_SHARED_LOCK_H_

#include <chrono>
#include <shared_mutex>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/locks/elided_lock.h"
#include "assay/locks/elision.h"
#include "assay/locks/transaction.h"

namespace assay::sync::inline ASSAY_ABI {

// `Lock` has what std::shared_mutex has, `Observer` and `Form` are as of elided_lock. lock() enters
// a section that reads and writes. Over a std::shared_mutex, which has 56 bytes in glibc on x86-64,
// it has 320 bytes, or 64 if it is compact; in builds with checks up to 64 more.
template <class Lock = std::shared_mutex, class Observer = elision_unobserved,
          class Form = elision_apart>
class elided_shared_lock : public detail::elided_exclusive<elided_shared_lock<Lock, Observer, Form>,
                                                           Lock, Observer, Form, atomic<unsigned>> {
  static_assert(
      requires(Lock lock) {
        lock.lock(), lock.unlock(), static_cast<bool>(lock.try_lock());
        lock.lock_shared(), lock.unlock_shared(), static_cast<bool>(lock.try_lock_shared());
      }, "elided_shared_lock needs a lock that can be shared, such as std::shared_mutex.");

  static_assert(
      elision_observer<Observer>,
      "the second parameter of an elided lock is not an observer: it needs the functions of "
      "elision_unobserved");

 public:
  // Enters a section that only reads, as lock() enters one that writes. If it runs as a
  // transaction, it waits only for a thread that has taken the lock itself, to write.
  void lock_shared() {
    use_.wanted(this);
    if (!transaction::available()) [[likely]] {
      lock_.lock_shared();
      use_.taken_shared();
    } else {
      elision_.enter(
          this, [this] { return elision_.is_open(); }, [this] { return try_share(); },
          [this] { share(); });
    }
  }

  // As try_lock(), for a section that only reads. It may fail while nobody writes: another reader
  // may have the lock to itself for a moment, to open it (elision.h).
  [[nodiscard]] bool try_lock_shared() {
    use_.wanted(this);
    if (!transaction::available()) [[likely]] {
      if (!lock_.try_lock_shared()) return false;
      use_.taken_shared();
      return true;
    }
    return elision_.try_enter(
        this, [this] { return elision_.is_open(); }, [this] { return try_share(); });
  }

  // As try_lock_until() and try_lock_for(), for a section that only reads.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& end)
    requires requires(Lock& lock) { static_cast<bool>(lock.try_lock_shared_until(end)); }
  {
    use_.wanted(this);
    if (!transaction::available()) [[likely]] {
      if (!lock_.try_lock_shared_until(end)) return false;
      use_.taken_shared();
      return true;
    }
    return elision_.enter_in_time(
        this, [this] { return elision_.is_open(); }, [&] { return Clock::now() < end; },
        [&] {
          if (elision_.is_to_open()) open();
          return lock_.try_lock_shared_until(end) && (shared(), true);
        });
  }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time)
    requires requires(Lock& lock) { static_cast<bool>(lock.try_lock_shared_for(time)); }
  {
    return try_lock_shared_until(exclusive::end_of(time));
  }

  // Ends a section that only reads, as unlock() ends one that writes.
  void unlock_shared() {
    if (transaction::available()) [[unlikely]] {
      if (elision_.leave(this)) return;
      use_.given_back_shared();
      if (!elision_.is_dormant()) readers_.fetch_sub(1, memory_order_release);  // (4) with (5)
    } else {
      use_.given_back_shared();
    }
    lock_.unlock_shared();
  }

 private:
  using exclusive =
      detail::elided_exclusive<elided_shared_lock, Lock, Observer, Form, atomic<unsigned>>;
  friend exclusive;
  using exclusive::elision_;
  using exclusive::lock_;
  using exclusive::readers_;
  using exclusive::use_;

  [[nodiscard]] bool is_free() const noexcept {
    return elision_.is_open() && readers_.load(memory_order_acquire) == 0;  // (5) with (4)
  }

  // Where there are transactions.
  void share() {
    if (elision_.is_to_open()) open();
    lock_.lock_shared();
    shared();
  }
  bool try_share() {
    if (!lock_.try_lock_shared()) return false;
    shared();
    return true;
  }
  // Where nobody writes, no writer does it. It does not wait for readers who are always there: with
  // them it stays dormant.
  void open() {
    if (!lock_.try_lock()) return;
    elision_.taken();
    elision_.given_back();
    lock_.unlock();
  }
  void shared() noexcept {
    use_.taken_shared();
    if (elision_.is_dormant()) return;
    readers_.fetch_add(1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);  // (1)
  }
};

// As compact_elided_lock.
template <class Lock = std::shared_mutex, class Observer = elision_unobserved>
using compact_elided_shared_lock = elided_shared_lock<Lock, Observer, elision_compact>;

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_LOCKS_ELIDED_SHARED_LOCK_H_
