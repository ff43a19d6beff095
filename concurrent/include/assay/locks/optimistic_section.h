// Critical sections whose readers write nothing: a section that only reads runs against a version,
// and runs again if the version has changed.
//
//     sync::optimistic_section<> lock;                     // over a std::mutex
//     sync::section_word<int> low{0}, high{0};             // what it protects
//
//     const int sum = lock.read([&] { return low.read() + high.read(); });
//     lock.write([&](auto& change) {                       // has it alone
//       if (high.read() == sum) return;
//       change.begin();                                    // readers run again from here on
//       low.write(1);
//       high.write(sum);
//     });
//
// A std::mutex, and a std::shared_mutex too, is a word that every reader writes: its cache line
// goes from processor to processor, and readers that would not disturb each other take turns. Here
// a reader loads the version twice, and the line stays where it is. This is what an elided lock
// (Rajwar and Goodman 2001; Bonnichsen 2016, section 4.1) gains for readers, without transactions:
// the price is that a section reads through section_word, and may be run in vain.
//
// read(f) returns what f returns, which is what it would have returned had it run alone. f may have
// to be run again, and until then may meet words of different times. So it
//  - reads what is shared by section_word, and writes nothing but what is its own,
//  - ends on whatever it meets: an index is checked, a loop has a bound,
//  - follows pointers only to what is freed when nobody reads any more (a reclamation policy, or
//    the end of the structure).
// An exception that f throws is thrown on if f had met one state, and forgotten otherwise.
//
// write(f) excludes all others. f takes a `change` or nothing; without it, readers run again from
// its start. An f that throws has changed what it has changed.
//
// Neither f enters the same section again. Builds without NDEBUG find that, a section that only
// reads and writes, a write before begin(), and a section that is destroyed from inside or while it
// changes: one line on standard error, and the program ends.
//
// Progress: write() is as the lock's lock(), after some attempts at try_lock() where it has that,
// in which later threads may come first. read() is wait-free if nobody changes anything; after
// some attempts that failed it takes the lock, so that it ends when the lock lets it in.
//
// Why it is right: all changes are made under the lock, between try_lock() and unlock() of an
// optimistic_lock (optimistic_lock.h has the argument for its readers), and by one thread after the
// other. A reader that took the lock meets no change.

#ifndef ASSAY_LOCKS_OPTIMISTIC_SECTION_H_
#define ASSAY_LOCKS_OPTIMISTIC_SECTION_H_

#include <atomic>
#include <chrono>
#include <concepts>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <type_traits>
#include <utility>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/point.h"
#include "assay/locks/optimistic_lock.h"

namespace assay::sync::inline ASSAY_ABI {

namespace detail {

// What the calling thread is inside of.
struct inside {
#if !ASSAY_CHECKS
  explicit inside(const void* /*section*/, bool /*may_write*/) {}
  void may_write_now() {}
  static void check_write() {}
  static void require_outside(const void* /*section*/, const char* /*otherwise*/) {}
  ~inside() {}  // NOLINT(modernize-use-equals-default): else compilers call it unused
#else
  inside(const void* section, bool may_write) : section_(section), may_write_(may_write) {
    current = this;
  }
  static void require_outside(const void* section, const char* otherwise) {
    for (const inside* each = current; each != nullptr; each = each->outer_) {
      misuse::require(each->section_ != section, otherwise);
    }
  }
  ~inside() { current = outer_; }
  void may_write_now() { may_write_ = true; }
  // All words may be written where a thread is in no section: they are made there.
  static void check_write() {
    misuse::require(
        current == nullptr || current->may_write_,
        "a section_word is written by an optimistic section that only reads, or before it has "
        "called begin() of its change");
  }

 private:
  ASSAY_ONE_IN_PROCESS static inline thread_local inside* current = nullptr;
  const void* section_;
  bool may_write_;
  inside* outer_ = current;
#endif

