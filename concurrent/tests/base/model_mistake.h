// Mistakes that are planted in headers (cmake/AssayModels.cmake): a program has many, and one of
// them, or none, is made when it runs.

#ifndef TESTS_BASE_MODEL_MISTAKE_H_
#define TESTS_BASE_MODEL_MISTAKE_H_

#include <string_view>

namespace assay {

// The name of the mistake that this process makes; set before anything else runs.
inline std::string_view planted_mistake;

[[nodiscard]] inline bool planted(std::string_view name) { return name == planted_mistake; }

}  // namespace assay

#endif  // TESTS_BASE_MODEL_MISTAKE_H_
