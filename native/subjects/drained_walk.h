// How a queue that cannot be looked at is walked: it is emptied and filled again.

#ifndef ASSAY_SUBJECTS_DRAINED_WALK_H_
#define ASSAY_SUBJECTS_DRAINED_WALK_H_

#include <vector>

// All is there again before `visit` is called, which may throw.
template <class Queue, class Visit>
void walk_drained(Queue& queue, Visit&& visit) {
  std::vector<typename decltype(queue.try_pop())::value_type> entries;
  while (const auto entry = queue.try_pop()) entries.push_back(*entry);
  for (const auto& [key, value] : entries) queue.push(key, value);
  for (const auto& [key, value] : entries) visit(key, value);
}

#endif  // ASSAY_SUBJECTS_DRAINED_WALK_H_
