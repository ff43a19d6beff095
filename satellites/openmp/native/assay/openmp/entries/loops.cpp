// Loops, and parallel regions that begin with one. The schedule decides which chunks there are, so
// that one function gives the next of any.

#include "assay/openmp/entries/loops.h"

#include "assay/openmp/entries/entry.h"

namespace assay::omp {
namespace {

template <class T>
bool next(T* first, T* last) {
  static_cast<void>(enter());
  return next_chunk(first, last);
}

void parallel_loop(void (*function)(void*), void* data, unsigned threads, unsigned flags,
                   const loop& what) {
  run_parallel(function, data, team_size(threads), flags & 7U, nullptr, &what);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): names of functions, and what comes between commas

#define ASSAY_NEXT(NAME)                                                       \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_##NAME##_next(long* first, long* last) {   \
    return next(first, last);                                                  \
  }                                                                            \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_ull_##NAME##_next(ull* first, ull* last) { \
    return next(first, last);                                                  \
  }

#define ASSAY_LOOP(NAME, KIND, ORDERED)                                                          \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_##NAME##_start(long start, long end, long step, long chunk,  \
                                                   long* first, long* last) {                    \
    return start_loop(                                                                           \
        make_loop(start, end, step, with_chunk(schedule_kind::KIND, chunk), ORDERED), first,     \
        last);                                                                                   \
  }                                                                                              \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_ull_##NAME##_start(bool up, ull start, ull end, ull step,    \
                                                       ull chunk, ull* first, ull* last) {       \
    return start_loop(                                                                           \
        make_loop(up, start, end, step, with_chunk(schedule_kind::KIND, chunk), ORDERED), first, \
        last);                                                                                   \
  }                                                                                              \
  ASSAY_NEXT(NAME)

#define ASSAY_RUNTIME_LOOP(NAME, ORDERED)                                                         \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_##NAME##_start(long start, long end, long step, long* first,  \
                                                   long* last) {                                  \
    return start_loop(make_loop(start, end, step, runtime_schedule(), ORDERED), first, last);     \
  }                                                                                               \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_ull_##NAME##_start(bool up, ull start, ull end, ull step,     \
                                                       ull* first, ull* last) {                   \
    return start_loop(make_loop(up, start, end, step, runtime_schedule(), ORDERED), first, last); \
  }                                                                                               \
  ASSAY_NEXT(NAME)

ASSAY_LOOP(static, fixed, false)
ASSAY_LOOP(dynamic, dynamic, false)
ASSAY_LOOP(guided, guided, false)
ASSAY_LOOP(nonmonotonic_dynamic, dynamic, false)
ASSAY_LOOP(nonmonotonic_guided, guided, false)
ASSAY_RUNTIME_LOOP(runtime, false)
ASSAY_RUNTIME_LOOP(nonmonotonic_runtime, false)
ASSAY_RUNTIME_LOOP(maybe_nonmonotonic_runtime, false)
ASSAY_LOOP(ordered_static, fixed, true)
ASSAY_LOOP(ordered_dynamic, dynamic, true)
ASSAY_LOOP(ordered_guided, guided, true)
ASSAY_RUNTIME_LOOP(ordered_runtime, true)

#define ASSAY_LOOP_WITH_PARTS(NAME, ORDERED)                                                       \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_##NAME##start(long start, long end, long step, long schedule,  \
                                                  long chunk, long* first, long* last,             \
                                                  std::uintptr_t* reductions, void** memory) {     \
    return start_loop(make_loop(start, end, step, numbered_schedule(schedule, chunk), ORDERED),    \
                      first, last, {.reductions = reductions, .memory = memory});                  \
  }                                                                                                \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_ull_##NAME##start(                                             \
      bool up, ull start, ull end, ull step, long schedule, ull chunk, ull* first, ull* last,      \
      std::uintptr_t* reductions, void** memory) {                                                 \
    return start_loop(                                                                             \
        make_loop(up, start, end, step, numbered_schedule(schedule, chunk), ORDERED), first, last, \
        {.reductions = reductions, .memory = memory});                                             \
  }

