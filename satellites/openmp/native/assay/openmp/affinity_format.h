// OMP_AFFINITY_FORMAT: text with fields such as %n or %0.4{thread_num} (OpenMP 5.1, section 6.14).

#ifndef ASSAY_OPENMP_AFFINITY_FORMAT_H_
#define ASSAY_OPENMP_AFFINITY_FORMAT_H_

#include <string>
#include <string_view>

namespace assay::omp {

struct thread;

// What it says of the calling thread. Fields that do not exist are written as "undefined".
[[nodiscard]] std::string describe_affinity(std::string_view format);

// Writes that to standard error, where it is not what was written for the thread before: by its
// level, the number of threads, its own and its place.
void display_affinity_once(thread& mine);

// The format that is in use, as omp_set_affinity_format() changes it.
[[nodiscard]] std::string affinity_format();
void set_affinity_format(std::string_view format);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_AFFINITY_FORMAT_H_
