#include "assay/trial/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay::trial {
namespace {

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Sums over the threads `count` per second of each one's own measured interval.
template <class Count>
double rate(std::span<const thread_report> threads, Count count) {
  double total = 0;
  for (const auto& thread : threads) {
    total += static_cast<double>(count(thread.operations)) * 1e9 /
             static_cast<double>(thread.measured_ns);
  }
  return total;
}

void add_series_metrics(metric_map& metrics, std::span<const double> series) {
  const std::size_t half = series.size() / 2;
  const double mean = sum(series) / static_cast<double>(series.size());
  if (half == 0 || mean == 0) return;
  double squares = 0;
  for (const double value : series) squares += (value - mean) * (value - mean);
  metrics["throughput_variation"] =
      std::sqrt(squares / static_cast<double>(series.size() - 1)) / mean;
  const double first = sum(series.first(half));
  if (first > 0) metrics["throughput_drift"] = sum(series.last(half)) / first - 1;
}

}  // namespace

std::vector<double> summed_series(std::span<const thread_report> threads) {
  std::vector<double> series(threads[0].series.size() - 1);
  for (const auto& thread : threads) {
    for (std::size_t i = 0; i < series.size(); ++i)
      series[i] += static_cast<double>(thread.series[i]);
  }
  return series;
}

metric_map metrics_of(std::span<const thread_report> threads, const host::usage& usage) {
  metric_map metrics;
  const double throughput = rate(threads, [](const tally& sums) { return sums.operations(); });
  metrics["throughput"] = throughput;
  for (std::size_t kind = 0; kind < workload::operation_kinds; ++kind) {
    metrics[std::string(workload::operation_names[kind]) + "_throughput"] =
        rate(threads, [&](const tally& sums) { return sums.attempted[kind]; });
  }
  metrics["effective_update_throughput"] =
      rate(threads, [](const tally& sums) { return sums.succeeded[0] + sums.succeeded[1]; });

  const auto threads_count = static_cast<double>(threads.size());
  std::vector<double> generation;
  double slowest = throughput;
  double operations = 0;
  double processor_ns = 0;
  for (const auto& thread : threads) {
    generation.push_back(thread.generation_ns);
    slowest =
        std::min(slowest, rate({&thread, 1}, [](const tally& sums) { return sums.operations(); }));
    operations += static_cast<double>(thread.operations.operations());
    processor_ns += static_cast<double>(thread.processor_ns);
  }
  metrics["generation_ns"] = median(std::move(generation));
  if (throughput > 0) {
    metrics["processor_ns_per_operation"] = processor_ns / operations;
    metrics["generation_share"] = metrics["generation_ns"] * operations / processor_ns;
    metrics["slowest_thread_share"] = slowest * threads_count / throughput;
  }
  add_series_metrics(metrics, summed_series(threads));

  metrics["minor_page_faults"] = static_cast<double>(usage.minor_faults);
  metrics["major_page_faults"] = static_cast<double>(usage.major_faults);
  metrics["voluntary_context_switches"] = static_cast<double>(usage.voluntary_switches);
  metrics["involuntary_context_switches"] = static_cast<double>(usage.involuntary_switches);
  for (const auto& [name, counter] : usage.counters) {
    if (name == "migrations") {
      metrics[name] = counter.count();
    } else if (operations > 0) {
      metrics[name + "_per_operation"] = counter.count() / operations;
    }
  }
  return metrics;
}

}  // namespace assay::trial
