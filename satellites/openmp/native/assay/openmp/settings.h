// What the user set: OMP_* and ASSAY_OMP_* of the environment, read once when the library is
// loaded. A value that cannot be read is named in one line on standard error, with the nearest word
// that would have been right, and the default stays (OpenMP 5.1, section 6).

#ifndef ASSAY_OPENMP_SETTINGS_H_
#define ASSAY_OPENMP_SETTINGS_H_

#include <cstddef>
#include <vector>

namespace assay::omp {

// As omp_sched_t numbers them.
enum class schedule_kind : unsigned { fixed = 1, dynamic = 2, guided = 3, automatic = 4 };

struct schedule {
  schedule_kind kind = schedule_kind::dynamic;
  long chunk = 1;  // 0: one piece for each thread
  bool monotonic = false;
};

enum class wait_policy : unsigned char { adaptive, active, passive };

struct settings {
  std::vector<unsigned> num_threads;  // by level of nesting; empty: as many as processors
  std::vector<unsigned> proc_bind;    // by level, as omp_proc_bind_t numbers them; empty: false
  schedule run_schedule;              // of schedule(runtime)
  bool dynamic = false;               // whether a team may get fewer threads than asked for
  bool cancellation = false;
  unsigned thread_limit = ~0U;
  unsigned max_active_levels = 1;
  unsigned max_task_priority = 0;
  unsigned num_teams = 0;           // 0: one
  unsigned teams_thread_limit = 0;  // 0: none
  int default_device = 0;
  std::size_t stack_bytes = 0;  // of threads that the runtime starts; 0: as the system says
  wait_policy waiting = wait_policy::adaptive;
  bool display_affinity = false;
  unsigned processors = 1;  // that this process may use, when the library was loaded
};

// The process's. Constant after the library was loaded.
const settings& process_settings() noexcept;

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_SETTINGS_H_
