// The environment's variables, read and shown. All but read_process_environment() leave the process
// alone: what a list of variables means can be tested.

#ifndef ASSAY_OPENMP_ENVIRONMENT_H_
#define ASSAY_OPENMP_ENVIRONMENT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/openmp/settings.h"

namespace assay::omp {

struct environment_reading {
  settings set;
  std::vector<std::string> complaints;  // one line each
};

// `variables` are of the form NAME=value. `processors`: as many as the process may use.
[[nodiscard]] environment_reading read_environment(std::span<const std::string> variables,
                                                   unsigned processors);

// Reads the process's variables whose name and value `wanted` accepts, and prints complaints on
// standard error after the name of the library.
[[nodiscard]] settings read_process_environment(const char* library,
                                                bool (*wanted)(std::string_view variable),
                                                unsigned processors);

// As omp_display_env() writes settings; `all`: those that are not of the standard, too.
[[nodiscard]] std::string describe(const settings& set, bool all);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_ENVIRONMENT_H_
