// sections, which are loops over the numbers of the sections, and scope with task reductions.

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/entries/loops.h"

namespace assay::omp {
namespace {

loop make_sections(unsigned count) {
  return make_loop(true, ull{1}, ull{count} + 1, ull{1},
                   {.kind = schedule_kind::dynamic, .chunk = 1});
}

// The number of the section that the thread runs next, from 1; 0 if there is none.
unsigned next_section() {
  ull section = 0;
  ull after = 0;
  return next_chunk(&section, &after) ? static_cast<unsigned>(section) : 0;
}

unsigned start_sections(unsigned count, const shared_parts& parts) {
  static_cast<void>(enter());
  come_to(make_sections(count), parts);
  return next_section();
}

}  // namespace

ASSAY_OPENMP_ENTRY unsigned GOMP_sections_start(unsigned count) {
  return start_sections(count, {});
}

ASSAY_OPENMP_ENTRY unsigned GOMP_sections2_start(unsigned count, std::uintptr_t* reductions,
                                                 void** memory) {
  return start_sections(count, {.reductions = reductions, .memory = memory});
}

ASSAY_OPENMP_ENTRY unsigned GOMP_sections_next() {
  static_cast<void>(enter());
  return next_section();
}

ASSAY_OPENMP_ENTRY void GOMP_parallel_sections(void (*function)(void*), void* data,
                                               unsigned threads, unsigned count, unsigned flags) {
  static_cast<void>(enter());
  const loop what = make_sections(count);
  run_parallel(function, data, team_size(threads), flags & 7U, nullptr, &what);
}

ASSAY_OPENMP_ENTRY void GOMP_parallel_sections_start(void (*function)(void*), void* data,
                                                     unsigned threads, unsigned count) {
  static_cast<void>(enter());
  const loop what = make_sections(count);
  begin_parallel(function, data, team_size(threads), 0, nullptr, &what);
}

ASSAY_OPENMP_ENTRY void GOMP_sections_end() {
  static_cast<void>(enter());
  leave_workshare();
  static_cast<void>(wait_at_barrier(__builtin_return_address(0), false));
}

ASSAY_OPENMP_ENTRY bool GOMP_sections_end_cancel() {
  static_cast<void>(enter());
  leave_workshare();
  return wait_at_barrier(__builtin_return_address(0), true);
}

ASSAY_OPENMP_ENTRY void GOMP_sections_end_nowait() {
  static_cast<void>(enter());
  leave_workshare();
}

// gcc calls it for scopes with task reductions alone, and no function at their end but the barrier
// and GOMP_workshare_task_reduction_unregister().
ASSAY_OPENMP_ENTRY void GOMP_scope_start(std::uintptr_t* reductions) {
  static_cast<void>(enter());
  come_to({}, {.reductions = reductions});
  leave_workshare();
}

}  // namespace assay::omp
