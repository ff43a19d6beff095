// Mistakes in the use of a reclamation policy, which builds with checks find (base/abi.h).
//
//     assay: a participant is used by a thread that did not join with it

#ifndef ASSAY_RECLAIM_CHECKS_H_
#define ASSAY_RECLAIM_CHECKS_H_

#include <atomic>
#include <cstdint>

#include "assay/base/abi.h"
#include "assay/base/sanitizers.h"

#if ASSAY_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace assay::reclaim::inline ASSAY_ABI::detail {

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
ASSAY_ONE_IN_PROCESS inline std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = ++last;
  return number;
}

// Who uses a record, and how. Touched by the thread that has claimed it, and by others that know it
// to be done.
class usage {
 public:
  void join(bool nests) {
    if constexpr (misuse::checks) {
      thread_ = this_thread();
      nests_ = nests;
    }
  }
  void forbid_nesting() {
    if constexpr (misuse::checks) nests_ = false;
  }
  void leave() const {
    misuse::require(guards_ == 0, "a participant is destroyed while its guard is open");
  }
  // Whether a guard may open.
  void check() const {
    if constexpr (misuse::checks) {
      misuse::require(thread_ == this_thread(),
                      "a participant is used by a thread that did not join with it");
      misuse::require(nests_ || guards_ == 0,
                      "a participant is pinned while its guard is open: a call within a call needs "
                      "a participant or a handle of its own");
    }
  }
  void expect_at_rest(
      const char* otherwise = "all retired nodes are freed while a guard is open") const {
    misuse::require(guards_ == 0, otherwise);
  }
  void pin() {
    if constexpr (misuse::checks) ++guards_;
  }
  void unpin() {
    if constexpr (misuse::checks) --guards_;
  }

 private:
  std::uint64_t thread_ = 0;
  std::uint32_t guards_ = 0;
  bool nests_ = false;
};

}  // namespace assay::reclaim::inline ASSAY_ABI::detail

#endif  // ASSAY_RECLAIM_CHECKS_H_
