// The named numbers of a trial. docs/reference/metrics.md says what each of them is.

#ifndef ASSAY_TRIAL_METRICS_H_
#define ASSAY_TRIAL_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/host/usage.h"
#include "assay/trial/result.h"

namespace assay::trial {

using metric_map = std::map<std::string, double>;

// What the threads of one role, or of all, came to together.
struct role_totals {
  unsigned threads = 0;
  double throughput = 0;
  tally operations{};
  std::uint64_t longest_ns = 0;
  std::optional<arrival_counts> arrival{};
  double arrival_rate = 0;
};
[[nodiscard]] role_totals totals_of(std::span<const thread_report> threads, std::size_t role);

// Which percentiles of latencies are reported.
struct named_percentile {
  const char* name;
  double percent;
};
inline constexpr std::array<named_percentile, 5> latency_percentiles{
    {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99_9", 99.9}, {"p99_99", 99.99}}};

// Whether there are enough durations for a percentile to be reported: at least one of them is
// expected to lie beyond it. With fewer, the percentile would just be the longest duration.
[[nodiscard]] constexpr bool enough_for(std::uint64_t durations, double percent) {
  return static_cast<double>(durations) * (100 - percent) >= 100 - 1e-6;
}

// Metrics of the measured interval. A metric that is not defined, such as a count per operation
// where there was no operation, is left out, so that all numbers are finite. `kinds` are the
// operations that the trial's mixes can draw.
[[nodiscard]] metric_map metrics_of(std::span<const thread_report> threads,
                                    std::span<const workload::operation> kinds,
                                    const host::usage& usage);

// Since when the durations of these roles count: "start" of the operation, or its "arrival" in an
// open loop; "mixed" if there are both.
[[nodiscard]] std::string counted_from(std::span<const role_report> roles);

// Metrics of open loops, of latencies, and of each role if there are several. If the durations of
// roles count from different moments, they are not merged: latencies are then those of each role.
[[nodiscard]] metric_map metrics_of(std::span<const role_report> roles,
                                    std::span<const thread_report> threads);

[[nodiscard]] metric_map metrics_of(std::span<const probe::recorded> probes);

// Operations of all threads in each full interval. The last entry of a series is left out, as its
// interval was not full.
[[nodiscard]] std::vector<double> summed_series(std::span<const thread_report> threads);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_METRICS_H_
