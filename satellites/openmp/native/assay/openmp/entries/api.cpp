// omp_*: threads, levels, and the internal control variables. Those that only read what belongs to
// the calling thread leave it running ahead (speculation.h).

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/entries/fortran.h"
#include "assay/openmp/environment.h"
#include "assay/openmp/task.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

constexpr unsigned monotonic_bit = 0x80000000U;  // of omp_sched_t
constexpr int host = 0;                          // its number, where there is no other device

variables& control() noexcept { return self().current->icv; }

int as_int(unsigned value) noexcept {
  constexpr int most = std::numeric_limits<int>::max();
  return value > static_cast<unsigned>(most) ? most : static_cast<int>(value);
}

// The caller, as a member of the team at a level; null: there is no such level.
const member* at_level(int level) noexcept {
  const member* found = self().me;
  if (level < 0 || static_cast<unsigned>(level) > found->in->level) return nullptr;
  while (found->in->level > static_cast<unsigned>(level)) found = found->in->outer_member;
  return found;
}

}  // namespace

// Threads and levels.

ASSAY_OPENMP_ENTRY int omp_get_num_threads() { return static_cast<int>(self().me->in->size); }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_num_threads)

ASSAY_OPENMP_ENTRY int omp_get_thread_num() { return static_cast<int>(self().me->id); }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_thread_num)

ASSAY_OPENMP_ENTRY int omp_get_max_threads() { return as_int(control().num_threads); }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_max_threads)

ASSAY_OPENMP_ENTRY void omp_set_num_threads(int threads) {
  enter().current->icv.num_threads = static_cast<unsigned>(std::max(1, threads));
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(void, omp_set_num_threads)

// Where threads are bound, the calling thread's own processors are fewer than the program's.
ASSAY_OPENMP_ENTRY int omp_get_num_procs() {
  return static_cast<int>(places().empty() ? usable_processors().size()
                                           : process_settings().processors);
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_num_procs)

ASSAY_OPENMP_ENTRY int omp_in_parallel() { return self().me->in->active_level > 0 ? 1 : 0; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_in_parallel)

ASSAY_OPENMP_ENTRY int omp_get_level() { return static_cast<int>(self().me->in->level); }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_level)

ASSAY_OPENMP_ENTRY int omp_get_active_level() {
  return static_cast<int>(self().me->in->active_level);
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_active_level)

