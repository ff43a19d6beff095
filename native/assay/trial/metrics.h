// The named numbers of a trial. docs/reference/metrics.md says what each of them is.

#ifndef ASSAY_TRIAL_METRICS_H_
#define ASSAY_TRIAL_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/host/usage.h"
#include "assay/measure/report.h"
#include "assay/trial/result.h"

namespace assay::trial {

using measure::metric_map;

// What the threads of one role, or of all, came to together.
struct role_totals {
  unsigned threads = 0;
  double throughput = 0;
  subject::tally operations{};
  std::uint64_t longest_ns = 0;
  std::optional<arrival_counts> arrival{};
  double arrival_rate = 0;
};
[[nodiscard]] role_totals totals_of(std::span<const thread_report> threads, std::size_t role);

// Metrics of the measured interval. A metric that is not defined, such as a count per operation
// where there was no operation, is left out, so that all numbers are finite. `kinds` are the
// operations that the trial's mixes can draw, `clock_ns` is the cost of one reading of the clock.
[[nodiscard]] metric_map metrics_of(std::span<const thread_report> threads,
                                    std::span<const workload::operation> kinds,
                                    const host::usage& usage, double clock_ns);

// Since when the durations of these roles count: "start" of the operation, or its "arrival" in an
// open loop; "mixed" if there are both.
[[nodiscard]] std::string counted_from(std::span<const role_report> roles);

// Metrics of open loops, of latencies, and of each role if there are several. If the durations of
// roles count from different moments, they are not merged: each role then has its own latencies.
[[nodiscard]] metric_map metrics_of(std::span<const role_report> roles,
                                    std::span<const thread_report> threads);

// How the map, which holds this many elements, is built.
[[nodiscard]] metric_map metrics_of(const shape& found, std::int64_t elements);

// Operations of all threads in each full interval. The last entry of a series is left out, as its
// interval was not full.
[[nodiscard]] std::vector<double> summed_series(std::span<const thread_report> threads);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_METRICS_H_
