#include "assay/workload/operations.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace assay::workload {
namespace {

// Inside a function, so that it exists when static objects of other files register themselves.
std::vector<operation_facts>& all() {
  static std::vector<operation_facts> known{
      {.name = "insert", .rare = false, .spans = false},
      {.name = "erase", .rare = false, .spans = false},
      {.name = "find", .rare = false, .spans = false},
      {.name = "range", .rare = true, .spans = true},
      {.name = "size", .rare = true, .spans = false},
      {.name = "snapshot", .rare = true, .spans = false},
      {.name = "iterate", .rare = true, .spans = false},
  };
  return known;
}

bool is_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && lower(name[0]) && std::ranges::all_of(name, [&](char c) {
    return lower(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

bool any(const mix& mix, bool operation_facts::* has) {
  const auto shares = mix.shares();
  for (std::size_t kind = 0; kind < all().size(); ++kind) {
    if (shares[kind] > 0 && all()[kind].*has) return true;
  }
  return false;
}

}  // namespace

std::span<const operation_facts> operations() { return all(); }

const operation_facts& facts_of(operation kind) { return all()[static_cast<std::size_t>(kind)]; }

std::optional<operation> operation_named(std::string_view name) {
  const auto found = std::ranges::find(all(), name, &operation_facts::name);
  if (found == all().end()) return std::nullopt;
  return static_cast<operation>(found - all().begin());
}

operation add_operation(const operation_facts& facts) {
  if (const auto known = operation_named(facts.name)) {
    if (facts_of(*known) == facts) return *known;
    throw std::logic_error("two operations are named \"" + facts.name + "\"");
  }
  if (!is_name(facts.name)) {
    throw std::logic_error("\"" + facts.name +
                           "\" is not a name for an operation: it must match [a-z][a-z0-9_]*");
  }
  if (all().size() == operation_kinds) {
    throw std::logic_error("there are more than " + std::to_string(operation_kinds) +
                           " operations: " + facts.name + " is one too many");
  }
  all().push_back(facts);
  return static_cast<operation>(all().size() - 1);
}

bool any_rare(const mix& mix) { return any(mix, &operation_facts::rare); }
bool any_spans(const mix& mix) { return any(mix, &operation_facts::spans); }

}  // namespace assay::workload
