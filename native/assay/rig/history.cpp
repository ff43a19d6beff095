#include "assay/rig/history.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace assay::rig {
namespace {

using nlohmann::json;

json as_json(const answer& answered) {
  return std::visit(
      [](const auto& value) -> json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<std::uint64_t>>) {
          return value ? json(*value) : json(nullptr);
        } else {
          return value;
        }
      },
      answered);
}

std::string_view name_of(workload::operation kind) {
  return workload::operation_names.at(static_cast<std::size_t>(kind));
}

json as_json(const operation_record& record) {
  using workload::operation;
  json line{{"thread", record.thread},
            {"op", name_of(record.asked.kind)},
            {"call", record.call_ns},
            {"return", record.return_ns},
            {"answer", as_json(record.answered)}};
  if (record.asked.kind <= operation::range) line["key"] = record.asked.key;
  if (record.asked.kind == operation::insert) line["value"] = record.asked.value;
  if (record.asked.kind == operation::range) line["last"] = record.asked.last;
  return line;
}

}  // namespace

void write(std::ostream& out, const history& recorded) {
  json operations = json::array();
  for (const auto& record : recorded.operations) operations.push_back(as_json(record));
  out << json{{"map", recorded.map},
              {"seed", recorded.seed},
              {"number", recorded.number},
              {"start", recorded.start},
              {"operations", std::move(operations)},
              {"end", recorded.end}}
             .dump()
      << '\n';
}

std::string to_string(const question& asked) {
  using workload::operation;
  std::string text(name_of(asked.kind));
  text += '(';
  if (asked.kind <= operation::range) text += std::to_string(asked.key);
  if (asked.kind == operation::insert) text += ", " + std::to_string(asked.value);
  if (asked.kind == operation::range) text += ", " + std::to_string(asked.last);
  return text + ')';
}

std::string to_string(const answer& answered) {
  struct words {
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(const std::optional<std::uint64_t>& value) const {
      return value ? std::to_string(*value) : "nothing";
    }
    std::string operator()(std::uint64_t number) const { return std::to_string(number); }
    std::string operator()(const std::vector<element>& met) const {
      std::string text;
      for (const auto& [key, value] : met) {
        text += (text.empty() ? "{" : ", ") + std::to_string(key) + " -> " + std::to_string(value);
      }
      return text.empty() ? "{}" : text + "}";
    }
  };
  return std::visit(words(), answered);
}

}  // namespace assay::rig
