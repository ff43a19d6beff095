#include "assay/openmp/speculation.h"

#include "assay/locks/transaction.h"
#include "assay/openmp/task.h"
#include "assay/openmp/team.h"

namespace assay::omp {
namespace transaction = sync::transaction;

namespace {

constexpr std::uint8_t too_early = 1;  // the code of our abort

bool came_true(const prediction& what) {
  return what.at != nullptr ? what.at->epoch() != what.past : what.of->children_ended();
}

}  // namespace

bool run_ahead(thread& mine, const prediction& of) {
  place& here = *of.made_at;
  here.attempts.fetch_add(1, memory_order_relaxed);
  const transaction::status status = transaction::begin();
  if (status.begun()) {
    mine.ahead = of;  // undone if it aborts
    return true;
  }
  const bool early = status.cause() == transaction::cause::asked && status.code() == too_early;
  (early                                            ? here.too_early
   : status.cause() == transaction::cause::conflict ? here.conflicts
   : status.cause() == transaction::cause::capacity ? here.too_large
                                                    : here.others)
      .fetch_add(1, memory_order_relaxed);
  return false;
}

void end_running_ahead(thread& mine) {
  if (!came_true(mine.ahead)) transaction::abort<too_early>();
  place& here = *mine.ahead.made_at;
  mine.ahead = {};
  transaction::commit();
  here.committed.fetch_add(1, memory_order_relaxed);
}

}  // namespace assay::omp
