#include "assay/openmp/settings.h"

#include <sched.h>

#include <cstdlib>

#include "assay/base/asymmetric_fence.h"

namespace assay::omp {
namespace {

settings read() {
  settings set;
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
    set.processors = static_cast<unsigned>(CPU_COUNT(&usable));
  }
  if (const char* threads = std::getenv("OMP_NUM_THREADS")) {
    set.num_threads.push_back(static_cast<unsigned>(std::strtoul(threads, nullptr, 10)));
  }
  sync::prepare_light_fences();
  return set;
}

}  // namespace

const settings& process_settings() noexcept {
  static const settings* const once = new settings(read());
  return *once;
}

namespace {
// Before main(), while the process has one thread: the kernel then serves membarrier(2) at once.
[[gnu::constructor]] void read_at_load() { static_cast<void>(process_settings()); }
}  // namespace

}  // namespace assay::omp
