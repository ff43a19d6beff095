#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

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

// Levenshtein's distance: the fewest insertions, deletions and replacements that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const subject_entry> registry() { return entries(); }

void register_subject(subject_entry entry) {
  if (!is_name(entry.name)) {
    throw std::logic_error("\"" + entry.name +
                           "\" is no name for a subject: it must match [a-z][a-z0-9_]*");
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
