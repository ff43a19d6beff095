// A lock whose critical sections run at the same time as long as they do not meet: as transactions
// of the processor, where it has them, and under the lock otherwise.
//
//     assay::sync::elided_lock<> lock;                  // over a std::mutex
//     assay::sync::elided_lock<spin_lock> other;        // over any lock
//
//     {
//       const std::scoped_lock held(lock);
//       ++counts[key];
//     }
//
// Lock elision (Rajwar and Goodman 2001): a thread does not write the lock but begins a transaction
// and reads that the lock is free. The processor sees whether anything that the section reads is
// written by another thread meanwhile; if so, nothing of the section has happened, and it begins
// again, or takes the lock after all. Sections that touch different things then do not wait for
// each other, without any work on the code inside. elision.h says when a section gives up.
//
// Where there are no transactions (transaction.h), it is the lock below it, a relaxed load and one
// branch that always goes the same way. docs/guide/elision.md says what to expect, and when not to
// use it.
//
// Sections. A section may run several times. Only its last run has an effect.
//  - A system call, and with it most waiting, input and output, ends a transaction: such a section
//    always takes the lock, and should do so from the start, by being one of another lock.
//  - abort<code>() of transaction.h sends the section back to its beginning, under the lock.
//  - Elided locks inside of each other are one transaction, which ends with the outermost. Where
//    one of them is held, all are taken. They may be unlocked in any order.
//
// Rules. The thread that locked it unlocks it, and does not lock it again meanwhile. It is
// destroyed when all calls of unlock() have returned: that they have let another thread in is not
// enough, other than with std::mutex. Builds without NDEBUG find a lock that is unlocked by another
// thread, locked again, or destroyed while it is held: one line on standard error, and the program
// ends.
//
// Why it is right. A holder of an open lock stores `held` into the state (elision.h) before its
// section, and a transaction reads the state before its own. The fence (1) keeps the section's
// accesses from taking place before that store is everybody's. So a transaction that has committed
// before the store is seen whole by the holder; one that has not is aborted by the store, as it has
// read the state; and one that begins later finds it held. A transaction that finds by (3) what (2)
// has stored finds all that the holder wrote. Transactions are in one order among themselves by the
// processor.
//
// A holder of a dormant lock stores nothing, and needs nothing: the state is written under the lock
// alone, so no transaction commits between the holder who left it dormant, after (1), and the one
// who opens it by (2). What is done under the lock between these two comes after the one and before
// the other by the lock itself.

#ifndef ASSAY_LOCKS_ELIDED_LOCK_H_
#define ASSAY_LOCKS_ELIDED_LOCK_H_

#include <chrono>
#include <mutex>
#include <type_traits>

#include "assay/base/abi.h"
#include "assay/locks/elision.h"
#include "assay/locks/transaction.h"

namespace assay::sync::inline ASSAY_ABI {

namespace detail {

// What both elided locks share: sections that have the lock to themselves. They need only is_free()
// from `Self`.
template <class Self, class Lock, class Observer, class Form, class Readers>
class alignas(64) elided_exclusive {
 public:
  elided_exclusive(const elided_exclusive&) = delete;
  elided_exclusive& operator=(const elided_exclusive&) = delete;

  // Whether the section that the calling thread is in is a transaction. (The instruction XTEST also
  // says so, but takes microseconds where transactions are emulated.)
  [[nodiscard]] static bool in_transaction() noexcept {
    return transaction::available() && eliding_thread::current().elides();
  }

  // Enters a section. Blocking: after a bounded number of attempts it waits as `Lock` does. Throws
  // what lock() of `Lock` throws, outside of the section. Where there are no transactions, it costs
  // a relaxed load and a branch more than that. Any thread that has not locked it.
  void lock() {
    use_.wanted(this);
    if (!transaction::available()) [[likely]] {
      lock_.lock();
      use_.taken();
    } else {
      elision_.enter(
          this, [this] { return self().is_free(); }, [this] { return try_take(); },
          [this] { take(); });
    }
  }

  // Enters a section if that is possible at once. As wait-free as try_lock() of `Lock`; where
  // there are transactions, after at most 16 of them.
  [[nodiscard]] bool try_lock() {
    use_.wanted(this);
    if (!transaction::available()) [[likely]] {
      if (!lock_.try_lock()) return false;
      use_.taken();
      return true;
    }
    return elision_.try_enter(
        this, [this] { return self().is_free(); }, [this] { return try_take(); });
  }

