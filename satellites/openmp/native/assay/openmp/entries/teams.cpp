// teams on the host: the teams of a league run one after another, each by the initial thread and
// the threads of its regions.

#include <algorithm>
#include <cstdint>

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/entries/fortran.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

// What omp_set_num_teams() and omp_set_teams_thread_limit() change: the process's, as `teams` is
// met outside of all else (OpenMP 5.1, section 2.4.2). Relaxed: numbers alone.
atomic<unsigned>& num_teams() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a program without memory ends
  static auto* const one = new atomic<unsigned>(process_settings().num_teams);
  return *one;
}
atomic<unsigned>& thread_limit_of_teams() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a program without memory ends
  static auto* const one = new atomic<unsigned>(process_settings().teams_thread_limit);
  return *one;
}

void limit_threads(thread& mine, unsigned limit) noexcept {
  if (limit == 0) limit = thread_limit_of_teams().load(memory_order_relaxed);
  if (limit != 0) mine.current->icv.thread_limit = limit;
}

}  // namespace

ASSAY_OPENMP_ENTRY void GOMP_teams_reg(void (*function)(void*), void* data, unsigned teams,
                                       unsigned thread_limit, unsigned /*flags*/) {
  thread& mine = enter();
  const unsigned limit_before = mine.current->icv.thread_limit;
  limit_threads(mine, thread_limit);
  if (teams == 0) teams = num_teams().load(memory_order_relaxed);
  team& root = outermost(*mine.me->in);
  root.league_size = std::max(1U, teams);
  for (root.league_number = 0; root.league_number < root.league_size; ++root.league_number) {
    function(data);
    static_cast<void>(enter());
  }
  root.league_size = 1;
  root.league_number = 0;
  mine.current->icv.thread_limit = limit_before;
}

// Inside of `target` on the host: one team after another, for as long as it is true.
ASSAY_OPENMP_ENTRY bool GOMP_teams4(unsigned least_teams, unsigned /*most_teams*/,
                                    unsigned thread_limit, bool first) {
  thread& mine = enter();
  team& root = outermost(*mine.me->in);
  if (first) {
    limit_threads(mine, thread_limit);
    root.league_size = std::max(1U, least_teams);
    root.league_number = 0;
    return true;
  }
  if (++root.league_number < root.league_size) return true;
  root.league_size = 1;
  root.league_number = 0;
  return false;
}

// The same before gcc 12, for one team.
ASSAY_OPENMP_ENTRY void GOMP_teams(unsigned /*teams*/, unsigned thread_limit) {
  limit_threads(enter(), thread_limit);
}

ASSAY_OPENMP_ENTRY int omp_get_num_teams() {
  return static_cast<int>(outermost(*self().me->in).league_size);
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_num_teams)

ASSAY_OPENMP_ENTRY int omp_get_team_num() {
  return static_cast<int>(outermost(*self().me->in).league_number);
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_team_num)

ASSAY_OPENMP_ENTRY void omp_set_num_teams(int teams) {
  static_cast<void>(enter());
  if (teams >= 0) num_teams().store(static_cast<unsigned>(teams), memory_order_relaxed);
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(void, omp_set_num_teams)

ASSAY_OPENMP_ENTRY int omp_get_max_teams() {
  return static_cast<int>(num_teams().load(memory_order_relaxed));
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_max_teams)

ASSAY_OPENMP_ENTRY void omp_set_teams_thread_limit(int limit) {
  static_cast<void>(enter());
  if (limit >= 0) thread_limit_of_teams().store(static_cast<unsigned>(limit), memory_order_relaxed);
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(void, omp_set_teams_thread_limit)

ASSAY_OPENMP_ENTRY int omp_get_teams_thread_limit() {
  return static_cast<int>(thread_limit_of_teams().load(memory_order_relaxed));
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_teams_thread_limit)

}  // namespace assay::omp
