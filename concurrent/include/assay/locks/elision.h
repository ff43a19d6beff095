// What elided_lock.h and elided_shared_lock.h have in common: how a section begins in a
// transaction, how often that is tried, and when the lock is taken instead.
//
// It is the lock of Bonnichsen (2016, listing 4.1), which is Afek, Levy and Morrison's (2014) with
// another answer to the lemming effect (Dice et al. 2009): a transaction that fails takes the lock,
// which makes all others fail, which take the lock. So
//  - a thread that finds the lock held waits until it is free before it tries, and does not count
//    that;
//  - a thread that could neither commit nor take the lock at once waits for a random time, the
//    longer the more often that happened to it (truncated exponential backoff: Anderson 1990).
//
// The listing's `delay` has the signs of both its steps wrong: min(delay + 1, 0) after a failure
// and max(delay - 1, b) after a section leave it at 0 and at b. What the text says is
// min(delay + 1, b) where the lock could not be had, and max(delay - 1, 0) when a section has
// ended.
//
// Three things are different here. The listing looks whether the lock is held when a transaction
// commits; here it is read when one begins (early subscription). So no transaction runs
// concurrently with a holder of the lock, and it meets nothing that the section could not meet
// without transactions (Dice et al. 2014 show what can happen otherwise). The listing begins again
// for ever; here the lock itself is waited for after a few rounds, so that a section begins as
// surely as under the lock. And its three attempts are where elision_tuning.h begins.

#ifndef ASSAY_LOCKS_ELISION_H_
#define ASSAY_LOCKS_ELISION_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/locks/elision_tuning.h"
#include "assay/locks/transaction.h"

namespace assay::sync {

// Functions that an elided lock calls when something happens that a program may want to count:
// these do nothing. An observer of your own has the same functions. Any thread calls them, never in
// a transaction, and they throw nothing.
struct elision_unobserved {
  // A lock was made, other than by constant initialisation.
  static void created() noexcept {}
  // A transaction is about to begin, for the outermost lock of a thread.
  static void attempted() noexcept {}
  // It has committed, as the section has ended.
  static void committed() noexcept {}
  // It began and found the lock held or dormant.
  static void found_held() noexcept {}
  // It was undone for this cause.
  static void aborted(transaction::cause /*cause*/) noexcept {}
  // A section has taken the lock.
  static void fell_back() noexcept {}
};

template <class T>
concept elision_observer = requires(transaction::cause cause) {
  T::created(), T::attempted(), T::committed(), T::found_held(), T::aborted(cause), T::fell_back();
};

// Threads draw at random how long they wait after a failure, and when they look at the clock; what
// a section does never depends on that. seed_elision() makes these draws repeatable: the n-th
// thread that draws does so from a seed mixed of this one and n. Call it before locks are used, as
// threads that have drawn before keep their seeds.
ASSAY_ONE_IN_PROCESS inline std::atomic<std::uint64_t> next_elision_seed{0};
inline void seed_elision(std::uint64_t seed) noexcept { next_elision_seed = seed; }

}  // namespace assay::sync

namespace assay::sync::inline ASSAY_ABI {

// The form of an elided lock. Apart: what transactions read shares no cache line with what others
// write, and the lock learns whether they pay. A form derived from it without `backs_off` leaves
// out the waits at random: to measure what they are worth.
struct elision_apart {
  using tuning = elision_tuning;
  static constexpr bool backs_off = true;
  template <class T>
  static constexpr std::size_t alignment = std::max(std::size_t{64}, alignof(T));
};

// Compact: all of it in one cache line. It learns nothing: each section tries three transactions,
// as in the listing, however little they gain. And whoever waits for the lock, shares it or gives
// it back writes the line, and so aborts all transactions of that moment.
struct elision_compact {
  static constexpr bool backs_off = true;
  struct tuning {
    static unsigned attempts() noexcept { return 3; }
    static bool pays() noexcept { return true; }
    static void taken_inside() noexcept {}
    static void record(std::uint64_t /*sections*/, std::uint64_t /*ns*/) noexcept {}
  };
  template <class T>
  static constexpr std::size_t alignment = alignof(T);
};

}  // namespace assay::sync::inline ASSAY_ABI

