// What the user set: OMP_* and ASSAY_OMP_* of the environment, read once when the library is
// loaded. A value that cannot be read is named in one line on standard error, with the nearest word
// that would have been right, and the default stays (OpenMP 5.1, section 6).

#ifndef ASSAY_OPENMP_SETTINGS_H_
#define ASSAY_OPENMP_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::omp {

// As omp_sched_t numbers them.
enum class schedule_kind : unsigned { fixed = 1, dynamic = 2, guided = 3, automatic = 4 };

struct schedule {
  schedule_kind kind = schedule_kind::dynamic;
  long chunk = 1;  // 0: one piece for each thread
  bool monotonic = false;
};

// As omp_proc_bind_t numbers them. `yes` leaves the way to the runtime: it is `close` here.
namespace binding {
constexpr unsigned no = 0;
constexpr unsigned yes = 1;
constexpr unsigned primary = 2;
constexpr unsigned close = 3;
constexpr unsigned spread = 4;
}  // namespace binding

enum class wait_policy : unsigned char { adaptive, active, passive };
enum class offload_policy : unsigned char { usual, mandatory, disabled };
enum class environment_display : unsigned char { none, standard, all };
// How critical sections exclude each other: by a lock; in transactions, where the processor has
// them; and these with the waits at random that keep them from failing together (elision.h).
enum class critical_policy : unsigned char { plain, elision, backoff };
enum class place_kind : unsigned char {
  none,
  threads,
  cores,
  last_level_caches,
  numa_domains,
  sockets,
  listed
};

using processor_list = std::vector<unsigned>;

// The places that the user asked for.
struct place_request {
  place_kind kind = place_kind::none;
  unsigned count = 0;                  // no more places than this; 0: all
  std::vector<processor_list> listed;  // where the user wrote them down
};

// The most that omp_set_max_active_levels() takes.
constexpr unsigned supported_active_levels = 255;

struct settings {
  std::vector<unsigned> num_threads;  // by level of nesting; empty: as many as processors
  std::vector<unsigned> proc_bind;    // by level, in words of `binding`; empty: no
  place_request places;               // none: threads are not bound
  schedule run_schedule;              // of schedule(runtime)
  bool dynamic = false;               // whether a team may get fewer threads than asked for
  bool cancellation = false;
  unsigned thread_limit = ~0U;
  unsigned max_active_levels = 1;
  unsigned max_task_priority = 0;
  unsigned num_teams = 0;           // 0: one
  unsigned teams_thread_limit = 0;  // 0: none
  int default_device = 0;
  offload_policy offload = offload_policy::usual;
  std::size_t stack_bytes = 0;  // of threads that the runtime starts; 0: as the system says
  wait_policy waiting = wait_policy::adaptive;
  critical_policy critical = critical_policy::backoff;
  std::uintptr_t allocator = 1;  // as omp_allocator_handle_t numbers them
  environment_display display_environment = environment_display::none;
  bool display_affinity = false;
  bool statistics = false;
  bool run_ahead = true;             // where the processor has transactions (speculation.h)
  std::vector<std::string> wait_at;  // places where no thread runs ahead (places.h)
  std::string affinity_format = "level %L thread %i affinity %A";  // as gcc's
  unsigned processors = 1;  // that this process may use, when the library was loaded
};

// The process's. Constant after the library was loaded.
const settings& process_settings() noexcept;

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_SETTINGS_H_
