// Transactions of the processor: a few instructions whose effects others see at once or not at all.
//
//     namespace transaction = assay::sync::transaction;
//
//     const transaction::status status = transaction::begin();
//     if (status.begun()) {
//       if (taken.load(std::memory_order_relaxed)) transaction::abort<1>();
//       ++low;
//       --high;
//       transaction::commit();
//     } else if (status.may_succeed_again()) {
//       ...                                              // try it some more times
//     } else {
//       ...                                              // do it under a lock
//     }
//
// When the transaction aborts, begin() returns once more, with the cause. All that the transaction
// had written is as before, local variables too. A transaction may abort at any time and for no
// reason: a program needs a way without one.
//
// Where transactions come from is found by the first call that asks, and stays:
//  - RTM of x86-64, where cpuid reports it, does not report that it always aborts, and one of a
//    hundred empty transactions commits. A program that is run under an emulation of RTM, such as
//    Assay's `assay-rtm PROGRAM`, uses that.
//  - none: begin() says so, for the price of a relaxed load and a branch that always goes the same
//    way.
// why_none() says why. Under ThreadSanitizer there are none: it would not see what keeps them
// apart. A program that wants none calls turn_off() before it uses them.
//
// Nested transactions are one with the outermost: only its commit() commits, and an abort ends all.
// A commit is a fence of every kind: transactions, and what a thread does before and after them,
// are seen by all others in one order.
//
// Any thread may call all functions. They throw nothing, and are wait-free, but for the first call
// that asks, which takes some microseconds, and for which others wait.

#ifndef ASSAY_LOCKS_TRANSACTION_H_
#define ASSAY_LOCKS_TRANSACTION_H_

#include <atomic>
#include <cstdint>

#include "assay/base/abi.h"
#include "assay/base/sanitizers.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <dlfcn.h>
#endif

namespace assay::sync::transaction {

enum class cause : std::uint8_t {
  unavailable,  // no transactions, here or at all
  conflict,     // another thread accessed what this one wrote, or wrote what it had accessed
  capacity,     // it accessed more than the processor can keep
  asked,        // abort()
  nested,       // too many transactions inside of each other, or `other` in an inner one
  debug,        // a breakpoint
  other,        // a system call, a page fault, an interrupt, an instruction that is not allowed
};

// What begin() found, in 32 bits. The low bits are RTM's.
class status {
 public:
  static constexpr std::uint32_t bit_asked = 1U << 0U;
  static constexpr std::uint32_t bit_again = 1U << 1U;
  static constexpr std::uint32_t bit_conflict = 1U << 2U;
  static constexpr std::uint32_t bit_capacity = 1U << 3U;
  static constexpr std::uint32_t bit_debug = 1U << 4U;
  static constexpr std::uint32_t bit_nested = 1U << 5U;        // it ended inside of an inner one
  static constexpr std::uint32_t bit_unavailable = 1U << 16U;  // ours: RTM leaves it 0
  static constexpr std::uint32_t all_begun = ~0U;
  static constexpr unsigned code_shift = 24;

  explicit constexpr status(std::uint32_t bits) noexcept : bits_(bits) {}

  // The transaction runs from here on.
  [[nodiscard]] constexpr bool begun() const noexcept { return bits_ == all_begun; }
  // The processor sees no reason why the next attempt should fail for the same cause.
  [[nodiscard]] constexpr bool may_succeed_again() const noexcept { return has(bit_again); }
  // What ended it, where it did not begin.
  [[nodiscard]] constexpr enum cause cause() const noexcept {
    if (has(bit_unavailable)) return cause::unavailable;
    if (has(bit_asked)) return cause::asked;
    if (has(bit_conflict)) return cause::conflict;
    if (has(bit_capacity)) return cause::capacity;
    if (has(bit_debug)) return cause::debug;
    return has(bit_nested) ? cause::nested : cause::other;
  }
  // It ended inside of an inner transaction.
  [[nodiscard]] constexpr bool was_nested() const noexcept { return has(bit_nested); }
  // The code of the abort<code>() that ended it, where cause() is `asked`.
  [[nodiscard]] constexpr unsigned code() const noexcept { return bits_ >> code_shift; }

 private:
  [[nodiscard]] constexpr bool has(std::uint32_t bit) const noexcept { return (bits_ & bit) != 0; }

  std::uint32_t bits_;
};

namespace detail {

// What a processor has: its instructions, and why they cannot be used, empty if they can. begin()
// gives the bits of a status.
#if defined(__x86_64__)
struct processor {
  [[gnu::always_inline]] static std::uint32_t begin() noexcept {
    std::uint32_t bits = status::all_begun;
    asm volatile("xbegin 1f\n1:" : "+a"(bits) : : "memory");
    return bits;
  }
  [[gnu::always_inline]] static void commit() noexcept { asm volatile("xend" : : : "memory"); }
  template <std::uint8_t code>
  [[gnu::always_inline]] static void abort() noexcept {
    asm volatile("xabort %0" : : "i"(code) : "memory");
  }
  [[gnu::always_inline]] static bool inside() noexcept {
    bool within = false;  // NOLINT(misc-const-correctness): written below
    asm volatile("xtest\n\tsetnz %0" : "=r"(within) : : "cc", "memory");
    return within;
  }