 public:
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;
};

}  // namespace detail

// A word that sections read and write. Wait-free. It is read and written in one piece, so that it
// has at most the size of a pointer, or of whatever else the processor reads so without a library.
template <class T>
class section_word {
  static_assert(std::is_trivially_copyable_v<T>,
                "a section_word is read while it changes: its type must be trivially copyable");
  static_assert(std::atomic<T>::is_always_lock_free,
                "a section_word must be lock-free: this type is too large to be read in one piece; "
                "use several words");

 public:
  section_word() noexcept = default;
  explicit section_word(T value) noexcept : value_(value) {}

  // Returns the value. Until the section has ended, it may belong to another moment than the values
  // of other words.
  [[nodiscard]] T read() const noexcept {
    if constexpr (std::is_pointer_v<T>) {
      return value_.load(memory_order_acquire);  // (1) with (2): what it leads to was made
    } else {
      return value_.load(memory_order_relaxed);  // the version orders it
    }
  }
  // Stores a value: within write() of the section, after begin() of its change; or before the word
  // is shared.
  void write(T value) noexcept {
    detail::inside::check_write();
    if constexpr (std::is_pointer_v<T>) {
      value_.store(value, memory_order_release);  // (2) with (1)
    } else {
      value_.store(value, memory_order_relaxed);
    }
  }

 private:
  atomic<T> value_{};
};

// `Lock` has lock() and unlock(), try_lock() for try_write(), try_lock_until() and try_lock_for()
// for the timed ones, and lock_shared() and unlock_shared() where readers can share it.
template <class Lock = std::mutex>
class optimistic_section {
  static_assert(
      requires(Lock& lock) { lock.lock(), lock.unlock(); },
      "optimistic_section needs a lock: a type with lock() and unlock(), such as std::mutex.");

  static constexpr bool shareable = requires(Lock& lock) { lock.lock_shared(); };
  using read_guard = std::conditional_t<shareable, std::shared_lock<Lock>, std::unique_lock<Lock>>;
  // Failing as often means that changes come faster than f ends: about 10 us with the pauses
  // between.
  static constexpr int attempts = 8;
  // As many as backoff waits for without giving up the processor.
  static constexpr int attempts_of_writers = 6;

 public:
  // What write() gives to f.
  class change {
   public:
    // To be called before the first word is written. From here on, reading sections that have begun
    // are discarded, and run again when this section has ended. Further calls do nothing.
    void begin() noexcept {
      if (begun_) return;
      begun_ = true;
      inside_.may_write_now();
      // Nobody else takes it: the section's lock is held.
      static_cast<void>(version_.try_lock(version_.read()));
      ASSAY_POINT("optimistic_section_begun");
    }

    change(const change&) = delete;
    change& operator=(const change&) = delete;

   private:
    friend optimistic_section;
    explicit change(optimistic_section& section)
        : version_(section.version_), inside_(&section, false) {}
    ~change() {
      if (begun_) version_.unlock();
    }

    optimistic_lock& version_;
    detail::inside inside_;
    bool begun_ = false;
  };

  optimistic_section() = default;
  optimistic_section(const optimistic_section&) = delete;
  optimistic_section& operator=(const optimistic_section&) = delete;
#if ASSAY_CHECKS
  ~optimistic_section() {
    detail::inside::require_outside(
        this, "an optimistic section is destroyed by a thread that is inside of it");
    misuse::require(optimistic_lock::is_free(version_.read()),
                    "an optimistic section is destroyed while another thread changes it");
  }
#endif

  // Calls f, again if the section changed meanwhile, until one call has met words that all belong
  // to one moment; returns what that call returned, by value. Throws what f throws, and what lock()
  // of `Lock` throws. Any thread that is not inside of this section.
  template <std::invocable F>
  [[gnu::always_inline]] std::invoke_result_t<F&> read(F&& f) const {
    static_assert(!std::is_reference_v<std::invoke_result_t<F&>>,
                  "what f refers to may have changed by now: return a copy");
    detail::inside::require_outside(this, entered_again);
    backoff pause;
    for (int i = 0; i < attempts; ++i) {
      const auto seen = version_.read();
      if (optimistic_lock::is_free(seen)) {
        const detail::inside scope(this, false);
        try {
          if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
            f();
            ASSAY_POINT("optimistic_section_read");
            if (version_.validate(seen)) return;
          } else {
            auto found = f();
            ASSAY_POINT("optimistic_section_read");
            if (version_.validate(seen)) return found;
          }
        } catch (...) {
          if (version_.validate(seen)) throw;
        }
      }
      pause.wait();
    }
    return read_alone(f);
  }

