// elided_lock.h for readers and writers: sections that only read run beside each other in any case,
// and beside sections that write where there are transactions and they do not meet.
//
//     assay::sync::elided_shared_lock<> lock;           // over a std::shared_mutex
//
//     { const std::shared_lock reading(lock); sum = low + high; }
//     { const std::scoped_lock writing(lock); ++low; --high; }
//
// A reader of a std::shared_mutex writes the lock, to count itself in and out, and the line that this
// is in goes from one processor to the other. An elided reader writes nothing.
//
// All that elided_lock.h says of sections and rules holds here, too. Of readers builds without NDEBUG
// find that more unlock it than have it.
//
// Why it is right. As in elided_lock.h, for each of the two words. A section that writes reads
// in its transaction that nobody has or shares the lock, a section that reads only that nobody has
// it. So `held_` keeps all transactions apart from a holder that writes, and `readers_` those that
// write from holders that read, each by the same fence (1).

#ifndef ASSAY_SYNC_ELIDED_SHARED_LOCK_H_
#define ASSAY_SYNC_ELIDED_SHARED_LOCK_H_

#include <shared_mutex>

#include "assay/sync/atomics.h"
#include "assay/sync/elision.h"
#include "assay/sync/misuse.h"
#include "assay/sync/transaction.h"

namespace assay::sync::inline ASSAY_MISUSE_BUILD {

// `Lock` has what std::shared_mutex has.
template <class Lock = std::shared_mutex>
class elided_shared_lock {
  static_assert(
      requires(Lock lock) {
        lock.lock(), lock.unlock(), static_cast<bool>(lock.try_lock());
        lock.lock_shared(), lock.unlock_shared(), static_cast<bool>(lock.try_lock_shared());
      }, "elided_shared_lock needs a lock that can be shared, such as std::shared_mutex.");

 public:
  elided_shared_lock() = default;
  elided_shared_lock(const elided_shared_lock&) = delete;
  elided_shared_lock& operator=(const elided_shared_lock&) = delete;
  ~elided_shared_lock() { use_.destroyed(this); }

  // Enters a section that reads and writes. Blocking: after a bounded number of attempts it waits
  // as `Lock` does.
  void lock() {
    use_.wanted(this);
    if (transaction::here == transaction::backend::none) [[likely]] {
      take();
    } else {
      elision_.enter(
          this, [this] { return is_free(); }, [this] { return try_take(); }, [this] { take(); });
    }
  }

  // Enters it if that is possible at once. As wait-free as try_lock() of `Lock`; where there are
  // transactions, after at most 16 of them.
  [[nodiscard]] bool try_lock() {
    use_.wanted(this);
    if (transaction::here == transaction::backend::none) [[likely]]
      return try_take();
    return elision_.try_enter(this, [this] { return is_free(); }, [this] { return try_take(); });
  }

  // Leaves it, as elided_lock::unlock().
  void unlock() {
    if (transaction::here != transaction::backend::none) [[unlikely]] {
      if (elision_.leave(this)) return;
      use_.given_back();
      held_.store(false, memory_order_release);  // (2) with (3)
    } else {
      use_.given_back();
    }
    lock_.unlock();
  }

  // Enters a section that only reads, as lock() enters one that writes. An elided one waits only
  // for who has the lock itself, to write.
  void lock_shared() {
    if (transaction::here == transaction::backend::none) [[likely]] {
      share();
    } else {
      elision_.enter(
          this, [this] { return is_free_of_writers(); }, [this] { return try_share(); },
          [this] { share(); });
    }
  }

  // As try_lock(), for one that only reads.
  [[nodiscard]] bool try_lock_shared() {
    if (transaction::here == transaction::backend::none) [[likely]]
      return try_share();
    return elision_.try_enter(
        this, [this] { return is_free_of_writers(); }, [this] { return try_share(); });
  }

  // Leaves it, as unlock().
  void unlock_shared() {
    if (transaction::here != transaction::backend::none) [[unlikely]] {
      if (elision_.leave(this)) return;
      use_.given_back_shared();
      readers_.fetch_sub(1, memory_order_release);  // (4) with (5)
    } else {
      use_.given_back_shared();
    }
    lock_.unlock_shared();
  }

 private:
  [[nodiscard]] bool is_free_of_writers() const noexcept {
    return !held_.load(memory_order_acquire);  // (3) with (2)
  }
  [[nodiscard]] bool is_free() const noexcept {
    return is_free_of_writers() && readers_.load(memory_order_acquire) == 0;  // (5) with (4)
  }

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
    if (transaction::here == transaction::backend::none) [[likely]]
      return;
    held_.store(true, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);  // (1)
  }

  void share() {
    lock_.lock_shared();
    shared();
  }
  bool try_share() {
    if (!lock_.try_lock_shared()) return false;
    shared();
    return true;
  }
  void shared() noexcept {
    use_.taken_shared();
    if (transaction::here == transaction::backend::none) [[likely]]
      return;
    readers_.fetch_add(1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);  // (1)
  }

  detail::elision elision_;
  // Each on a line of its own: who shares the lock does not abort those who read without it.
  alignas(64) atomic<bool> held_{false};
  alignas(64) atomic<unsigned> readers_{0};
  alignas(64) Lock lock_;
  [[no_unique_address]] detail::lock_use use_;
};

}  // namespace assay::sync::inline ASSAY_MISUSE_BUILD

#endif  // ASSAY_SYNC_ELIDED_SHARED_LOCK_H_