  static const char* why_none() noexcept {
    // What the emulation loads into a program. cpuid cannot be made to report it.
    if (::dlsym(RTLD_DEFAULT, "assay_rtm_emulation") != nullptr) return "";
    constexpr unsigned leaf = 7;
    constexpr unsigned rtm = 1U << 11U;            // in ebx
    constexpr unsigned always_aborts = 1U << 11U;  // in edx
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (__get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) == 0 || (ebx & rtm) == 0) {
      return "the processor (cpuid) has no RTM";
    }
    if ((edx & always_aborts) != 0) {
      return "microcode makes every RTM transaction abort (RTM_ALWAYS_ABORT)";
    }
    // Microcode has turned it off without a word, too; an interrupt, once, says nothing.
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
      if (begin() == status::all_begun) {
        commit();
        return "";
      }
    }
    return "the processor has RTM, but 100 empty transactions aborted";
  }
};
#else
struct processor {
  static std::uint32_t begin() noexcept { return status::bit_unavailable; }
  static void commit() noexcept {}
  template <std::uint8_t code>
  static void abort() noexcept {}
  static bool inside() noexcept { return false; }
  static const char* why_none() noexcept {
    return "Assay knows no transactions of this kind of processor";
  }
};
#endif

// `open` until the first call that asks. The number stands for itself, so that it is read relaxed.
enum class decision : std::uint8_t { none, rtm, open };
ASSAY_ONE_IN_PROCESS inline std::atomic<decision> decided{decision::open};
ASSAY_ONE_IN_PROCESS inline std::atomic<const char*> turned_off_because{nullptr};

inline const char* why_none_here() noexcept {
  static const char* const why = ASSAY_THREAD_SANITIZER == 0
                                     ? processor::why_none()
                                     : "ThreadSanitizer would not see what they order";
  return why;
}

[[gnu::noinline, gnu::cold]] inline decision decide() noexcept {
  const decision here = *why_none_here() == '\0' ? decision::rtm : decision::none;
  decision seen = decision::open;  // turn_off() may come first
  return decided.compare_exchange_strong(seen, here, std::memory_order_relaxed) ? here : seen;
}

}  // namespace detail

// Whether there are transactions: the same answer for the rest of the process.
[[nodiscard, gnu::always_inline]] inline bool available() noexcept {
  detail::decision seen = detail::decided.load(std::memory_order_relaxed);
  if (seen == detail::decision::none) [[likely]]
    return false;
  if (seen == detail::decision::open) [[unlikely]]
    seen = detail::decide();
  return seen == detail::decision::rtm;
}

// Has the program do without transactions; why_none() returns `because`, which must outlive all
// calls of it. Returns false, and does nothing, where a call has found before that there are
// transactions: call it before the first lock is used.
[[nodiscard]] inline bool turn_off(const char* because) noexcept {
  detail::turned_off_because.store(because, std::memory_order_relaxed);
  detail::decision seen = detail::decision::open;
  return detail::decided.compare_exchange_strong(seen, detail::decision::none,
                                                 std::memory_order_release,  // (1) with (2)
                                                 std::memory_order_relaxed) ||
         seen == detail::decision::none;
}

// "none" or "rtm".
[[nodiscard]] inline const char* backend_name() noexcept { return available() ? "rtm" : "none"; }

// Why there are none; empty if there are.
[[nodiscard]] inline const char* why_none() noexcept {
  if (available()) return "";
  static_cast<void>(detail::decided.load(std::memory_order_acquire));  // (2) with (1)
  const char* const because = detail::turned_off_because.load(std::memory_order_relaxed);
  return because != nullptr ? because : detail::why_none_here();
}

[[gnu::always_inline]] inline status begin() noexcept {
  if (!available()) [[likely]]
    return status(status::bit_unavailable);
  return status(detail::processor::begin());
}

// Ends the transaction that the calling thread is in: for good, if it is the outermost.
[[gnu::always_inline]] inline void commit() noexcept { detail::processor::commit(); }

// Goes back to the outermost begin(). Nothing outside of transactions.
template <std::uint8_t code>
  requires(code < 128)
[[gnu::always_inline]] inline void abort() noexcept {
  if (available()) detail::processor::abort<code>();
}

// Whether the calling thread is in a transaction.
[[nodiscard, gnu::always_inline]] inline bool inside() noexcept {
  return available() && detail::processor::inside();
}

}  // namespace assay::sync::transaction

#endif  // ASSAY_LOCKS_TRANSACTION_H_
