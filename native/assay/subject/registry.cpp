#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/input/bad_request.h"
#include "assay/input/edit_distance.h"
#include "assay/input/json.h"
#include "assay/subject/subject.h"

namespace assay::subject {
namespace {

// Inside a function, so that it exists when static objects of other files register themselves.
std::vector<subject_entry>& entries() {
  static std::vector<subject_entry> all;
  return all;
}

bool is_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && lower(name[0]) && std::ranges::all_of(name, [&](char c) {
    return lower(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

// "a, b and c"
std::string enumeration(std::span<const std::string> items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

std::array<extra_facts, workload::operation_kinds>& all_extra_facts() {
  static std::array<extra_facts, workload::operation_kinds> all{};
  return all;
}

// Leaves values for each thread of each check, whichever the map reserves.
void check_values(const subject_entry& entry) {
  constexpr unsigned fewest_bits = 48;
  constexpr unsigned most_bits = 64;
  if (entry.value_bits < fewest_bits || entry.value_bits > most_bits) {
    throw std::logic_error(entry.name + ": value_bits is " + std::to_string(entry.value_bits) +
                           ", but must be from 48 to 64");
  }
  const std::size_t most =
      std::min<std::size_t>(1000, (std::size_t{1} << (entry.value_bits - 44)) - 1);
  if (entry.reserved_values.size() > most) {
    throw std::logic_error(entry.name + " reserves " +
                           std::to_string(entry.reserved_values.size()) + " values, but at most " +
                           std::to_string(most) + " may be reserved of " +
                           std::to_string(entry.value_bits) +
                           " bits; value_bits = 63 reserves all that have the top bit");
  }
}

}  // namespace

const extra_facts& extra_facts_of(workload::operation kind) {
  return all_extra_facts().at(static_cast<std::size_t>(kind));
}

void register_operation(workload::operation kind, const extra_facts& facts) {
  extra_facts& known = all_extra_facts().at(static_cast<std::size_t>(kind));
  if (known.right != nullptr && known.right != facts.right) {
    throw std::logic_error("two operations are named \"" + to_string(kind) + "\"");
  }
  known = facts;
}

std::string to_string(type_spec::kind kind) {
  return std::string(type_kind_names.at(static_cast<std::size_t>(kind)));
}

std::string to_string(workload::operation operation) { return workload::facts_of(operation).name; }

std::string to_string(structure structure) {
  constexpr std::array<const char*, 3> names{"map", "multimap", "queue"};
  return names.at(static_cast<std::size_t>(structure));
}

const held_types& subject_entry::types_for(type_spec::kind key, type_spec::kind value) const {
  const auto found = std::ranges::find_if(
      types, [&](const held_types& each) { return each.key == key && each.value == value; });
  if (found != types.end()) return *found;
  const bool key_at_fault = std::ranges::find(types, key, &held_types::key) == types.end();
  std::vector<std::string> held;
  for (const auto& each : types) {
    const auto kind = key_at_fault ? to_string(each.key) : to_string(each.value);
    if (!key_at_fault && each.key != key) continue;
    if (std::ranges::find(held, kind) == held.end()) held.push_back(kind);
  }
  throw bad_request((key_at_fault ? "key_type: " : "value_type: ") + name + " holds " +
                    (key_at_fault ? "keys" : "values") + " of type " + enumeration(held) +
                    ", not " + to_string(key_at_fault ? key : value));
}

void subject_entry::require(workload::operation asked) const {
  if (std::ranges::find(operations, asked) != operations.end()) return;
  std::vector<std::string> offered;
  for (const auto operation : operations) offered.push_back(to_string(operation));
  throw bad_request("mix: " + name + " does not offer " + to_string(asked) + ", but " +
                    enumeration(offered));
}

std::span<const subject_entry> registry() { return entries(); }

void register_subject(subject_entry entry) {
  if (!is_name(entry.name)) {
    throw std::logic_error("\"" + entry.name +
                           "\" is not a name for a subject: it must match [a-z][a-z0-9_]*");
  }
  check_values(entry);
  auto& all = entries();
  const auto place = std::ranges::lower_bound(all, entry.name, {}, &subject_entry::name);
  if (place != all.end() && place->name == entry.name) {
    throw std::logic_error("two subjects are named \"" + entry.name + "\"");
  }
  all.insert(place, std::move(entry));
}

const subject_entry& find_subject(std::string_view name) {
  const auto all = registry();
  if (all.empty()) throw bad_request("subject: this program has none");
  const auto nearest = std::ranges::min_element(
      all, {}, [&](const subject_entry& entry) { return input::edit_distance(name, entry.name); });
  if (nearest->name != name) {
    throw bad_request("subject: there is no " + input::shown(name) + "; did you mean \"" +
                      nearest->name + "\"?");
  }
  return *nearest;
}

}  // namespace assay::subject
