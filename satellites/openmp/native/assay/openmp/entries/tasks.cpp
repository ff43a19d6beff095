// task, taskwait, taskyield and taskgroup.

#include <cstddef>
#include <cstring>

#include "assay/openmp/annotations.h"
#include "assay/openmp/dependences.h"
#include "assay/openmp/entries/entry.h"
#include "assay/openmp/team.h"
#include "assay/openmp/work.h"

namespace assay::omp {

namespace {

// As gcc numbers them.
constexpr unsigned flag_final = 1U << 1U;
constexpr unsigned flag_depend = 1U << 3U;
constexpr unsigned flag_detach = 1U << 13U;

// Runs a task before its maker goes on, until its `detach` event has happened, too.
void run_until_event(task* made) {
  made->events.fetch_add(1, memory_order_relaxed);  // keeps it while we wait for its event
  run(made);
  work_until([&] { return made->events.load(memory_order_seq_cst) == 1; }, enter().current,
             construct::task);
  end_event(made);
}

}  // namespace

ASSAY_OPENMP_ENTRY void GOMP_task(void (*function)(void*), void* data, void (*copy)(void*, void*),
                                  long argument_bytes, long argument_alignment, bool deferred,
                                  unsigned flags, void** dependence_list, int /*priority*/,
                                  void* detach) {
  const thread& mine = enter();
  member& at = *mine.me;
  if (at.in->cancelled.load(memory_order_relaxed)) return;
  const bool depends = (flags & flag_depend) != 0;
  const bool detached = (flags & flag_detach) != 0;
  deferred = deferred && !mine.current->final && (at.in->size > 1 || depends || detached);
  // `if(false)`, inside of a final task, or alone in its team.
  const bool at_once = !deferred && !depends && !detached;
  // The caller keeps the arguments meanwhile.
  const bool in_place = at_once && copy == nullptr;
  task* const made = make_task(in_place ? 0 : static_cast<std::size_t>(argument_bytes),
                               static_cast<std::size_t>(argument_alignment));
  made->function = function;
  made->final = made->final || (flags & flag_final) != 0;
  if (detached) {
    made->events.store(2, memory_order_relaxed);
    *static_cast<void**>(detach) = made;
    if (data != nullptr) *static_cast<void**>(data) = made;
  }
  if (in_place) {
    made->data = data;
  } else if (copy != nullptr) {
    copy(made->data, data);
  } else if (data != nullptr && argument_bytes != 0) {
    std::memcpy(made->data, data, static_cast<std::size_t>(argument_bytes));
  }
  if (at_once) {
    run_now(made);
    return;
  }
  count_in(*made);
  release(made);
  if (depends) {
    if (!deferred) wait_for_dependences(dependence_list);
    if (!depend(*made, dependence_list)) return;
  }
  if (!deferred && detached) {
    run_until_event(made);
  } else if (deferred && at.ready.push(made)) {
    at.in->news.offer();
  } else {
    run(made);
  }
}

ASSAY_OPENMP_ENTRY void GOMP_taskwait() {
  static_cast<void>(enter());
  wait_for_children(__builtin_return_address(0));
}

ASSAY_OPENMP_ENTRY void GOMP_taskwait_depend(void** dependence_list) {
  static_cast<void>(enter());
  wait_for_dependences(dependence_list);
}

ASSAY_OPENMP_ENTRY void GOMP_taskyield() { static_cast<void>(run_one(enter().current)); }

ASSAY_OPENMP_ENTRY void GOMP_taskgroup_start() {
  static_cast<void>(enter());
  open_group(false);
}

ASSAY_OPENMP_ENTRY void GOMP_taskgroup_end() {
  static_cast<void>(enter());
  close_group(__builtin_return_address(0));
}

}  // namespace assay::omp
