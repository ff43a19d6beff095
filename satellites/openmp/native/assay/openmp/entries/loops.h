// What the entries of loops and of doacross have in common: from a program's loop, whose bounds are
// of type long or unsigned long long, to one of numbered iterations, and back.

#ifndef ASSAY_OPENMP_ENTRIES_LOOPS_H_
#define ASSAY_OPENMP_ENTRIES_LOOPS_H_

#include <algorithm>
#include <cstdint>

#include "assay/openmp/team.h"
#include "assay/openmp/worksharing.h"

namespace assay::omp {

using ull = unsigned long long;

struct schedule_of_loop {
  schedule_kind kind;
  std::uint64_t chunk;
};

template <class T>
schedule_of_loop with_chunk(schedule_kind kind, T chunk) {
  return {.kind = kind, .chunk = chunk > 0 ? static_cast<std::uint64_t>(chunk) : 0};
}

inline schedule_of_loop runtime_schedule() {
  const schedule& set = self().current->icv.run_schedule;
  return with_chunk(set.kind, set.chunk);
}

// As GOMP_loop_start() and its like number schedules: 0 and 4 are runtime, monotonic or not.
template <class T>
schedule_of_loop numbered_schedule(long number, T chunk) {
  constexpr unsigned kinds = 7;  // without the bit for `monotonic`
  const unsigned kind = static_cast<unsigned>(number) & kinds;
  if (kind == 0 || kind == 4) return runtime_schedule();
  return with_chunk(static_cast<schedule_kind>(kind), chunk);
}

template <class T>
loop make_loop(bool up, T start, T end, T step, schedule_of_loop how, bool ordered = false) {
  const auto from = static_cast<std::uint64_t>(start);
  const auto to = static_cast<std::uint64_t>(end);
  const auto by = static_cast<std::uint64_t>(step);
  loop made;
  made.start = from;
  made.end = to;
  made.step = by;
  if (up ? start < end : end < start) {
    made.iterations = ((up ? to - from : from - to) - 1) / (up ? by : -by) + 1;
  }
  made.kind = how.kind;
  made.chunk = how.chunk;
  made.ordered = ordered;
  return made;
}

inline loop make_loop(long start, long end, long step, schedule_of_loop how, bool ordered = false) {
  return make_loop(step > 0, start, end, step, how, ordered);
}

template <class T>
bool next_chunk(T* first, T* last) {
  const member& mine = *self().me;
  const loop_position& at = mine.loop;
  if (at.in == nullptr) return false;
  if (at.in->in_any_order) {
    const loop& what = at.in->what;
    const std::uint64_t number = take_any(*at.in, mine.in->size);
    if (number >= at.in->chunks) return false;
    const std::uint64_t begin = number * what.chunk;
    *first = static_cast<T>(what.value(begin));
    *last = static_cast<T>(what.value(begin + std::min(what.chunk, what.iterations - begin)));
    return true;
  }
  if (!take_chunk()) return false;
  *first = static_cast<T>(at.in->what.value(at.begin));
  *last = static_cast<T>(at.in->what.value(at.end));
  return true;
}

// `first` is null where the compiler divides the iterations itself.
template <class T>
bool start_loop(const loop& what, T* first, T* last, const shared_parts& parts = {}) {
  static_cast<void>(enter());
  come_to(what, parts);
  return first == nullptr || next_chunk(first, last);
}

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_ENTRIES_LOOPS_H_