ASSAY_OPENMP_ENTRY int omp_get_ancestor_thread_num(int level) {
  const member* const ancestor = at_level(level);
  return ancestor == nullptr ? -1 : static_cast<int>(ancestor->id);
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(std::int32_t, omp_get_ancestor_thread_num)

ASSAY_OPENMP_ENTRY int omp_get_team_size(int level) {
  const member* const ancestor = at_level(level);
  return ancestor == nullptr ? -1 : static_cast<int>(ancestor->in->size);
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(std::int32_t, omp_get_team_size)

ASSAY_OPENMP_ENTRY int omp_get_thread_limit() { return as_int(control().thread_limit); }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_thread_limit)

ASSAY_OPENMP_ENTRY int omp_in_final() { return self().current->final ? 1 : 0; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_in_final)

// How regions are nested.

ASSAY_OPENMP_ENTRY void omp_set_max_active_levels(int levels) {
  if (levels < 0) return;
  enter().current->icv.max_active_levels =
      std::min(static_cast<unsigned>(levels), supported_active_levels);
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(void, omp_set_max_active_levels)

ASSAY_OPENMP_ENTRY int omp_get_max_active_levels() { return as_int(control().max_active_levels); }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_max_active_levels)

ASSAY_OPENMP_ENTRY int omp_get_supported_active_levels() { return supported_active_levels; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_supported_active_levels)

ASSAY_OPENMP_ENTRY void omp_set_nested(int nested) {
  variables& icv = enter().current->icv;
  if (nested == 0) {
    icv.max_active_levels = 1;
  } else if (icv.max_active_levels <= 1) {
    icv.max_active_levels = supported_active_levels;
  }
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(void, omp_set_nested)

ASSAY_OPENMP_ENTRY int omp_get_nested() {
  const unsigned levels = control().max_active_levels;
  return levels > 1 && levels > self().me->in->active_level ? 1 : 0;
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_nested)

ASSAY_OPENMP_ENTRY void omp_set_dynamic(int dynamic) {
  enter().current->icv.dynamic = dynamic != 0;
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(void, omp_set_dynamic)

ASSAY_OPENMP_ENTRY int omp_get_dynamic() { return control().dynamic ? 1 : 0; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_dynamic)

// schedule(runtime).

ASSAY_OPENMP_ENTRY void omp_set_schedule(unsigned kind, int chunk) {
  const unsigned number = kind & ~monotonic_bit;
  if (number < static_cast<unsigned>(schedule_kind::fixed) ||
      number > static_cast<unsigned>(schedule_kind::automatic)) {
    return;
  }
  schedule& run = enter().current->icv.run_schedule;
  run.kind = static_cast<schedule_kind>(number);
  run.monotonic = (kind & monotonic_bit) != 0;
  if (run.kind == schedule_kind::automatic) return;
  run.chunk = std::max(chunk, run.kind == schedule_kind::fixed ? 0 : 1);
}
ASSAY_OPENMP_ENTRY void omp_set_schedule_(const std::int32_t* kind, const std::int32_t* chunk) {
  omp_set_schedule(static_cast<unsigned>(*kind), *chunk);
}
ASSAY_OPENMP_ENTRY void omp_set_schedule_8_(const std::int32_t* kind, const std::int64_t* chunk) {
  omp_set_schedule(static_cast<unsigned>(*kind), narrowed(*chunk));
}

ASSAY_OPENMP_ENTRY void omp_get_schedule(unsigned* kind, int* chunk) {
  const schedule& run = control().run_schedule;
  *kind = static_cast<unsigned>(run.kind) | (run.monotonic ? monotonic_bit : 0);
  *chunk = static_cast<int>(run.chunk);
}
ASSAY_OPENMP_ENTRY void omp_get_schedule_(std::int32_t* kind, std::int32_t* chunk) {
  unsigned found = 0;
  omp_get_schedule(&found, chunk);
  *kind = static_cast<std::int32_t>(found);
}
ASSAY_OPENMP_ENTRY void omp_get_schedule_8_(std::int32_t* kind, std::int64_t* chunk) {
  std::int32_t found = 0;
  omp_get_schedule_(kind, &found);
  *chunk = found;
}

// What the environment decides.

ASSAY_OPENMP_ENTRY int omp_get_cancellation() { return process_settings().cancellation ? 1 : 0; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_cancellation)

ASSAY_OPENMP_ENTRY int omp_get_max_task_priority() {
  return as_int(process_settings().max_task_priority);
}
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_max_task_priority)

ASSAY_OPENMP_ENTRY void omp_display_env(int verbose) {
  static_cast<void>(enter());
  std::fputs(describe(process_settings(), verbose != 0).c_str(), stderr);
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(void, omp_display_env)

// Devices: there is the host.

ASSAY_OPENMP_ENTRY int omp_get_num_devices() { return 0; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_num_devices)

ASSAY_OPENMP_ENTRY int omp_get_initial_device() { return host; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_initial_device)

ASSAY_OPENMP_ENTRY int omp_get_device_num() { return host; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_device_num)

ASSAY_OPENMP_ENTRY int omp_is_initial_device() { return 1; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_is_initial_device)

ASSAY_OPENMP_ENTRY void omp_set_default_device(int device) {
  enter().current->icv.default_device = std::max(0, device);
}
ASSAY_OPENMP_FORTRAN_OF_NUMBER(void, omp_set_default_device)

ASSAY_OPENMP_ENTRY int omp_get_default_device() { return control().default_device; }
ASSAY_OPENMP_FORTRAN(std::int32_t, omp_get_default_device)

// Gives up the threads that wait for the caller's next region. Refused inside of one. A hard pause
// is a soft one: threadprivate variables are the program's own.
ASSAY_OPENMP_ENTRY int omp_pause_resource(int /*kind*/, int device) {
  if (enter().me->in->level != 0 || device != host) return -1;
  let_threads_go();
  return 0;
}
ASSAY_OPENMP_ENTRY std::int32_t omp_pause_resource_(const std::int32_t* kind,
                                                    const std::int32_t* device) {
  return omp_pause_resource(*kind, *device);
}

ASSAY_OPENMP_ENTRY int omp_pause_resource_all(int kind) { return omp_pause_resource(kind, host); }
ASSAY_OPENMP_ENTRY std::int32_t omp_pause_resource_all_(const std::int32_t* kind) {
  return omp_pause_resource_all(*kind);
}

// The event of a task with `detach`.

ASSAY_OPENMP_ENTRY void omp_fulfill_event(std::uintptr_t event) {
  static_cast<void>(enter());
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  end_event(reinterpret_cast<task*>(event));
}
ASSAY_OPENMP_ENTRY void omp_fulfill_event_(std::uintptr_t event) { omp_fulfill_event(event); }

// Clocks.

ASSAY_OPENMP_ENTRY double omp_get_wtime() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
ASSAY_OPENMP_FORTRAN(double, omp_get_wtime)

ASSAY_OPENMP_ENTRY double omp_get_wtick() {
  timespec tick{};
  clock_getres(CLOCK_MONOTONIC, &tick);
  return static_cast<double>(tick.tv_sec) + static_cast<double>(tick.tv_nsec) * 1e-9;
}
ASSAY_OPENMP_FORTRAN(double, omp_get_wtick)

// The `error` directive. No length: the text ends with a zero.

ASSAY_OPENMP_ENTRY void GOMP_warning(const char* text, std::size_t length) {
  static_cast<void>(enter());
  if (text == nullptr) {
    std::fputs("libassay-gomp: warning: error directive encountered\n", stderr);
  } else if (length == ~std::size_t{0}) {
    std::fprintf(stderr, "libassay-gomp: warning: error directive encountered: %s\n", text);
  } else {
    std::fprintf(stderr, "libassay-gomp: warning: error directive encountered: %.*s\n",
                 static_cast<int>(length), text);
  }
}

ASSAY_OPENMP_ENTRY [[noreturn]] void GOMP_error(const char* text, std::size_t length) {
  static_cast<void>(enter());
  if (text == nullptr) {
    std::fputs("libassay-gomp: fatal error: error directive encountered\n", stderr);
  } else if (length == ~std::size_t{0}) {
    std::fprintf(stderr, "libassay-gomp: fatal error: error directive encountered: %s\n", text);
  } else {
    std::fprintf(stderr, "libassay-gomp: fatal error: error directive encountered: %.*s\n",
                 static_cast<int>(length), text);
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the program is at its end
  std::exit(EXIT_FAILURE);
}

}  // namespace assay::omp
