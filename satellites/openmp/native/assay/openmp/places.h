// Places in a program where threads wait, each known by the address to which the runtime returns:
// how they wait there, what came of it, and which way costs least.

#ifndef ASSAY_OPENMP_PLACES_H_
#define ASSAY_OPENMP_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "assay/base/atomics.h"
#include "assay/base/cheapest.h"

namespace assay::omp {

struct alignas(64) place {
  atomic<const void*> address{nullptr};
  atomic<bool> waits_only{false};  // ASSAY_OMP_WAIT_AT names it; told a moment late to others
  sync::cheapest<2> ways;  // of a barrier, to wait or to run ahead: the time from one arrival of a
                           // thread to the next

  atomic<std::uint32_t> in_vain{0};  // waits, one after the other, that looked long and slept then

  // Counts alone, read at the end. The first two are counted for statistics alone.
  atomic<std::uint64_t> waits{0};
  atomic<std::uint64_t> waited_ns{0};
  atomic<std::uint64_t> attempts{0};  // to run ahead
  atomic<std::uint64_t> committed{0};
  atomic<std::uint64_t> too_early{0};  // what was waited for had not happened at the next call
  atomic<std::uint64_t> conflicts{0};
  atomic<std::uint64_t> too_large{0};
  atomic<std::uint64_t> declined{0};  // waits at which it was not tried
  atomic<std::uint64_t> others{0};    // system calls, interrupts, page faults
};

// The place in the program of a call of the runtime. That is the address to which the call returns,
// or, where that is in this library, the region's or the task's function: if a function's last act
// is a call, compilers have the call return to what called the function.
[[nodiscard]] const void* in_program(const void* returns_to, const void* function) noexcept;
// Lock-free. All places beyond the first 500 or so share one.
place& place_of(const void* address) noexcept;

// Whether threads may run ahead at all: there are transactions, and the user wants it.
[[nodiscard]] bool may_run_ahead() noexcept;
// By the first member of a team that comes to a barrier there, in an epoch of the barrier.
void record_arrival(place& at, std::uint32_t epoch) noexcept;
// Whether to run ahead at a barrier there: where that is the cheaper way, and as at a taskwait.
[[nodiscard]] bool pays_at_barrier(place& at) noexcept;
// Whether to run ahead at a taskwait there: for as long as every fourth attempt commits, and now
// and then a few times to see whether it does by now.
[[nodiscard]] bool pays_at_taskwait(place& at) noexcept;

// Whether a thread that has waited there for a while goes on looking before it sleeps. It does not
// after some waits in a row that slept in the end, except that each 32nd one asks again.
[[nodiscard]] bool pays_to_look(place& at) noexcept;
// What came of that: whether the wait ended while the thread looked.
void record_look(place& at, bool ended) noexcept;

// Writes a line for each place where threads waited, the longest waits first, and one for each
// where they ran ahead.
void print_places(std::FILE* to);

// As debuggers and addr2line name it: the file, and the offset in it.
std::string name_of(const void* address);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_PLACES_H_
