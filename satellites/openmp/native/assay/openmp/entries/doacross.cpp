// ordered(n) with depend(source) and depend(sink): loops whose iterations wait for others. gcc
// numbers the iterations of each of the n loops from 0.

#include <cstdarg>
#include <vector>

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/entries/loops.h"

namespace assay::omp {
namespace {

template <class T>
loop make_doacross(unsigned loops, const T* counts, schedule_of_loop how) {
  loop made = make_loop(true, T{0}, counts[0], T{1}, how);
  made.inner.assign(counts + 1, counts + loops);
  made.doacross = true;
  return made;
}

template <class T>
void post_iteration(const T* numbers) {
  workshare* const in = enter().me->loop.in;
  if (in == nullptr) return;
  const auto outer = static_cast<std::uint64_t>(numbers[0]);
  post(*in, outer, place_among(*in, outer, [&](std::size_t i) {
    return static_cast<std::uint64_t>(numbers[i + 1]);
  }));
}

template <class T>
void wait_for_iteration(T first, std::va_list& others) {
  workshare* const in = enter().me->loop.in;
  if (in == nullptr) return;
  const auto outer = static_cast<std::uint64_t>(first);
  wait_for_post(*in, outer, place_among(*in, outer, [&](std::size_t /*i*/) {
    return static_cast<std::uint64_t>(va_arg(others, T));
  }));
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): names of functions, and what comes between commas

#define ASSAY_DOACROSS(NAME, TYPE, KIND)                                                           \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_##NAME##_start(unsigned loops, TYPE* counts, TYPE chunk,       \
                                                   TYPE* first, TYPE* last) {                      \
    return start_loop(make_doacross(loops, counts, with_chunk(schedule_kind::KIND, chunk)), first, \
                      last);                                                                       \
  }

ASSAY_DOACROSS(doacross_static, long, fixed)
ASSAY_DOACROSS(doacross_dynamic, long, dynamic)
ASSAY_DOACROSS(doacross_guided, long, guided)
ASSAY_DOACROSS(ull_doacross_static, ull, fixed)
ASSAY_DOACROSS(ull_doacross_dynamic, ull, dynamic)
ASSAY_DOACROSS(ull_doacross_guided, ull, guided)

#define ASSAY_DOACROSS_OF(PREFIX, TYPE)                                                            \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_##PREFIX##doacross_runtime_start(unsigned loops, TYPE* counts, \
                                                                     TYPE* first, TYPE* last) {    \
    return start_loop(make_doacross(loops, counts, runtime_schedule()), first, last);              \
  }                                                                                                \
  ASSAY_OPENMP_ENTRY bool GOMP_loop_##PREFIX##doacross_start(                                      \
      unsigned loops, TYPE* counts, long schedule, TYPE chunk, TYPE* first, TYPE* last,            \
      std::uintptr_t* reductions, void** memory) {                                                 \
    return start_loop(make_doacross(loops, counts, numbered_schedule(schedule, chunk)), first,     \
                      last, {.reductions = reductions, .memory = memory});                         \
  }                                                                                                \
  ASSAY_OPENMP_ENTRY void GOMP_doacross_##PREFIX##post(TYPE* numbers) { post_iteration(numbers); } \
  ASSAY_OPENMP_ENTRY void GOMP_doacross_##PREFIX##wait(TYPE first, ...) {                          \
    std::va_list others;                                                                           \
    va_start(others, first);                                                                       \
    wait_for_iteration(first, others);                                                             \
    va_end(others);                                                                                \
  }

ASSAY_DOACROSS_OF(, long)
ASSAY_DOACROSS_OF(ull_, ull)

// NOLINTEND(bugprone-macro-parentheses)

}  // namespace assay::omp
