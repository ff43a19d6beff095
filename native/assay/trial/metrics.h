// The named numbers of a trial. docs/reference/metrics.md says what each of them is.

#ifndef ASSAY_TRIAL_METRICS_H_
#define ASSAY_TRIAL_METRICS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "assay/host/usage.h"
#include "assay/trial/result.h"

namespace assay::trial {

using metric_map = std::map<std::string, double>;

// Metrics of the measured interval. One that is not defined (a rate of change of nothing) is left
// out, so that all numbers are finite.
[[nodiscard]] metric_map metrics_of(std::span<const thread_report> threads,
                                    const host::usage& usage);

// Operations of all threads in each full interval: without each series' last entry, which is none.
[[nodiscard]] std::vector<double> summed_series(std::span<const thread_report> threads);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_METRICS_H_