namespace assay::sync::inline ASSAY_ABI::detail {

// What a thread knows of its own sections. Transactions write it, too: an abort undoes that.
class eliding_thread {
 public:
  // The calling thread's.
  static eliding_thread& current() noexcept { return current_; }

  // The locks that it has elided, which are all in one transaction.
  [[nodiscard]] bool elides() const noexcept { return depth_ != 0; }
  [[nodiscard]] bool elides(const void* lock) const noexcept {
    return std::find(inside_.begin(), inside_.begin() + depth_, lock) != inside_.begin() + depth_;
  }
  [[nodiscard]] bool may_elide_more() const noexcept { return depth_ < inside_.size(); }
  // Whether it has taken an elided lock.
  [[nodiscard]] bool holds() const noexcept { return held_ != 0; }
  void took() noexcept { ++held_; }
  void gave_back() noexcept {
    if (held_ != 0) --held_;  // also where a lock is misused
  }
  void enter(const void* lock) noexcept { inside_[depth_++] = lock; }
  // False if it has not elided it. Locks need not be left in the order of entering.
  bool leave(const void* lock) noexcept {
    for (std::size_t i = depth_; i-- > 0;) {
      if (inside_[i] != lock) continue;
      std::copy(inside_.begin() + i + 1, inside_.begin() + depth_, inside_.begin() + i);
      --depth_;
      return true;
    }
    return false;
  }

  // The listing's `delay`.
  void failed() noexcept { delay_ = std::min(delay_ + 1, most_delay); }
  void succeeded() noexcept { delay_ = delay_ == 0 ? 0 : delay_ - 1; }
  void back_off() noexcept {
    if (delay_ == 0) return;
    const std::uint64_t pauses = random() % (std::uint64_t{slot_pauses} << delay_);
    if (pauses < pauses_of_a_yield) {
      for (std::uint64_t i = 0; i < pauses; ++i) backoff::pause();
    } else {  // the holder may be waiting for this processor
      // By the clock: each yield may take as long as the system lets others run.
      const auto until = std::chrono::steady_clock::now() + pauses * pause_takes;
      do {
        std::this_thread::yield();
      } while (std::chrono::steady_clock::now() < until);
    }
  }

  // For the next thread that draws. Steele, Lea and Flood (2014): seeds that differ by little give
  // states that differ by much. Not 0.
  [[nodiscard]] static std::uint64_t next_seed() noexcept {
    std::uint64_t seed = ++next_elision_seed;
    seed *= 0x9e3779b97f4a7c15U;
    seed = (seed ^ seed >> 30U) * 0xbf58476d1ce4e5b9U;
    seed = (seed ^ seed >> 27U) * 0x94d049bb133111ebU;
    return (seed ^ seed >> 31U) | 1U;
  }

