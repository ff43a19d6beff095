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

json as_json(unsigned thread, const question& asked, std::int64_t call_ns) {
  using workload::operation;
  json line{{"thread", thread}, {"op", name_of(asked.kind)}, {"call", call_ns}};
  if (asked.kind <= operation::range) line["key"] = asked.key;
  if (asked.kind == operation::insert) line["value"] = asked.value;
  if (asked.kind == operation::range) line["last"] = asked.last;
  return line;
}

json as_json(const operation_record& record) {
  json line = as_json(record.thread, record.asked, record.call_ns);
  line["return"] = record.return_ns;
  line["answer"] = as_json(record.answered);
  return line;
}

}  // namespace

void write(std::ostream& out, const history& recorded) {
  json operations = json::array();
  for (const auto& record : recorded.operations) operations.push_back(as_json(record));
  for (const auto& record : recorded.unreturned) {
    operations.push_back(as_json(record.thread, record.asked, record.call_ns));
  }
  json line{{"map", recorded.map},
            {"seed", recorded.seed},
            {"number", recorded.number},
            {"start", recorded.start},
            {"operations", std::move(operations)}};
  if (recorded.unreturned.empty()) line["end"] = recorded.end;
  out << line.dump() << '\n' << std::flush;
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
