#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/edit_distance.h"
#include "assay/host/json_input.h"
#include "assay/trial/request.h"
#include "assay/trial/subject.h"

namespace assay::trial {
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

const held_types& types_for(const subject_entry& subject, datum::kind key, datum::kind value) {
  const auto found = std::ranges::find_if(subject.types, [&](const held_types& types) {
    return types.key == key && types.value == value;
  });
  if (found != subject.types.end()) return *found;
  const bool key_at_fault =
      std::ranges::find(subject.types, key, &held_types::key) == subject.types.end();
  std::vector<std::string> held;
  for (const auto& types : subject.types) {
    const auto name = key_at_fault ? to_string(types.key) : to_string(types.value);
    if (!key_at_fault && types.key != key) continue;
    if (std::ranges::find(held, name) == held.end()) held.push_back(name);
  }
  throw bad_request((key_at_fault ? "key_type: " : "value_type: ") + subject.name + " holds " +
                    (key_at_fault ? "keys" : "values") + " of type " + enumeration(held) +
                    ", not " + to_string(key_at_fault ? key : value));
}

}  // namespace

std::string to_string(datum::kind kind) {
  return std::string(datum_kind_names.at(static_cast<std::size_t>(kind)));
}

std::string to_string(workload::operation operation) {
  return std::string(workload::operation_names.at(static_cast<std::size_t>(operation)));
}

std::string to_string(structure structure) {
  constexpr std::array<const char*, 3> names{"map", "multimap", "queue"};
  return names.at(static_cast<std::size_t>(structure));
}

std::unique_ptr<measured_map> subject_entry::build(const map_hints& hints) const {
  return types_for(*this, hints.key.type, hints.value.type).build(hints);
}

void require_offered(const subject_entry& subject, const request& request) {
  types_for(subject, request.key.type, request.value.type);
  if (subject.structure == structure::queue && request.keys == workload::key_layout::sparse) {
    throw bad_request(
        "keys: " + subject.name +
        " is a queue, whose keys grow with every pop by the key drawn; sparse keys would "
        "soon need more than 64 bits: ask for dense keys");
  }
  for (const auto& role : request.roles) {
    const auto shares = role.work.mix.shares();
    for (std::size_t i = 0; i < workload::operation_kinds; ++i) {
      const auto asked = static_cast<workload::operation>(i);
      if (shares[i] == 0 ||
          std::ranges::find(subject.operations, asked) != subject.operations.end()) {
        continue;
      }
      std::vector<std::string> offered;
      for (const auto operation : subject.operations) offered.push_back(to_string(operation));
      throw bad_request("mix: " + subject.name + " does not offer " + to_string(asked) + ", but " +
                        enumeration(offered));
    }
  }
}

std::span<const subject_entry> registry() { return entries(); }

void register_subject(subject_entry entry) {
  if (!is_name(entry.name)) {
    throw std::logic_error("\"" + entry.name +
                           "\" is not a name for a subject: it must match [a-z][a-z0-9_]*");
  }
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
      all, {}, [&](const subject_entry& entry) { return edit_distance(name, entry.name); });
  if (nearest->name != name) {
    throw bad_request("subject: there is no " + host::shown(name) + "; did you mean \"" +
                      nearest->name + "\"?");
  }
  return *nearest;
}

}  // namespace assay::trial