  // Called after each section. Once in 64 or so, at random, it reports the number of sections to
  // the lock: where a thread uses several locks, to each of them in proportion.
  template <class Tuning>
  void ended(Tuning& tuning) noexcept {
    if (until_record_-- != 0) return;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    tuning.record(of_record_,
                  static_cast<std::uint64_t>(
                      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
    until_record_ = static_cast<unsigned>(random() % (2 * sections_a_record));
    of_record_ = until_record_ + 1U;
  }

 private:
  // The listing's slot of 1,024 cycles, and its b for 16 threads: the longest wait is about 1 ms.
  static constexpr unsigned slot_pauses = 16;
  static constexpr std::chrono::nanoseconds pause_takes{16};
  static constexpr unsigned most_delay = 12;
  static constexpr unsigned pauses_of_a_yield = 64;
  static constexpr std::uint64_t sections_a_record = 64;  // a look at the clock: 20 ns or more

  // Marsaglia's xorshift (2003): what threads draw must differ, and no more.
  std::uint64_t random() noexcept {
    if (drawn_ == 0) drawn_ = next_seed();
    drawn_ ^= drawn_ << 13U;
    drawn_ ^= drawn_ >> 7U;
    drawn_ ^= drawn_ << 17U;
    return drawn_ >> 11U;
  }

  ASSAY_ONE_IN_PROCESS static thread_local constinit eliding_thread current_;

  std::array<const void*, 7> inside_{};  // RTM has no more transactions inside of each other
  std::size_t depth_ = 0;
  unsigned held_ = 0;
  unsigned delay_ = 0;
  unsigned until_record_ = 0;
  unsigned of_record_ = 1;
  std::uint64_t drawn_ = 0;
};

inline thread_local constinit eliding_thread eliding_thread::current_{};

// The elision of one lock, where there are transactions. `free` says whether no holder of the lock
// is in the way. A transaction subscribes to it: it reads the answer, and so aborts when that
// changes.
//
// Whoever takes an open lock announces it before the section, by a store and a full fence, and
// takes that back after it. Where transactions do not pay, this cost is all that they bring. So the
// lock is then left dormant: no transaction runs concurrently with a dormant lock's holder, who
// need not announce itself. The lock opens again when a section ends in which transactions were
// found to pay after all.
template <class Observer, class Form>
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the state has a line of its own
class elision {
 public:
  // The lock's own state. Transactions subscribe to is_open(); the others are for a thread that has
  // the lock to itself, or shares it and so knows that the answer stays.
  [[nodiscard]] bool is_open() const noexcept {
    return state_.load(memory_order_acquire) == state::open;  // (3) with (2)
  }
  [[nodiscard]] bool is_dormant() const noexcept {
    return state_.load(memory_order_relaxed) == state::dormant;
  }
  // Whether a holder who writes would open it.
  [[nodiscard]] bool is_to_open() const noexcept { return is_dormant() && tuning_.pays(); }
  void taken() noexcept {
    if (is_dormant()) return;
    state_.store(state::held, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);  // (1)
  }
  void given_back() noexcept {
    const state next = tuning_.pays() ? state::open : state::dormant;
    if (state_.load(memory_order_relaxed) != next) {
      state_.store(next, memory_order_release);  // (2) with (3)
    }
  }

  // Enters a section: in a transaction, or by `try_take` or `take`, which take the lock.
  template <class Free, class TryTake, class Take>
  void enter(const void* lock, const Free& free, const TryTake& try_take, const Take& take) {
    eliding_thread& me = eliding_thread::current();
    if (me.elides()) {
      enter_inside(me, lock, free);
      return;
    }
    const unsigned attempts = attempts_now(me);
    for (unsigned round = 0; attempts != 0 && !is_dormant() && round < most_rounds; ++round) {
      if constexpr (Form::backs_off) me.back_off();
      if (elide(me, lock, attempts, free, [&] { return became_free(free); })) return;
      if (try_take()) {
        fell_back(me);
        return;
      }
      if constexpr (Form::backs_off) me.failed();
    }
    take();
    fell_back(me);
  }

  // As enter(), and returns false where that would have to wait.
  template <class Free, class TryTake>
  bool try_enter(const void* lock, const Free& free, const TryTake& try_take) {
    eliding_thread& me = eliding_thread::current();
    if (me.elides()) {
      if (!free() && !is_dormant()) return false;
      enter_inside(me, lock, free);
      return true;
    }
    if (elide(me, lock, attempts_now(me), free, free)) return true;
    if (!try_take()) return false;
    fell_back(me);
    return true;
  }

  // As enter(), and returns false where `take` does, which waits for a limited time: `in_time` says
  // whether that is not over.
  template <class Free, class InTime, class Take>
  bool enter_in_time(const void* lock, const Free& free, const InTime& in_time, const Take& take) {
    eliding_thread& me = eliding_thread::current();
    if (me.elides()) {
      enter_inside(me, lock, free);
      return true;
    }
    const auto ready = [&] { return free() || (in_time() && became_free(free)); };
    if (elide(me, lock, attempts_now(me), free, ready)) return true;
    if (!take()) return false;
    fell_back(me);
    return true;
  }

  // Leaves a section. False: the calling thread has the lock itself, and gives it back after this.
  bool leave(const void* lock) noexcept {
    eliding_thread& me = eliding_thread::current();
    if (!me.leave(lock)) {
      me.gave_back();
      me.succeeded();
      me.ended(tuning_);
      return false;
    }
    transaction::commit();
    if (!me.elides()) {
      Observer::committed();
      me.succeeded();
      me.ended(tuning_);
    }
    return true;
  }

 private:
  static constexpr unsigned most_rounds = 4;
  static constexpr unsigned most_waits = 16;  // of sync::backoff, between attempts: some 10 us
  static constexpr std::uint8_t not_open = 0x65;

  enum state : std::uint8_t { open, held, dormant };

  [[nodiscard]] unsigned attempts_now(const eliding_thread& me) noexcept {
    if (me.holds()) tuning_.taken_inside();
    return is_dormant() ? 0 : tuning_.attempts();
  }
  static void fell_back(eliding_thread& me) {
    me.took();
    Observer::fell_back();
  }

  // All that is elided is in one transaction, and what cannot be ends it: the outermost lock is
  // taken then, as this abort is not one that may succeed again.
  template <class Free>
  static void enter_inside(eliding_thread& me, const void* lock, const Free& free) {
    static_cast<void>(transaction::begin());  // an abort goes back to the outermost
    if (!free() || !me.may_elide_more()) transaction::abort<not_open>();
    me.enter(lock);
  }

  // `ready` says before each attempt whether it is worth it, and may wait for that.
  template <class Free, class Ready>
  static bool elide(eliding_thread& me, const void* lock, unsigned attempts, const Free& free,
                    const Ready& ready) {
    unsigned failures = 0;
    for (unsigned waits = 0; failures < attempts && waits < most_waits; ++waits) {
      if (!ready()) return false;
      Observer::attempted();
      const transaction::status found = transaction::begin();
      if (found.begun()) {
        if (free()) [[likely]] {
          me.enter(lock);
          return true;
        }
        transaction::commit();  // it has written nothing
        Observer::found_held();
        continue;
      }
      Observer::aborted(found.cause());
      if (!found.may_succeed_again()) return false;
      ++failures;
    }
    return false;
  }

  // Whether it was free before long.
  template <class Free>
  bool became_free(const Free& free) {
    backoff pause;
    for (unsigned i = 0; i < most_waits && !is_dormant(); ++i) {
      if (free()) return true;
      pause.wait();
    }
    return false;
  }

  [[no_unique_address]] typename Form::tuning tuning_;
  // Written by who has the lock to itself. On a line of its own: a record of a time, or whoever
  // waits for the lock, would abort those who have read this.
  alignas(Form::template alignment<atomic<state>>) atomic<state> state_{state::open};
};

// Finds misuse, in builds that do.
class lock_use {
#if !ASSAY_CHECKS
 public:
  static void taken() {}
  static void given_back() {}
  static void taken_shared() {}
  static void given_back_shared() {}
  static void destroyed(const void* /*lock*/) {}
  static void wanted(const void* /*lock*/) {}
#else
 public:
  void wanted(const void* lock) const {
    misuse::require(owner_.load(memory_order_relaxed) != me() &&
                        !eliding_thread::current().elides(lock) && place_of(this) == shared_.end(),
                    "an elided lock is locked again by the thread that holds it");
  }
  void taken() { owner_.store(me(), memory_order_relaxed); }
  void given_back() {
    misuse::require(owner_.load(memory_order_relaxed) == me(),
                    "an elided lock is unlocked by a thread that does not hold it");
    owner_.store(nullptr, memory_order_relaxed);
  }
  void taken_shared() {
    readers_.fetch_add(1, memory_order_relaxed);
    const auto free = place_of(nullptr);
    if (free != shared_.end()) *free = this;
  }
  void given_back_shared() {
    const auto mine = place_of(this);
    if (mine != shared_.end()) *mine = nullptr;
    misuse::require(readers_.fetch_sub(1, memory_order_relaxed) > 0,
                    "an elided shared lock is unlocked by a thread that does not share it");
  }
  void destroyed(const void* lock) const {
    misuse::require(owner_.load(memory_order_relaxed) == nullptr &&
                        readers_.load(memory_order_relaxed) == 0 &&
                        !eliding_thread::current().elides(lock),
                    "an elided lock is destroyed while it is held");
  }

 private:
  static const void* me() { return &eliding_thread::current(); }
  // The locks that the thread shares: the first 16 at once, which are checked.
  using locks = std::array<const lock_use*, 16>;
  ASSAY_ONE_IN_PROCESS static inline constinit thread_local locks shared_{};

  static locks::iterator place_of(const lock_use* lock) { return std::ranges::find(shared_, lock); }

  // Relaxed: a thread compares with itself, and what others wrote is not its own address.
  atomic<const void*> owner_{nullptr};
  atomic<int> readers_{0};
#endif
};

}  // namespace assay::sync::inline ASSAY_ABI::detail

#endif  // ASSAY_LOCKS_ELISION_H_