  // Enters a section if that is possible before `end`, where `Lock` has such a function. Where
  // there are transactions, it may return some 10 us later than try_lock_until() of `Lock`. Throws
  // what that throws.
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& end)
    requires requires(Lock& lock) { static_cast<bool>(lock.try_lock_until(end)); }
  {
    use_.wanted(this);
    if (!transaction::available()) [[likely]] {
      if (!lock_.try_lock_until(end)) return false;
      use_.taken();
      return true;
    }
    return elision_.enter_in_time(
        this, [this] { return self().is_free(); }, [&] { return Clock::now() < end; },
        [&] { return lock_.try_lock_until(end) && (taken(), true); });
  }
  // As try_lock_until(), for this long from now.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time)
    requires requires(Lock& lock) { static_cast<bool>(lock.try_lock_for(time)); }
  {
    return try_lock_until(end_of(time));
  }

  // Ends the section. If the section ran as a transaction and the processor aborts it now, this
  // call does not return: all that the section did is undone, and it begins again, as if lock() had
  // just returned. As wait-free as unlock() of `Lock`.
  void unlock() {
    if (transaction::available()) [[unlikely]] {
      if (elision_.leave(this)) return;
      use_.given_back();
      elision_.given_back();
    } else {
      use_.given_back();
    }
    lock_.unlock();
  }

 protected:
  // Those that share the lock are on a line of their own, where there are such: they do not abort
  // those who read without it.
  elision<Observer, Form> elision_;
  [[no_unique_address]] alignas(Form::template alignment<Readers>) Readers readers_{};
  alignas(Form::template alignment<Lock>) Lock lock_;
  [[no_unique_address]] lock_use use_;

  template <class Rep, class Period>
  static std::chrono::steady_clock::time_point end_of(
      const std::chrono::duration<Rep, Period>& time) {
    using std::chrono::steady_clock;
    return steady_clock::now() + std::chrono::ceil<steady_clock::duration>(time);
  }

 private:
  friend Self;

  constexpr elided_exclusive() {
    if (!std::is_constant_evaluated()) Observer::created();
  }
  ~elided_exclusive() { use_.destroyed(this); }

  [[nodiscard]] const Self& self() const noexcept { return static_cast<const Self&>(*this); }

  // Where there are transactions.
  void take() {
    lock_.lock();
    taken();
  }
  bool try_take() {
    if (!lock_.try_lock()) return false;
    taken();
    return true;
  }
  void taken() noexcept {
    use_.taken();
    elision_.taken();
  }
};

struct no_readers {};

}  // namespace detail

// `Lock` has lock(), try_lock() and unlock(); `Observer` has what elision_unobserved has, `Form` is
// elision_apart or elision_compact (elision.h). Over a std::mutex, which has 40 bytes in glibc on
// x86-64, it has 256 bytes, or 64 if it is compact; in builds with checks up to 64 more.
template <class Lock = std::mutex, class Observer = elision_unobserved, class Form = elision_apart>
class elided_lock : public detail::elided_exclusive<elided_lock<Lock, Observer, Form>, Lock,
                                                    Observer, Form, detail::no_readers> {
  static_assert(
      requires(Lock lock) { lock.lock(), lock.unlock(), static_cast<bool>(lock.try_lock()); },
      "elided_lock needs a lock: a type with lock(), try_lock() and unlock(), such as std::mutex.");

  static_assert(
      elision_observer<Observer>,
      "the second parameter of an elided lock is not an observer: it needs the functions of "
      "elision_unobserved");

  friend detail::elided_exclusive<elided_lock, Lock, Observer, Form, detail::no_readers>;
  [[nodiscard]] bool is_free() const noexcept { return this->elision_.is_open(); }
};

// For many locks, each in a node of a structure, whose sections seldom meet. elision_compact says
// what it gives up.
template <class Lock = std::mutex, class Observer = elision_unobserved>
using compact_elided_lock = elided_lock<Lock, Observer, elision_compact>;

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_LOCKS_ELIDED_LOCK_H_
