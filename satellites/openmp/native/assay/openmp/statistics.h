// How often a program used each construct, and how long its threads waited there: counted by each
// thread for itself, added up and printed on standard error when the program ends, if
// ASSAY_OMP_STATISTICS=on is in the environment. Else each hook is a branch that is never taken.

#ifndef ASSAY_OPENMP_STATISTICS_H_
#define ASSAY_OPENMP_STATISTICS_H_

#include <cstddef>
#include <cstdint>

#include "assay/host/clock.h"

namespace assay::omp {

enum class construct : std::size_t {
  parallel,
  region_end,
  barrier,
  task,
  taskwait,
  taskgroup,
  critical,
  other
};

// What becomes of a critical section that begins as a transaction.
enum class elision_event : std::size_t {
  begun,
  committed,
  lock_held,
  conflict,
  too_large,
  other,
  locked
};

namespace statistics {

extern const bool on;  // constant after the library was loaded

void count_use(construct what) noexcept;
void count_wait(construct what, const void* from, std::uint64_t nanoseconds) noexcept;

void count_elision(elision_event what) noexcept;

inline void used(construct what) noexcept {
  if (on) [[unlikely]]
    count_use(what);
}

// Counts the time that it lives as waiting, less what the thread worked meanwhile, if it was ever
// idle. `from` is the place in the program to which it is counted as well, if any.
class wait {
 public:
  explicit wait(construct what, const void* from) noexcept : what_(what), from_(from) {
    if (on) [[unlikely]]
      began_ = host::now_ns();
  }
  ~wait() {
    if (on && idle_) [[unlikely]]
      count_wait(what_, from_, host::now_ns() - began_ - worked_);
  }
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;

  // The thread found nothing to do.
  void idle() noexcept { idle_ = true; }

  // Calls what may work, and returns whether it did.
  template <class Work>
  [[nodiscard]] bool works(const Work& work) {
    if (!on) [[likely]]
      return work();
    const std::uint64_t before = host::now_ns();
    const bool did = work();
    if (did) worked_ += host::now_ns() - before;
    return did;
  }

 private:
  construct what_;
  const void* from_;
  std::uint64_t began_ = 0;
  std::uint64_t worked_ = 0;
  bool idle_ = false;
};

}  // namespace statistics
}  // namespace assay::omp

#endif  // ASSAY_OPENMP_STATISTICS_H_