  // Calls f once, while no other thread writes, and returns what f returns. Blocking. Throws what f
  // throws, in which case what f has changed by then stays, and what lock() of `Lock` throws, with
  // nothing changed. Any thread that is not inside of this section.
  template <class F>
  auto write(F&& f) {
    detail::inside::require_outside(this, entered_again);
    take();
    return write_alone(f);
  }

  // As write(), if nobody has the lock now. Returns whether f was called: an std::optional of what
  // f returns, or a bool where that is void. As wait-free as try_lock() of `Lock`, but for f.
  template <class F>
  [[nodiscard]] auto try_write(F&& f) {
    static_assert(
        requires(Lock& lock) { static_cast<bool>(lock.try_lock()); },
        "optimistic_section::try_write() needs a lock with try_lock()");
    return write_if([this] { return static_cast<bool>(lock_.try_lock()); }, f);
  }

  // As try_write(), if the lock can be had before `end` or for a time, where `Lock` has such
  // functions. Throws what those throw, with nothing changed. Readers need none: they wait for the
  // lock only after some attempts, in which others changed something.
  template <class Clock, class Duration, class F>
  [[nodiscard]] auto try_write_until(const std::chrono::time_point<Clock, Duration>& end, F&& f)
    requires requires(Lock& lock) { static_cast<bool>(lock.try_lock_until(end)); }
  {
    return write_if([&] { return static_cast<bool>(lock_.try_lock_until(end)); }, f);
  }
  template <class Rep, class Period, class F>
  [[nodiscard]] auto try_write_for(const std::chrono::duration<Rep, Period>& time, F&& f)
    requires requires(Lock& lock) { static_cast<bool>(lock.try_lock_for(time)); }
  {
    return write_if([&] { return static_cast<bool>(lock_.try_lock_for(time)); }, f);
  }

 private:
  static constexpr const char* entered_again =
      "an optimistic section is entered again by its own thread";

  template <class TryTake, class F>
  auto write_if(const TryTake& try_take, F& f) {
    detail::inside::require_outside(this, entered_again);
    using result = decltype(write_alone(f));
    const bool taken = try_take();
    if constexpr (std::is_void_v<result>) {
      if (taken) write_alone(f);
      return taken;
    } else {
      return taken ? std::optional<result>(write_alone(f)) : std::nullopt;
    }
  }

  // By who has taken the lock, which is given back.
  template <class F>
  auto write_alone(F& f) {
    const std::scoped_lock held(std::adopt_lock, lock_);
    change made(*this);
    if constexpr (std::invocable<F&, change&>) {
      return f(made);
    } else {
      made.begin();
      return f();
    }
  }

  // Sections are short: who finds the lock taken tries for a microsecond or a few, before it
  // waits as `Lock` does, which for a std::mutex means to sleep, and to be woken by who has it.
  void take() {
    if constexpr (requires { static_cast<bool>(lock_.try_lock()); }) {
      backoff pause;
      for (int i = 0; i < attempts_of_writers; ++i) {
        if (lock_.try_lock()) return;
        pause.wait();
      }
    }
    lock_.lock();
  }

  template <class F>
  [[gnu::noinline]] std::invoke_result_t<F&> read_alone(F& f) const {
    const read_guard held(lock_);
    const detail::inside scope(this, false);
    return f();
  }

  optimistic_lock version_;
  mutable Lock lock_;
};

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_LOCKS_OPTIMISTIC_SECTION_H_
