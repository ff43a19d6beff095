// cancel and cancellation point. Without OMP_CANCELLATION=true they do nothing.

#include "assay/openmp/entries/entry.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace {

// As gcc numbers the constructs; 1 is parallel.
constexpr unsigned of_loop = 2;
constexpr unsigned of_sections = 4;
constexpr unsigned of_taskgroup = 8;

bool is_cancelled(unsigned construct) {
  const thread& mine = enter();
  const team& in = *mine.me->in;
  // Relaxed, all of them: threads see it soon, and barriers order what was done.
  if ((construct & (of_loop | of_sections)) != 0) {
    return in.workshare_cancelled.load(memory_order_relaxed) == mine.me->barriers + 1;
  }
  if ((construct & of_taskgroup) != 0) return cancelled(*mine.current);
  return in.cancelled.load(memory_order_relaxed);
}

}  // namespace

ASSAY_OPENMP_ENTRY bool GOMP_cancellation_point(int construct) {
  return process_settings().cancellation && is_cancelled(static_cast<unsigned>(construct));
}

ASSAY_OPENMP_ENTRY bool GOMP_cancel(int construct, bool active) {
  if (!process_settings().cancellation) return false;
  const auto what = static_cast<unsigned>(construct);
  if (!active) return is_cancelled(what);
  const thread& mine = enter();
  team& in = *mine.me->in;
  if ((what & (of_loop | of_sections)) != 0) {
    in.workshare_cancelled.store(mine.me->barriers + 1, memory_order_relaxed);
  } else if ((what & of_taskgroup) != 0) {
    taskgroup* group = mine.current->group;
    if (group != nullptr && group->of_workshare && group->outer != nullptr) group = group->outer;
    if (group != nullptr) group->cancelled.store(true, memory_order_relaxed);
  } else {
    in.cancelled.store(true, memory_order_seq_cst);  // as events.h asks for
    in.shared.give_up();
    in.news.tell();
  }
  return true;
}

}  // namespace assay::omp
