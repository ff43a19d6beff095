// Mistakes in the use of a reclamation policy, found in debug builds (those without NDEBUG): one
// line on standard error says which, and the program ends.
//
//     assay: a participant is used by a thread that did not join with it
//
// In release builds the checks are gone, and the same mistakes are undefined behaviour. A program
// whose files are of both kinds cannot hand a domain from one to the other: the policies of the two
// are different types, in namespaces of their own, so that it does not link.

#ifndef ASSAY_RECLAIM_CHECKS_H_
#define ASSAY_RECLAIM_CHECKS_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "assay/base/sanitizers.h"

#if ASSAY_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

// The inline namespace of all that differs between the two kinds of files.
#ifdef NDEBUG
#define ASSAY_RECLAIM_BUILD unchecked
#else
#define ASSAY_RECLAIM_BUILD checked
#endif

namespace assay::reclaim::inline ASSAY_RECLAIM_BUILD::detail {

#ifdef NDEBUG
inline constexpr bool checks = false;
#else
inline constexpr bool checks = true;
#endif

inline void require([[maybe_unused]] bool right, [[maybe_unused]] const char* otherwise) {
  if constexpr (checks) {
    if (right) return;
    std::fprintf(stderr, "assay: %s\n", otherwise);
    std::abort();
  }
}

#ifdef __clang_analyzer__
void keep(void* node) noexcept;  // the analyser loses sight of nodes in blocks
#else
inline void keep(void* /*node*/) noexcept {}
#endif

// Says that a node is never freed, and that this is meant.
inline void leak(void* node) noexcept {
  keep(node);
#if ASSAY_ADDRESS_SANITIZER
  __lsan_ignore_object(node);
#endif
}

// The calling thread's number, which no other ever has: the system gives the identifiers of threads
// that have ended to new ones.
inline std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = ++last;
  return number;
}

// Who uses a record, and how. Touched by the thread that has claimed it, and by others that know it
// to be done.
class usage {
 public:
  void join() {
    if constexpr (checks) thread_ = this_thread();
  }
  void leave() const { require(!guarded_, "a participant is destroyed while its guard is open"); }
  // Whether a guard may open.
  void check() const {
    if constexpr (checks) {
      require(thread_ == this_thread(),
              "a participant is used by a thread that did not join with it");
      require(!guarded_, "a participant is pinned while its guard is open");
    }
  }
  void expect_at_rest() const {
    require(!guarded_, "all retired nodes are freed while a guard is open");
  }
  void pin() {
    if constexpr (checks) guarded_ = true;
  }
  void unpin() {
    if constexpr (checks) guarded_ = false;
  }

 private:
  std::uint64_t thread_ = 0;
  bool guarded_ = false;
};

}  // namespace assay::reclaim::inline ASSAY_RECLAIM_BUILD::detail

#endif  // ASSAY_RECLAIM_CHECKS_H_
