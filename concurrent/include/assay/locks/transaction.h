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
// When the transaction aborts, begin() returns once more, with the cause. All that the transaction had
// written is as before, local variables too. A transaction may abort at any time and for no reason: a
// program needs a way without one.
//
// Which instructions there are is found when the program starts, and is a constant after that:
//  - RTM of x86-64, where cpuid reports it, does not report that it always aborts, and one of a
//    hundred empty transactions commits. Where a processor has none, `assay-rtm PROGRAM` emulates it.
//  - HTM of POWER8 and POWER9, and TME of Arm: these are compiled by `make lint`, and were never run.
//  - none: begin() says so, for the price of a branch that always goes the same way.
// `why_none` says why. ASSAY_TRANSACTIONS=none in the environment leaves available transactions unused.
// So does ThreadSanitizer, which would not see what keeps them apart. With rtm, power or tme, a program
// that does not have them ends with a message. In trials the setting `transactions` sets it.
//
// Nested transactions are one with the outermost: only its commit() commits, and an abort ends all.
// A commit is a fence of every kind: transactions, and what a thread does before and after them,
// are seen by all others in one order.
//
// Any thread may call all functions. They throw nothing, and are wait-free.

#ifndef ASSAY_LOCKS_TRANSACTION_H_
#define ASSAY_LOCKS_TRANSACTION_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "assay/base/sanitizers.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <dlfcn.h>
#elif defined(__powerpc64__) || defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace assay::sync::transaction {

enum class backend : std::uint8_t { none, rtm, power, tme };

enum class cause : std::uint8_t {
  unavailable,  // no transactions, here or at all
  conflict,     // another thread accessed what this one wrote, or wrote what it had accessed
  capacity,     // it accessed more than the processor can keep
  asked,        // abort()
  nested,  // too many transactions inside of each other, or `other` in an inner one: RTM tells no more
  debug,  // a breakpoint
  other,  // a system call, a page fault, an interrupt, an instruction that is not allowed
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

// A backend, and why there is none.
struct offer {
  backend which = backend::none;
  const char* why_none = "";
};

// What a processor has: which backend, and its instructions. begin() gives the bits of a status.
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

  static offer find() noexcept {
    // What assay-rtm loads into a program. cpuid cannot be made to tell of it.
    if (::dlsym(RTLD_DEFAULT, "assay_rtm_emulation") != nullptr) return {backend::rtm};
    constexpr unsigned leaf = 7;
    constexpr unsigned rtm = 1U << 11U;            // in ebx
    constexpr unsigned always_aborts = 1U << 11U;  // in edx
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (__get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) == 0 || (ebx & rtm) == 0) {
      return {backend::none, "the processor (cpuid) has no RTM"};
    }
    if ((edx & always_aborts) != 0) {
      return {backend::none, "microcode makes every RTM transaction abort (RTM_ALWAYS_ABORT)"};
    }
    // Microcode has turned it off without a word, too; an interrupt, once, says nothing.
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
      if (begin() == status::all_begun) {
        commit();
        return {backend::rtm};
      }
    }
    return {backend::none, "the processor has RTM, but 100 empty transactions aborted"};
  }
};
#elif defined(__powerpc64__)
struct processor {
  [[gnu::always_inline]] static std::uint32_t begin() noexcept {
    std::uint64_t conditions = 0;
    asm volatile(".machine push\n\t.machine power8\n\ttbegin. 0\n\tmfcr %0\n\t.machine pop"
                 : "=r"(conditions)
                 :
                 : "cr0", "memory");
    constexpr std::uint64_t failed = 1U << 29U;  // cr0's bit eq
    if ((conditions & failed) == 0) return status::all_begun;
    std::uint64_t texasru = 0;
    asm volatile("mfspr %0, 131" : "=r"(texasru));
    return bits_of(texasru);
  }
  [[gnu::always_inline]] static void commit() noexcept {
    asm volatile(".machine push\n\t.machine power8\n\ttend. 0\n\t.machine pop"
                 :
                 :
                 : "cr0", "memory");
  }
  template <std::uint8_t code>
  [[gnu::always_inline]] static void abort() noexcept {
    // The lowest of eight bits says that it will fail again.
    constexpr std::uint64_t persistent = code * 2U + 1U;
    asm volatile(".machine push\n\t.machine power8\n\ttabort. %0\n\t.machine pop"
                 :
                 : "b"(persistent)  // no r0, which tabort. takes for no code
                 : "cr0", "memory");
  }
  [[gnu::always_inline]] static bool inside() noexcept {
    std::uint64_t conditions = 0;
    asm volatile(".machine push\n\t.machine power8\n\ttcheck 0\n\tmfcr %0\n\t.machine pop"
                 : "=r"(conditions)
                 :
                 : "cr0", "memory");
    constexpr std::uint64_t transactional = 1U << 30U;  // cr0's bit gt
    return (conditions & transactional) != 0;
  }

