#include "assay/trial/result.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace assay::trial {
namespace {

using nlohmann::json;

// 64-bit numbers as text: many readers of JSON keep no more than 53 bits of a number.
std::string hexadecimal(std::uint64_t number) {
  std::array<char, 19> text;
  std::snprintf(text.data(), text.size(), "0x%016jx", std::uintmax_t{number});
  return text.data();
}

std::string name_of(workload::operation operation) {
  return std::string(workload::operation_names.at(static_cast<std::size_t>(operation)));
}

json to_json(const contents& contents) {
  return {{"size", contents.size},
          {"key_sum", hexadecimal(contents.key_sum)},
          {"pair_sum", hexadecimal(contents.pair_sum)}};
}

json to_json(const thread_report& thread) {
  json operations = json::object();
  for (std::size_t kind = 0; kind < workload::operation_kinds; ++kind) {
    operations[std::string(workload::operation_names[kind])] = {
        {"attempted", thread.operations.attempted[kind]},
        {"succeeded", thread.operations.succeeded[kind]}};
  }
  json report{{"seed", hexadecimal(thread.seed)},
              {"bound_to", thread.bound_to},
              {"last_ran_on", nullptr},
              {"measured_ns", thread.measured_ns},
              {"operations", std::move(operations)},
              {"series", thread.series}};
  if (thread.last_ran_on) report["last_ran_on"] = *thread.last_ran_on;
  if (thread.unfinished) {
    report["unfinished"] = {{"operation", name_of(thread.unfinished->operation)},
                            {"age_ns", thread.unfinished->age_ns}};
  }
  return report;
}

json to_json(const prefill_report& prefill) {
  constexpr std::array<std::string_view, 3> methods{"updates", "permutation", "skipped"};
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

json to_json(const std::optional<validation>& check) {
  if (!check) return {{"performed", false}};
  return {{"performed", true},
          {"expected", to_json(check->expected)},
          {"found", to_json(check->found)},
          {"wrong_values", check->wrong_values},
          {"walk_ended", check->walk_ended},
          {"foreign_keys", check->foreign_keys},
          {"duplicate_keys", check->duplicate_keys},
          {"missed_searches", check->missed_searches},
          {"phantom_searches", check->phantom_searches}};
}

json to_json(const host::usage& usage) {
  json available = json::object();
  for (const auto& [name, counter] : usage.counters) {
    available[name] = {{"count", counter.count()}, {"running_share", counter.running_share()}};
  }
  return {{"available", std::move(available)}, {"unavailable", usage.unavailable}};
}

}  // namespace

json to_json(const result& result, json environment) {
  json report{{"protocol", 1},
              {"status", result.problems.empty() ? "valid" : "invalid"},
              {"metrics", result.metrics},
              {"threads", json::array()},
              {"prefill", to_json(result.prefill)},
              {"validation", to_json(result.contents_check)},
              {"counters", to_json(result.usage)},
              {"environment", std::move(environment)}};
  std::string reason;
  for (const auto& problem : result.problems) reason += (reason.empty() ? "" : "; ") + problem;
  if (!reason.empty()) report["reason"] = reason;
  for (const auto& thread : result.threads) report["threads"].push_back(to_json(thread));
  return report;
}

}  // namespace assay::trial
