// Mistakes in the use of a reclamation policy, found in debug builds (those without NDEBUG): one
// line on standard error says which, and the program ends.
//
//     assay: a participant is used by a thread that did not join with it
//
// In release builds the checks are gone, and the same mistakes are undefined behaviour. The layout
// of records is the same in both, so that files of either kind may meet in one program.

#ifndef ASSAY_RECLAIM_CHECKS_H_
#define ASSAY_RECLAIM_CHECKS_H_

#include <cstdio>
#include <cstdlib>
#include <thread>

// Whether LeakSanitizer looks for memory that nobody can reach.
#if defined(__SANITIZE_ADDRESS__)
#define ASSAY_LEAKS_ARE_FOUND 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASSAY_LEAKS_ARE_FOUND 1
#endif
#endif
#ifndef ASSAY_LEAKS_ARE_FOUND
#define ASSAY_LEAKS_ARE_FOUND 0
#endif
#if ASSAY_LEAKS_ARE_FOUND
#include <sanitizer/lsan_interface.h>
#endif

namespace assay::reclaim::detail {

#ifdef NDEBUG
inline constexpr bool checked = false;
#else
inline constexpr bool checked = true;
#endif

inline void require([[maybe_unused]] bool right, [[maybe_unused]] const char* otherwise) {
  if constexpr (checked) {
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
#if ASSAY_LEAKS_ARE_FOUND
  __lsan_ignore_object(node);
#endif
}

// Who uses a record, and how. Touched only by the thread that has claimed it.
class usage {
 public:
  void join() {
    if constexpr (checked) thread_ = std::this_thread::get_id();
  }
  void leave() const {
    require(!guarded_, "a participant is destroyed while a guard of it is open");
  }
  // Whether a guard may open.
  void check() const {
    if constexpr (checked) {
      require(thread_ == std::this_thread::get_id(),
              "a participant is used by a thread that did not join with it");
      require(!guarded_, "a participant is pinned while a guard of it is open");
    }
  }
  void expect_at_rest() const {
    require(!guarded_, "all retired nodes are freed while a guard is open");
  }
  void pin() {
    if constexpr (checked) guarded_ = true;
  }
  void unpin() {
    if constexpr (checked) guarded_ = false;
  }

 private:
  std::thread::id thread_;
  bool guarded_ = false;
};

}  // namespace assay::reclaim::detail

#endif  // ASSAY_RECLAIM_CHECKS_H_
