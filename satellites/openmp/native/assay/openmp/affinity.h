// Where threads run: the places of OMP_PLACES, and which of them the threads of a team get
// (OpenMP 5.1, section 2.6.2).

#ifndef ASSAY_OPENMP_AFFINITY_H_
#define ASSAY_OPENMP_AFFINITY_H_

#include <span>
#include <vector>

#include "assay/openmp/settings.h"

namespace assay::omp {

// Where a thread is, and the partition from which teams that it is master of get theirs: `count`
// places from `first` on.
struct seat {
  unsigned place = 0;
  unsigned first = 0;
  unsigned count = 0;
  bool operator==(const seat&) const = default;
};

// The processors on which the calling thread may run, in order.
[[nodiscard]] processor_list usable_processors();

// The process's places. Empty: threads are not bound.
const std::vector<processor_list>& places() noexcept;

// Seats for a team, in the way of `binding`, whose master sits at `seats.front()`.
void assign_seats(std::span<seat> seats, unsigned bind) noexcept;

// Lets the calling thread run on the processors of a place alone. Where the system refuses that, it
// runs as before.
void bind_to(unsigned place) noexcept;

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_AFFINITY_H_
