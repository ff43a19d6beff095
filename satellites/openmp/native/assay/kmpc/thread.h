// What this library knows of a thread.

#ifndef ASSAY_KMPC_THREAD_H_
#define ASSAY_KMPC_THREAD_H_

#include "assay/openmp/speculation.h"

namespace assay::kmpc {

struct region;
struct meeting;

struct thread {
  const region* in = nullptr;  // the innermost region that fork_call() began; null: none
  meeting* team = nullptr;     // of that region
  unsigned number = 0;         // in the team
  bool made_tasks = false;     // in this region
  bool tasks = false;          // somebody of the team has, before its last barrier
  omp::prediction ahead;       // what it runs ahead of
};

thread& self() noexcept;

// The same, for a call that another thread may see: the thread runs ahead no more.
inline thread& enter() {
  thread& mine = self();
  if (mine.ahead.made_at != nullptr) [[unlikely]]
    omp::end_running_ahead(mine.ahead);
  return mine;
}

}  // namespace assay::kmpc

#endif  // ASSAY_KMPC_THREAD_H_
