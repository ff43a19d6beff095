// The settings of this library: of the variables of the environment those that are Assay's, and
// how threads wait. libomp reads the others.

#include "assay/openmp/settings.h"

#include <string_view>
#include <thread>

#include "assay/base/asymmetric_fence.h"
#include "assay/openmp/environment.h"

namespace assay::omp {

const settings& process_settings() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a program without memory ends
  static const settings* const once = new settings(read_process_environment(
      "libassay-kmpc",
      [](std::string_view variable) {
        return variable.starts_with("ASSAY_OMP_") || variable.starts_with("OMP_WAIT_POLICY=");
      },
      std::thread::hardware_concurrency()));
  return *once;
}

namespace {
// Before main(), while the process has one thread: the kernel then serves membarrier(2) at once.
[[gnu::constructor]] void read_at_load() {
  sync::prepare_light_fences();
  static_cast<void>(process_settings());
}
}  // namespace

}  // namespace assay::omp
