// The settings of this library: of the variables of the environment those that are Assay's, and
// how threads wait. libomp reads the others.

#include "assay/openmp/settings.h"

#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "assay/base/asymmetric_fence.h"
#include "assay/openmp/environment.h"

namespace assay::omp {
namespace {

settings read() {
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string variable(*each);
    if (variable.starts_with("ASSAY_OMP_") || variable.starts_with("OMP_WAIT_POLICY=")) {
      variables.push_back(variable);
    }
  }
  auto [set, complaints] = read_environment(variables, std::thread::hardware_concurrency());
  for (const std::string& complaint : complaints) {
    std::fprintf(stderr, "libassay-kmpc: %s\n", complaint.c_str());
  }
  return set;
}

}  // namespace

const settings& process_settings() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a program without memory ends
  static const settings* const once = new settings(read());
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
