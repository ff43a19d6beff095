#include "assay/openmp/dependences.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "assay/base/point.h"
#include "assay/openmp/annotations.h"
#include "assay/openmp/team.h"
#include "assay/openmp/work.h"

namespace assay::omp {
namespace {

// Calls `visit(place, writes)` for each entry of gcc's list. Its old form is {entries, writers,
// addresses...}, writers first; the new one {0, entries, writers, mutexinoutset, readers,
// addresses...}, whose last entries are depend objects: {address, kind}. Tasks of a mutexinoutset
// are ordered as writers are: that keeps them apart, too.
template <class Visit>
void for_each_dependence(void** list, const Visit& visit) {
  const auto number = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(list[i]); };
  const bool old_form = number(0) != 0;
  const std::size_t first = old_form ? 2 : 5;
  const std::size_t entries = old_form ? number(0) : number(1);
  const std::size_t writers = old_form ? number(1) : number(2) + number(3);
  const std::size_t plain = old_form ? entries : writers + number(4);
  for (std::size_t i = 0; i < plain; ++i) visit(list[first + i], i < writers);
  constexpr std::uintptr_t in = 1;  // GOMP_DEPEND_IN
  for (std::size_t i = plain; i < entries; ++i) {
    auto** const object = static_cast<void**>(list[first + i]);
    visit(object[0], reinterpret_cast<std::uintptr_t>(object[1]) != in);
  }
}

// Has `waiting` wait for a task, unless that has ended.
void wait_for(const std::shared_ptr<dependent>& before, task& waiting) {
  if (before == nullptr) return;
  const std::scoped_lock held(before->lock);
  acquire(before.get());
  if (before->ended) return;
  before->successors.push_back(&waiting);
  waiting.waits_for.fetch_add(1, memory_order_relaxed);
  release(before.get());
}

}  // namespace

bool depend(task& made, void** list) {
  task& parent = *made.parent;
  if (parent.places == nullptr) parent.places = std::make_unique<dependences>();
  made.dependence = std::make_shared<dependent>();
  made.waits_for.store(1, memory_order_relaxed);  // this call
  for_each_dependence(list, [&](const void* address, bool writes) {
    dependences::place& place = parent.places->places[address];
    if (writes) {
      if (place.writer != made.dependence) wait_for(place.writer, made);
      for (const auto& reader : place.readers) {
        if (reader != made.dependence) wait_for(reader, made);
      }
      place.readers.clear();
      place.writer = made.dependence;
    } else if (place.writer != made.dependence) {
      wait_for(place.writer, made);
      place.readers.push_back(made.dependence);
    }
  });
  release(&made);
  ASSAY_POINT("openmp_has_predecessors");
  // Acquire, with the release of end_dependence(): what the predecessors did.
  return made.waits_for.fetch_sub(1, memory_order_acq_rel) == 1;
}

void wait_for_dependences(void** list) {
  task& mine = *self().current;
  if (mine.places == nullptr) return;
  task waiter;  // it is never run: who ends the last predecessor only counts
  waiter.of = self().me->in;
  waiter.waits_for.store(1, memory_order_relaxed);
  for_each_dependence(list, [&](const void* address, bool writes) {
    const auto found = mine.places->places.find(address);
    if (found == mine.places->places.end()) return;
    wait_for(found->second.writer, waiter);
    if (!writes) return;
    for (const auto& reader : found->second.readers) wait_for(reader, waiter);
  });
  // Acquire, with the release of end_dependence().
  work_until([&] { return waiter.waits_for.load(memory_order_seq_cst) == 1; }, &mine,
             construct::taskwait);
  acquire(&waiter);
}

void end_dependence(task* ended) {
  std::vector<task*> successors;
  {
    const std::scoped_lock held(ended->dependence->lock);
    acquire(ended->dependence.get());
    ended->dependence->ended = true;
    successors = std::move(ended->dependence->successors);
    release(ended->dependence.get());
  }
  ASSAY_POINT("openmp_has_successors");
  for (task* const each : successors) {
    release(each);
    if (each->waits_for.fetch_sub(1, memory_order_seq_cst) == 1) make_ready(each);
  }
}

}  // namespace assay::omp
