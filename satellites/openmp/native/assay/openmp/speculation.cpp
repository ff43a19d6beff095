#include "assay/openmp/speculation.h"

#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "assay/base/atomics.h"
#include "assay/locks/transaction.h"

namespace assay::omp {
namespace transaction = sync::transaction;

namespace {

constexpr std::uint8_t too_early = 1;  // the code of our abort

// The program itself has committed the transaction in which the thread ran ahead: what it did
// meanwhile has happened too early. All that is left is to wait now, and to say so.
[[gnu::cold]] void wait_after_hazard(prediction& mine) {
  const prediction early = std::exchange(mine, prediction{});
  static atomic<bool> said{false};
  if (!said.exchange(true, memory_order_relaxed)) {
    const std::string name = name_of(early.made_at->address.load(memory_order_relaxed));
    std::fprintf(stderr,
                 "assay-omp: a thread ran ahead at %s, and the program itself committed its "
                 "transaction too early: results may be wrong; set ASSAY_OMP_WAIT_AT=%s\n",
                 name.c_str(), name.c_str());
  }
  while (!early.came_true(early)) std::this_thread::yield();
}

}  // namespace

bool run_ahead(prediction& mine, const prediction& of) {
  place& here = *of.made_at;
  here.attempts.fetch_add(1, memory_order_relaxed);
  const transaction::status status = transaction::begin();
  if (status.begun()) {
    mine = of;  // undone if it aborts
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

void end_running_ahead(prediction& mine) {
  place& here = *mine.made_at;
  if (!transaction::inside()) [[unlikely]] {
    wait_after_hazard(mine);
    return;
  }
  if (!mine.came_true(mine)) transaction::abort<too_early>();
  mine = {};
  transaction::commit();
  here.committed.fetch_add(1, memory_order_relaxed);
}

}  // namespace assay::omp
