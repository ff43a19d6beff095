// Mistakes in the use of a reclamation policy, which builds with checks find (base/abi.h).
//
//     assay: a handle or participant is used by another thread than the one that made it: ...
//
// Their users may know maps alone, and not that each handle has a participant in the map's domain.

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
    misuse::require(guards_ == 0,
                    "a handle or participant is destroyed during a call to it, or while its guard "
                    "is open");
  }
  // Whether a guard may open.
  void check() const {
    if constexpr (misuse::checks) {
      misuse::require(thread_ == this_thread(),
                      "a handle or participant is used by another thread than the one that made "
                      "it: make one in each thread, by attach() or join()");
      misuse::require(nests_ || guards_ == 0,
                      "a handle is called from within a call to it, or a participant opens a "
                      "second guard: use another handle or participant for the inner one");
    }
  }
  void expect_at_rest(
      const char* otherwise =
          "clear() or free_all() is called during another call, or while a guard is open") const {
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
