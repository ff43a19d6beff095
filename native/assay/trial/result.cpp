#include "assay/trial/result.h"

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "assay/measure/report.h"
#include "assay/subject/subject.h"
#include "assay/trial/metrics.h"

namespace assay::trial {
namespace {

using measure::hexadecimal;
using nlohmann::json;

json to_json(const subject::contents& contents) {
  return {{"size", contents.size},
          {"key_sum", hexadecimal(contents.key_sum)},
          {"pair_sum", hexadecimal(contents.pair_sum)}};
}

json to_json(const subject::tally& sums, std::span<const workload::operation> kinds) {
  json operations = json::object();
  for (const auto kind : kinds) {
    const auto number = static_cast<std::size_t>(kind);
    operations[subject::to_string(kind)] = {{"attempted", sums.attempted[number]},
                                            {"succeeded", sums.succeeded[number]}};
  }
  return operations;
}

json to_json(const thread_report& thread, const result& result, std::uint64_t operations) {
  json report{{"seed", hexadecimal(thread.seed)},
              {"role", result.roles[thread.role].name},
              {"bound_to", thread.bound_to},
              {"last_ran_on", nullptr},
              {"measured_ns", thread.measured_ns},
              {"warmed_up", thread.warmed_up},
              {"longest_ns", thread.longest_ns},
              {"operations", to_json(thread.operations, result.kinds)},
              {"series", thread.series}};
  if (operations > 0) {
    report["share"] =
        static_cast<double>(thread.operations.operations()) / static_cast<double>(operations);
  }
  if (thread.last_ran_on) report["last_ran_on"] = *thread.last_ran_on;
  if (thread.arrival) report["oldest_waiting_ns"] = thread.arrival->oldest_waiting_ns;
  if (thread.unfinished) {
    report["unfinished"] = {{"operation", subject::to_string(thread.unfinished->operation)},
                            {"age_ns", thread.unfinished->age_ns}};
  }
  return report;
}

json to_json_roles(const result& result) {
  json list = json::array();
  for (std::size_t role = 0; role < result.roles.size(); ++role) {
    const role_totals totals = totals_of(result.threads, role);
    list.push_back({{"name", result.roles[role].name},
                    {"threads", totals.threads},
                    {"throughput", totals.throughput},
                    {"operations", to_json(totals.operations, result.kinds)},
                    {"visited", totals.operations.visited},
                    {"longest_ns", totals.longest_ns}});
    if (totals.arrival) {
      list.back()["arrived"] = totals.arrival->arrived;
      list.back()["backlog"] = totals.arrival->backlog;
      list.back()["oldest_waiting_ns"] = totals.arrival->oldest_waiting_ns;
    }
  }
  return list;
}

json to_json(const latency_report& latency, std::span<const role_report> roles) {
  json histograms = json::array();
  for (const auto& role : roles) {
    for (std::size_t kind = 0; kind < role.durations.size(); ++kind) {
      if (!role.durations[kind]) continue;
      json one = measure::to_json(*role.durations[kind]);
      one["role"] = role.name;
      one["operation"] = subject::to_string(static_cast<workload::operation>(kind));
      one["from"] = role.open_loop ? "arrival" : "start";
      histograms.push_back(std::move(one));
    }
  }
  json report{{"sampling", "all"},
              {"clock_ns", latency.clock_ns},
              {"from", counted_from(roles)},
              {"histograms", std::move(histograms)}};
  if (latency.sampling > 1) report["sampling"] = latency.sampling;
  return report;
}

json to_json(const memory_report& memory) {
  json resident = json::array();
  for (const auto& [ms, bytes] : memory.resident) resident.push_back({ms, bytes});
  return {{"resident", std::move(resident)}, {"policy", memory.policy}};
}

json to_json(const host::energy& energy) {
  return {{"available", energy.joules}, {"unavailable", energy.unavailable}};
}

json to_json(const prefill_report& prefill) {
  constexpr std::array<std::string_view, 7> methods{
      "updates", "permutation", "sorted", "first_keys", "entries", "none", "skipped"};
  json report{{"method", methods.at(static_cast<std::size_t>(prefill.method))},
              {"converged", prefill.converged}};
  if (prefill.method != prefill_method::skipped) {
    report["operations"] = prefill.operations;
    report["size"] = prefill.size;
    report["expected_size"] = prefill.expected_size;
    report["tolerance"] = prefill.tolerance;
  }
  return report;
}

json to_json(const observation& seen) {
  json report{{"operation", subject::to_string(seen.by)}, {"ended", seen.ended}};
  if (seen.by == workload::operation::size) {
    report["size"] = seen.found.size;
  } else {
    report["found"] = to_json(seen.found);
  }
  if (seen.by == workload::operation::range) report["ascending"] = seen.ascending;
  return report;
}

json to_json(const std::optional<validation>& check) {
  if (!check) return {{"performed", false}};
  json observations = json::array();
  for (const auto& seen : check->observations) observations.push_back(to_json(seen));
  return {{"performed", true},
          {"expected", to_json(check->expected)},
          {"found", to_json(check->found)},
          {"wrong_values", check->wrong_values.number},
          {"stale_values", check->stale_values.number},
          {"differing_searches", check->differing_searches.number},
          {"walk_ended", check->walk_ended},
          {"foreign_keys", check->foreign_keys.number},
          {"duplicate_keys", check->duplicate_keys.number},
          {"missed_searches", check->missed_searches.number},
          {"phantom_searches", check->phantom_searches.number},
          {"wrong_visits", check->wrong_visits.number},
          {"checked_parts", check->checked_parts},
          {"wrong_parts", check->wrong_parts},
          {"observations", std::move(observations)}};
}

}  // namespace

json to_json(const result& result, json environment) {
  json report{{"protocol", 1},
              {"status", result.problems.empty() ? "valid" : "invalid"},
              {"metrics", result.metrics},
              {"threads", json::array()},
              {"prefill", to_json(result.prefill)},
              {"validation", to_json(result.contents_check)},
              {"counters", measure::to_json(result.usage)},
              {"roles", to_json_roles(result)},
              {"memory", to_json(result.memory)},
              {"energy", to_json(result.energy)},
              {"replayable", result.not_replayable_because.empty()},
              {"environment", std::move(environment)}};
  std::string reason;
  for (const auto& problem : result.problems) reason += (reason.empty() ? "" : "; ") + problem;
  if (!reason.empty()) report["reason"] = reason;
  if (!result.not_replayable_because.empty()) {
    report["not_replayable_because"] = result.not_replayable_because;
  }
  if (result.latency) report["latency"] = to_json(*result.latency, result.roles);
  if (result.probes) report["probes"] = measure::to_json(*result.probes);
  std::uint64_t operations = 0;
  for (const auto& thread : result.threads) operations += thread.operations.operations();
  for (const auto& thread : result.threads) {
    report["threads"].push_back(to_json(thread, result, operations));
  }
  return report;
}

}  // namespace assay::trial
