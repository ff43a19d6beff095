// Waiting that works: a thread that waits for something runs ready tasks of its team meanwhile.

#ifndef ASSAY_OPENMP_WORK_H_
#define ASSAY_OPENMP_WORK_H_

#include "assay/openmp/statistics.h"
#include "assay/openmp/task.h"
#include "assay/openmp/team.h"
#include "assay/openmp/waiting.h"

namespace assay::omp {

// Returns when `holds()`, which others make true, and of which they tell the team's news. Runs
// tasks below `within` meanwhile (null: any). Statistics count the waiting as that of a construct
// and, if it is known, of the place in the program where the thread waits.
template <class Condition>
void work_until(const Condition& holds, const task* within, construct where,
                const void* from = nullptr) {
  statistics::wait wait(where, from);
  patience patience(from);
  events& news = self().me->in->news;
  unsigned looked = 0;
  while (!holds()) {
    // Not each time: to look for tasks takes the others' lines from them.
    constexpr unsigned looks_a_task = 8;
    if (looked++ % looks_a_task == 0 && wait.works([&] { return run_one(within); })) {
      patience.reset();
      looked = 0;
      continue;
    }
    wait.idle();
    if (patience.look_again()) continue;
    const std::uint32_t key = news.prepare();
    if (holds() || wait.works([&] { return run_one(within); })) {
      news.forget();
      patience.reset();
      looked = 0;
      continue;
    }
    news.sleep(key);
  }
}

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_WORK_H_
