// For tests: counts what a program allocates, and lets chosen allocations fail. A program that
// links reclaim_test_allocations.cpp has its operator new replaced by one that does.

#ifndef TESTS_RECLAIM_RECLAIM_TEST_ALLOCATIONS_H_
#define TESTS_RECLAIM_RECLAIM_TEST_ALLOCATIONS_H_

#include <atomic>
#include <cstdint>
#include <limits>

#include "assay/base/sanitizers.h"

namespace assay::tests {

// How many more times something may be done before it fails.
class countdown {
 public:
  void fail_after(std::uint64_t n) { left_ = n; }
  void never_fail() { left_ = std::numeric_limits<std::uint64_t>::max(); }
  bool fails_now() {
    if (left_ == std::numeric_limits<std::uint64_t>::max()) return false;
    return left_-- == 0;
  }

 private:
  std::uint64_t left_ = std::numeric_limits<std::uint64_t>::max();
};

// The calling thread's: those that may still succeed, and those that have.
inline thread_local countdown allocations;
inline thread_local std::uint64_t allocations_made = 0;

// All threads': what the allocator has made of all allocations that are not freed. glibc gives up
// to 16 bytes more than were asked for.
inline std::atomic<std::int64_t> bytes_in_use{0};

// ThreadSanitizer's own operator new cannot be replaced: nothing fails or is counted under it.
inline constexpr bool allocations_fail = !ASSAY_THREAD_SANITIZER;

}  // namespace assay::tests

#endif  // TESTS_RECLAIM_RECLAIM_TEST_ALLOCATIONS_H_