ASSAY_LOOP_WITH_PARTS(, false)
ASSAY_LOOP_WITH_PARTS(ordered_, true)

#define ASSAY_PARALLEL_LOOP(NAME, KIND)                                                      \
  ASSAY_OPENMP_ENTRY void GOMP_parallel_loop_##NAME(void (*function)(void*), void* data,     \
                                                    unsigned threads, long start, long end,  \
                                                    long step, long chunk, unsigned flags) { \
    static_cast<void>(enter());                                                              \
    parallel_loop(function, data, threads, flags,                                            \
                  make_loop(start, end, step, with_chunk(schedule_kind::KIND, chunk)));      \
  }

#define ASSAY_PARALLEL_RUNTIME_LOOP(NAME)                                                   \
  ASSAY_OPENMP_ENTRY void GOMP_parallel_loop_##NAME(void (*function)(void*), void* data,    \
                                                    unsigned threads, long start, long end, \
                                                    long step, unsigned flags) {            \
    static_cast<void>(enter());                                                             \
    parallel_loop(function, data, threads, flags,                                           \
                  make_loop(start, end, step, runtime_schedule()));                         \
  }

ASSAY_PARALLEL_LOOP(static, fixed)
ASSAY_PARALLEL_LOOP(dynamic, dynamic)
ASSAY_PARALLEL_LOOP(guided, guided)
ASSAY_PARALLEL_LOOP(nonmonotonic_dynamic, dynamic)
ASSAY_PARALLEL_LOOP(nonmonotonic_guided, guided)
ASSAY_PARALLEL_RUNTIME_LOOP(runtime)
ASSAY_PARALLEL_RUNTIME_LOOP(nonmonotonic_runtime)
ASSAY_PARALLEL_RUNTIME_LOOP(maybe_nonmonotonic_runtime)

// Programs of gcc before 4.9 begin a region so, call its function themselves, and end it by
// GOMP_parallel_end().
#define ASSAY_PARALLEL_LOOP_START(NAME, KIND)                                                    \
  ASSAY_OPENMP_ENTRY void GOMP_parallel_loop_##NAME##_start(void (*function)(void*), void* data, \
                                                            unsigned threads, long start,        \
                                                            long end, long step, long chunk) {   \
    static_cast<void>(enter());                                                                  \
    const loop what = make_loop(start, end, step, with_chunk(schedule_kind::KIND, chunk));       \
    begin_parallel(function, data, team_size(threads), 0, nullptr, &what);                       \
  }

ASSAY_PARALLEL_LOOP_START(static, fixed)
ASSAY_PARALLEL_LOOP_START(dynamic, dynamic)
ASSAY_PARALLEL_LOOP_START(guided, guided)

// NOLINTEND(bugprone-macro-parentheses)

ASSAY_OPENMP_ENTRY void GOMP_parallel_loop_runtime_start(void (*function)(void*), void* data,
                                                         unsigned threads, long start, long end,
                                                         long step) {
  static_cast<void>(enter());
  const loop what = make_loop(start, end, step, runtime_schedule());
  begin_parallel(function, data, team_size(threads), 0, nullptr, &what);
}

ASSAY_OPENMP_ENTRY void GOMP_loop_end() {
  static_cast<void>(enter());
  leave_workshare();
  static_cast<void>(wait_at_barrier(__builtin_return_address(0), false));
}

ASSAY_OPENMP_ENTRY bool GOMP_loop_end_cancel() {
  static_cast<void>(enter());
  leave_workshare();
  return wait_at_barrier(__builtin_return_address(0), true);
}

ASSAY_OPENMP_ENTRY void GOMP_loop_end_nowait() {
  static_cast<void>(enter());
  leave_workshare();
}

ASSAY_OPENMP_ENTRY void GOMP_ordered_start() {
  static_cast<void>(enter());
  wait_for_turn();
}

// The turn passes at the chunk's end: the iterations before that are the thread's own.
ASSAY_OPENMP_ENTRY void GOMP_ordered_end() { static_cast<void>(enter()); }

}  // namespace assay::omp
