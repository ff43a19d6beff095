// What the rig asks of maps, drawn at random.

#ifndef ASSAY_RIG_QUESTIONS_H_
#define ASSAY_RIG_QUESTIONS_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "assay/random/splitmix64.h"
#include "assay/subject/any_map.h"
#include "assay/subject/operations.h"
#include "assay/workload/operation_batch.h"

namespace assay::rig {

// One of `kinds`, of which insert and erase are half, about a key from 1 to `keys`.
inline question draw_question(random::splitmix64& draw,
                              const std::vector<workload::operation>& kinds, std::uint64_t keys) {
  const bool update = kinds.size() > 3 && draw() % 2 == 0;
  const workload::operation kind = kinds[draw() % (update ? 2 : kinds.size())];
  const std::uint64_t key = 1 + draw() % keys;
  return {.kind = kind, .key = key, .value = draw() >> 1U, .last = key + draw() % keys};
}

// How many more elements the map holds after such an answer.
inline int change_by(const question& asked, const answer& answered) {
  using workload::operation;
  if (asked.kind > operation::iterate) {
    return further_facts_of(asked.kind).came_to(asked, answered).change;
  }
  const bool* const succeeded = std::get_if<bool>(&answered);
  if (succeeded == nullptr || !*succeeded) return 0;
  return asked.kind == operation::insert ? 1 : -1;
}

}  // namespace assay::rig

#endif  // ASSAY_RIG_QUESTIONS_H_
