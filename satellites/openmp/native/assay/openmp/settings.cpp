#include "assay/openmp/settings.h"

#include <cstdio>
#include <string_view>

#include "assay/base/asymmetric_fence.h"
#include "assay/openmp/affinity.h"
#include "assay/openmp/environment.h"
#include "assay/openmp/team.h"

namespace assay::omp {

const settings& process_settings() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a program without memory ends
  static const settings* const once = new settings(read_process_environment(
      "libassay-gomp", [](std::string_view) { return true; },
      static_cast<unsigned>(usable_processors().size())));
  return *once;
}

namespace {
// Before main(), while the process has one thread: the kernel then serves membarrier(2) at once,
// and threads that the program starts are bound where the initial thread is.
[[gnu::constructor]] void read_at_load() {
  sync::prepare_light_fences();
  const settings& set = process_settings();
  if (!places().empty()) static_cast<void>(self());
  if (set.display_environment == environment_display::none) return;
  std::fputs(describe(set, set.display_environment == environment_display::all).c_str(), stderr);
}
}  // namespace

}  // namespace assay::omp
