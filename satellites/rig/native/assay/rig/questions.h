// What the rig asks of maps, drawn at random.

#ifndef ASSAY_RIG_QUESTIONS_H_
#define ASSAY_RIG_QUESTIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <variant>
#include <vector>

#include "assay/random/splitmix64.h"
#include "assay/rig/ends.h"
#include "assay/subject/any_map.h"
#include "assay/subject/operations.h"
#include "assay/workload/operation_batch.h"

namespace assay::rig {

// Which keys questions are about, and some of the values that are inserted.
struct asked_about {
  std::vector<std::uint64_t> keys;        // ascending
  std::vector<std::uint64_t> end_values;  // that may be among the values
  std::uint64_t greatest_value;

  // The keys from 1 to `small`, those at the ends of their type, or both.
  static asked_about of(const subject::subject_entry& subject, const subject::held_types& types,
                        std::uint64_t small, bool with_ends) {
    asked_about all{.keys = {},
                    .end_values = rig::end_values(subject, types.value),
                    .greatest_value = subject.greatest_value(types.value)};
    if (with_ends) std::ranges::copy(end_keys(subject, types.key), std::back_inserter(all.keys));
    for (std::uint64_t key = 1; key <= small; ++key) all.keys.push_back(key);
    std::ranges::sort(all.keys);
    all.keys.erase(std::ranges::unique(all.keys).begin(), all.keys.end());
    return all;
  }

  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(keys, key) - keys.begin());
  }
  // One in 16 is at an end of its type.
  [[nodiscard]] std::uint64_t value(random::splitmix64& draw) const {
    if (draw() % 16 == 0 && !end_values.empty()) return end_values[draw() % end_values.size()];
    return draw() >> 1U & greatest_value;
  }
};

// Whether an operation by name asks about the question's key alone, as far as small maps show:
// always, or where it is the last one, too.
inline bool concerns_one_key(workload::operation kind, bool always) {
  const subject::extra_facts& facts = subject::extra_facts_of(kind);
  using subject::elements;
  if (facts.visits) return false;
  const subject::question asked{.kind = kind, .key = 50, .value = 7, .last = always ? 70U : 50U};
  for (const bool held : {false, true}) {
    std::optional<subject::answer> first;
    std::optional<std::uint64_t> left;
    for (const elements& others : {elements{}, elements{{40, 1}}, elements{{60, 2}},
                                   elements{{0, 1}, {40, 3}, {60, 2}, {UINT64_MAX, 4}}}) {
      elements all = others;
      if (held) all.emplace(50, 5);
      const subject::answer answered = facts.right(all, asked);
      const auto mine = all.extract(50);
      const std::optional<std::uint64_t> leaves =
          mine ? std::optional(mine.mapped()) : std::nullopt;
      if (all != others || (first && (*first != answered || left != leaves))) return false;
      first = answered;
      left = leaves;
    }
  }
  return true;
}

// One of `kinds`, about one of these keys. Half are inserts and erases. What does not span is about
// that key alone.
inline subject::question draw_question(random::splitmix64& draw,
                                       const std::vector<workload::operation>& kinds,
                                       const asked_about& about) {
  const bool update = kinds.size() > 3 && draw() % 2 == 0;
  const workload::operation kind = kinds[draw() % (update ? 2 : kinds.size())];
  const auto number = about.keys.size();
  const std::size_t first = draw() % number;
  const std::size_t last = std::min(first + draw() % number, number - 1);
  return {.kind = kind,
          .key = about.keys[first],
          .value = about.value(draw),
          .last = about.keys[workload::facts_of(kind).spans ? last : first]};
}

// How many more elements the map holds after such an answer.
inline int change_by(const subject::question& asked, const subject::answer& answered) {
  using workload::operation;
  if (asked.kind > operation::iterate) {
    return subject::extra_facts_of(asked.kind).outcome_of(asked, answered).change;
  }
  const bool* const succeeded = std::get_if<bool>(&answered);
  if (succeeded == nullptr || !*succeeded) return 0;
  return asked.kind == operation::insert ? 1 : -1;
}

}  // namespace assay::rig

#endif  // ASSAY_RIG_QUESTIONS_H_
