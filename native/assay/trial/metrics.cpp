#include "assay/trial/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "assay/measure/quantile.h"
#include "assay/subject/operations.h"
#include "assay/subject/subject.h"

namespace assay::trial {
namespace {

using subject::elements;
using subject::extra_facts_of;
using subject::tally;

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
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

// Whether an operation changes a map when it succeeds, and when it does not.
struct effect {
  bool of_success = false;
  bool of_failure = false;
};

// What it does to a map that holds its key, and to one that does not, says so.
effect effect_of(workload::operation kind) {
  using workload::operation;
  if (kind == operation::insert || kind == operation::erase) return {.of_success = true};
  if (kind <= operation::iterate || extra_facts_of(kind).visits) return {};
  effect effect;
  for (const elements& before : {elements{}, elements{{1, 1}}}) {
    elements held = before;
    const subject::question asked{.kind = kind, .key = 1, .value = 2};
    const subject::answer answered = extra_facts_of(kind).right(held, asked);
    const bool succeeded = extra_facts_of(kind).outcome_of(asked, answered).succeeded;
    (succeeded ? effect.of_success : effect.of_failure) |= held != before;
  }
  return effect;
}

bool is_visit(workload::operation kind) {
  using workload::operation;
  if (kind <= operation::iterate) return kind > operation::find && kind != operation::size;
  return extra_facts_of(kind).visits;
}

// Adds the share of the updates that changed something, and the share of the searches and visits
// that met something.
void add_shares_of_effects(metric_map& metrics, std::span<const thread_report> threads,
                           std::span<const workload::operation> kinds) {
  constexpr double fewest_operations = 50;  // a share of fewer says nothing
  double updates = 0;
  double changes = 0;
  double searches = 0;
  double found = 0;
  for (const auto& thread : threads) {
    const tally& sums = thread.operations;
    double visits = 0;
    for (const auto kind : kinds) {
      const auto number = static_cast<std::size_t>(kind);
      const auto attempted = static_cast<double>(sums.attempted[number]);
      const auto succeeded = static_cast<double>(sums.succeeded[number]);
      const auto [of_success, of_failure] = effect_of(kind);
      if (is_visit(kind)) {
        visits += attempted;
      } else if (of_success || of_failure) {
        updates += attempted;
        changes += of_success * succeeded + of_failure * (attempted - succeeded);
      } else if (kind != workload::operation::size) {
        searches += attempted;
        found += succeeded;
      }
    }
    searches += visits;
    found += std::min(visits, static_cast<double>(sums.visited));
  }
  if (updates >= fewest_operations) metrics["effective_share"] = changes / updates;
  if (searches >= fewest_operations) metrics["found_share"] = found / searches;
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

// Percentiles, mean and maximum under names that begin with `prefix`; none of no durations.
void add_latency_metrics(metric_map& metrics, const std::string& prefix,
                         const measure::duration_histogram& durations) {
  if (durations.count() == 0) return;
  for (const auto& [name, percent] : measure::latency_percentiles) {
    if (!measure::enough_for(durations.count(), percent)) break;
    metrics[prefix + name + "_ns"] = static_cast<double>(durations.percentile(percent));
  }
  metrics[prefix + "mean_ns"] = durations.mean();
  metrics[prefix + "max_ns"] = static_cast<double>(durations.max());
}

measure::duration_histogram merged(const latencies& durations) {
  measure::duration_histogram all;
  for (const auto& kind : durations) {
    if (kind) all.merge(*kind);
  }
  return all;
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

role_totals totals_of(std::span<const thread_report> threads, std::size_t role) {
  role_totals totals;
  for (const auto& thread : threads) {
    if (thread.role != role) continue;
    ++totals.threads;
    totals.throughput += rate({&thread, 1}, [](const tally& sums) { return sums.operations(); });
    totals.operations += thread.operations;
    totals.longest_ns = std::max(totals.longest_ns, thread.longest_ns);
    if (!thread.arrival) continue;
    if (!totals.arrival) totals.arrival.emplace();
    totals.arrival->arrived += thread.arrival->arrived;
    totals.arrival->backlog += thread.arrival->backlog;
    totals.arrival->response_ns += thread.arrival->response_ns;
    totals.arrival->oldest_waiting_ns =
        std::max(totals.arrival->oldest_waiting_ns, thread.arrival->oldest_waiting_ns);
    totals.arrival_rate += static_cast<double>(thread.arrival->arrived) * 1e9 /
                           static_cast<double>(thread.measured_ns);
  }
  return totals;
}

metric_map metrics_of(std::span<const thread_report> threads,
                      std::span<const workload::operation> kinds, const host::usage& usage,
                      double clock_ns) {
  metric_map metrics;
  const double throughput = rate(threads, [](const tally& sums) { return sums.operations(); });
  metrics["throughput"] = throughput;
  bool visits = false;
  for (const auto kind : kinds) {
    metrics[subject::to_string(kind) + "_throughput"] = rate(
        threads, [&](const tally& sums) { return sums.attempted[static_cast<std::size_t>(kind)]; });
    visits = visits || is_visit(kind);
  }
  if (visits) {
    metrics["visited_per_second"] = rate(threads, [](const tally& sums) { return sums.visited; });
  }
  metrics["effective_update_throughput"] =
      rate(threads, [](const tally& sums) { return sums.succeeded[0] + sums.succeeded[1]; });

  add_shares_of_effects(metrics, threads, kinds);

  const auto threads_count = static_cast<double>(threads.size());
  std::vector<double> generation;
  double slowest = throughput;
  double operations = 0;
  double processor_ns = 0;
  double clock_reads = 0;
  double measured_ns = 0;
  std::uint64_t longest_ns = 0;
  bool any_open = false;
  std::set<std::uint64_t> seeds;
  std::set<unsigned> processors;
  for (const auto& thread : threads) {
    any_open = any_open || thread.arrival;
    seeds.insert(thread.seed);
    processors.insert(thread.bound_to.begin(), thread.bound_to.end());
    measured_ns += static_cast<double>(thread.measured_ns);
    generation.push_back(thread.generation_ns);
    slowest =
        std::min(slowest, rate({&thread, 1}, [](const tally& sums) { return sums.operations(); }));
    operations += static_cast<double>(thread.operations.operations());
    processor_ns += static_cast<double>(thread.processor_ns);
    clock_reads += static_cast<double>(thread.clock_reads);
    longest_ns = std::max(longest_ns, thread.longest_ns);
  }
  metrics["thread_seeds"] = static_cast<double>(seeds.size());
  metrics["processors_allowed"] = static_cast<double>(processors.size());
  metrics["measured_ms"] = measured_ns / threads_count / 1e6;
  metrics["longest_ns"] = static_cast<double>(longest_ns);
  metrics["generation_ns"] = measure::median(std::move(generation));
  if (throughput > 0 && !any_open) {  // whose threads spin while nothing is due
    metrics["processor_ns_per_operation"] = processor_ns / operations;
    metrics["generation_share"] = metrics["generation_ns"] * operations / processor_ns;
    metrics["clock_share"] = clock_ns * clock_reads / processor_ns;
  }
  if (throughput > 0) {
    metrics["slowest_thread_share"] = slowest * threads_count / throughput;
  }
  add_series_metrics(metrics, summed_series(threads));

  metrics.merge(measure::metrics_of(usage, operations, processor_ns));
  return metrics;
}

metric_map metrics_of(const shape& found, std::int64_t elements) {
  metric_map metrics;
  if (found.nodes) metrics["nodes"] = static_cast<double>(*found.nodes);
  if (found.max_depth) metrics["depth_max"] = static_cast<double>(*found.max_depth);
  if (found.mean_depth) metrics["depth_mean"] = *found.mean_depth;
  if (found.bytes && elements > 0) {
    metrics["bytes_per_element"] =
        static_cast<double>(*found.bytes) / static_cast<double>(elements);
  }
  return metrics;
}

std::string counted_from(std::span<const role_report> roles) {
  const auto times_some = [](const role_report& role) {
    return std::ranges::any_of(role.durations, [](const auto& kind) { return kind.has_value(); });
  };
  bool open = false;
  bool closed = false;
  for (const auto& role : roles) {
    if (times_some(role)) (role.open_loop ? open : closed) = true;
  }
  if (open && closed) return "mixed";
  return open ? "arrival" : "start";
}

metric_map metrics_of(std::span<const role_report> roles, std::span<const thread_report> threads) {
  metric_map metrics;
  latencies all;
  double arrival_rate = 0;
  double backlog = 0;
  double oldest_waiting_ns = 0;
  double response_ns = 0;
  double ended = 0;
  bool any_open = false;
  for (std::size_t role = 0; role < roles.size(); ++role) {
    const role_totals totals = totals_of(threads, role);
    merge(all, roles[role].durations);
    if (totals.arrival) {
      any_open = true;
      arrival_rate += totals.arrival_rate;
      backlog += static_cast<double>(totals.arrival->backlog);
      response_ns += static_cast<double>(totals.arrival->response_ns);
      ended += static_cast<double>(totals.operations.operations());
      oldest_waiting_ns =
          std::max(oldest_waiting_ns, static_cast<double>(totals.arrival->oldest_waiting_ns));
    }
    if (roles.size() == 1) continue;
    const std::string prefix = "role_" + roles[role].name + "_";
    metrics[prefix + "throughput"] = totals.throughput;
    metrics[prefix + "longest_ns"] = static_cast<double>(totals.longest_ns);
    if (totals.arrival) {
      metrics[prefix + "oldest_waiting_ns"] =
          static_cast<double>(totals.arrival->oldest_waiting_ns);
    }
    add_latency_metrics(metrics, prefix + "latency_", merged(roles[role].durations));
  }
  if (any_open) {
    metrics["arrival_rate"] = arrival_rate;
    metrics["backlog"] = backlog;
    metrics["oldest_waiting_ns"] = oldest_waiting_ns;
    if (ended > 0) metrics["response_mean_ns"] = response_ns / ended;
  }
  if (counted_from(roles) == "mixed") return metrics;
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    if (!all[kind]) continue;
    const auto name = subject::to_string(static_cast<workload::operation>(kind));
    add_latency_metrics(metrics, "latency_" + name + "_", *all[kind]);
  }
  add_latency_metrics(metrics, "latency_", merged(all));
  return metrics;
}

}  // namespace assay::trial