  static offer find() noexcept {
    constexpr unsigned long htm = 0x40000000;  // PPC_FEATURE2_HTM: POWER10 has none
    if ((::getauxval(AT_HWCAP2) & htm) != 0) return {backend::power};
    return {backend::none, "the processor or the kernel offers no HTM"};
  }

 private:
  // By Power ISA 2.07, Book II, section 5.3.2, which numbers bits from the highest of 64 on.
  static constexpr std::uint32_t bits_of(std::uint64_t texasru) noexcept {
    const auto has = [texasru](unsigned bit) { return (texasru >> (31U - bit) & 1U) != 0; };
    constexpr unsigned persistent = 7;
    constexpr unsigned nesting_overflow = 9;
    constexpr unsigned footprint_overflow = 10;
    constexpr unsigned first_conflict = 11;
    constexpr unsigned last_conflict = 14;
    constexpr unsigned asked = 31;
    constexpr unsigned code_shift = 25;
    std::uint32_t bits = has(persistent) ? 0 : status::bit_again;
    if (has(nesting_overflow)) bits |= status::bit_nested;
    if (has(footprint_overflow)) bits |= status::bit_capacity;
    for (unsigned bit = first_conflict; bit <= last_conflict; ++bit) {
      if (has(bit)) bits |= status::bit_conflict;
    }
    if (has(asked)) {
      bits |= status::bit_asked;
      bits |= static_cast<std::uint32_t>(texasru >> code_shift) << status::code_shift;
    }
    return bits;
  }
};
#elif defined(__aarch64__)
struct processor {
  [[gnu::always_inline]] static std::uint32_t begin() noexcept {
    std::uint64_t failure = 0;
    asm volatile(".arch_extension tme\n\ttstart %0" : "=r"(failure) : : "memory");
    return failure == 0 ? status::all_begun : bits_of(failure);
  }
  [[gnu::always_inline]] static void commit() noexcept {
    asm volatile(".arch_extension tme\n\ttcommit" : : : "memory");
  }
  template <std::uint8_t code>
  [[gnu::always_inline]] static void abort() noexcept {
    asm volatile(".arch_extension tme\n\ttcancel %0" : : "i"(code) : "memory");
  }
  [[gnu::always_inline]] static bool inside() noexcept {
    std::uint64_t depth = 0;
    asm volatile(".arch_extension tme\n\tttest %0" : "=r"(depth) : : "memory");
    return depth != 0;
  }

  static offer find() noexcept {
    // Linux lets programs read this register, with 0 for what it does not itself support.
    constexpr unsigned long can_read = 1U << 11U;  // HWCAP_CPUID
    if ((::getauxval(AT_HWCAP) & can_read) == 0) {
      return {backend::none, "the kernel does not say whether the processor has TME"};
    }
    std::uint64_t features = 0;
    asm("mrs %0, id_aa64isar0_el1" : "=r"(features));
    constexpr unsigned tme_shift = 24;
    constexpr std::uint64_t tme = 0xf;
    if ((features >> tme_shift & tme) != 0) return {backend::tme};
    return {backend::none, "the processor or the kernel offers no TME"};
  }

