#include "assay/rig/history.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "assay/rig/questions.h"
#include "assay/subject/operations.h"
#include "assay/workload/operations.h"

namespace assay::rig {
namespace {

using nlohmann::json;
using subject::answer;
using subject::element;
using subject::history_event;

json as_json(const answer& answered) {
  return std::visit(
      [](const auto& value) -> json {
        if constexpr (requires { value.has_value(); }) {
          return value ? json(*value) : json(nullptr);
        } else {
          return value;
        }
      },
      answered);
}

const std::string& name_of(workload::operation kind) { return workload::facts_of(kind).name; }

// In the judge's words; `answered` is null if it has not returned.
std::vector<history_event> events_of(const subject::question& asked, const answer* answered) {
  if (asked.kind > workload::operation::iterate) {
    return subject::extra_facts_of(asked.kind).as_history(asked, answered);
  }
  return {{.operation = name_of(asked.kind),
           .asked = asked,
           .answered = answered == nullptr ? subject::answer() : *answered}};
}

json as_json(unsigned thread, const history_event& event, std::int64_t call_ns) {
  return {{"thread", thread},       {"op", event.operation},      {"call", call_ns},
          {"key", event.asked.key}, {"value", event.asked.value}, {"last", event.asked.last}};
}

}  // namespace

void write(std::ostream& out, const history& recorded) {
  json operations = json::array();
  for (const auto& record : recorded.operations) {
    for (const history_event& event : events_of(record.asked, &record.answered)) {
      json& line = operations.emplace_back(as_json(record.thread, event, record.call_ns));
      line["return"] = record.return_ns;
      line["answer"] = as_json(event.answered);
    }
  }
  for (const auto& record : recorded.unreturned) {
    for (const history_event& event : events_of(record.asked, nullptr)) {
      operations.push_back(as_json(record.thread, event, record.call_ns));
    }
  }
  json line{{"map", recorded.map},
            {"seed", recorded.seed},
            {"number", recorded.number},
            {"start", recorded.start},
            {"operations", std::move(operations)}};
  if (recorded.unreturned.empty()) line["end"] = recorded.end;
  out << line.dump() << '\n' << std::flush;
}

std::string to_string(const subject::question& asked) {
  using workload::operation;
  std::string text(name_of(asked.kind));
  text += '(';
  if (asked.kind <= operation::range) text += std::to_string(asked.key);
  if (asked.kind == operation::insert) text += ", " + std::to_string(asked.value);
  if (asked.kind == operation::range) text += ", " + std::to_string(asked.last);
  if (asked.kind > operation::iterate) {
    const bool is_about_one = concerns_one_key(asked.kind, true);
    text +=
        std::to_string(asked.key) + ", " + std::to_string(is_about_one ? asked.value : asked.last);
  }
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
    std::string operator()(const std::optional<element>& met) const {
      return met ? (*this)(std::vector<element>{*met}) : "nothing";
    }
  };
  return std::visit(words(), answered);
}

}  // namespace assay::rig