 private:
  // By Arm's Architecture Reference Manual Supplement on TME (DDI 0617), TSTART.
  static constexpr std::uint32_t bits_of(std::uint64_t failure) noexcept {
    const auto has = [failure](unsigned bit) { return (failure >> bit & 1U) != 0; };
    constexpr std::uint64_t code = 0xff;
    constexpr unsigned again = 15;
    constexpr unsigned cancelled = 16;
    constexpr unsigned conflict = 17;
    constexpr unsigned size = 20;
    constexpr unsigned nesting = 21;
    constexpr unsigned debug = 22;
    std::uint32_t bits = has(again) ? status::bit_again : 0;
    if (has(conflict)) bits |= status::bit_conflict;
    if (has(size)) bits |= status::bit_capacity;
    if (has(nesting)) bits |= status::bit_nested;
    if (has(debug)) bits |= status::bit_debug;
    if (has(cancelled)) {
      bits |= status::bit_asked;
      bits |= static_cast<std::uint32_t>(failure & code) << status::code_shift;
    }
    return bits;
  }
};
#else
struct processor {
  static std::uint32_t begin() noexcept { return status::bit_unavailable; }
  static void commit() noexcept {}
  template <std::uint8_t code>
  static void abort() noexcept {}
  static bool inside() noexcept { return false; }
  static offer find() noexcept {
    return {backend::none, "Assay knows no transactions of this kind of processor"};
  }
};
#endif

inline const char* name(backend which) noexcept {
  switch (which) {
    case backend::rtm:
      return "rtm";
    case backend::power:
      return "power";
    case backend::tme:
      return "tme";
    case backend::none:
      break;
  }
  return "none";
}

inline offer choose() noexcept {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before main
  const char* const wanted = std::getenv("ASSAY_TRANSACTIONS");
  if (wanted != nullptr && std::string_view(wanted) == "none") {
    return {backend::none, "ASSAY_TRANSACTIONS=none turns them off"};
  }
  const offer found = ASSAY_THREAD_SANITIZER == 0
                          ? processor::find()
                          : offer{backend::none, "ThreadSanitizer would not see what they order"};
  if (wanted != nullptr && wanted != std::string_view(name(found.which))) {
    const bool none = found.which == backend::none;
    std::fprintf(
        stderr,
        "assay: ASSAY_TRANSACTIONS=%s: there are %s transactions here%s%s; unset it, set it "
        "to none, or run the program under assay-rtm\n",
        wanted, none ? "no" : name(found.which), none ? ": " : "", found.why_none);
    std::exit(EXIT_FAILURE);  // NOLINT(concurrency-mt-unsafe): before main
  }
  return found;
}

inline const offer chosen = choose();

}  // namespace detail

// What this program has. `none` until it is initialised, together with other variables.
inline const backend available_backend = detail::chosen.which;
// The backend's name, as in ASSAY_TRANSACTIONS, and why it is `none`: empty if it is not.
inline const char* backend_name() noexcept { return detail::name(available_backend); }
inline const char* why_none() noexcept { return detail::chosen.why_none; }

// Whether the process has made an elided lock other than by constant initialisation: trials then say
// what share of such sections ran as transactions, 0 where there are none.
inline std::atomic<bool> locks_elided{false};
inline void lock_is_elided() noexcept {
  // Relaxed: who reads it has started the threads that make maps, and has joined them.
  locks_elided.store(true, std::memory_order_relaxed);
}

[[gnu::always_inline]] inline status begin() noexcept {
  if (available_backend == backend::none) [[likely]]
    return status(status::bit_unavailable);
  return status(detail::processor::begin());
}

// Ends the transaction that the calling thread is in: for good, if it is the outermost.
[[gnu::always_inline]] inline void commit() noexcept { detail::processor::commit(); }

// Goes back to the outermost begin(). Nothing outside of transactions. Codes have seven bits, which
// every backend can tell.
template <std::uint8_t code>
  requires(code < 128)
[[gnu::always_inline]] inline void abort() noexcept {
  if (available_backend != backend::none) detail::processor::abort<code>();
}

// Whether the calling thread is in a transaction.
[[nodiscard, gnu::always_inline]] inline bool inside() noexcept {
  return available_backend != backend::none && detail::processor::inside();
}

}  // namespace assay::sync::transaction

#endif  // ASSAY_LOCKS_TRANSACTION_H_
