// What `depend` clauses order: tasks of one parent that name the same places in memory.
//
// Only the thread that runs the parent makes its children, so that the table of places is its own.
// What threads share is the list of those that wait for a task, under the task's lock.

#ifndef ASSAY_OPENMP_DEPENDENCES_H_
#define ASSAY_OPENMP_DEPENDENCES_H_

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "assay/locks/spin_lock.h"
#include "assay/openmp/task.h"

namespace assay::omp {

// A task as others depend on it; it outlives the task where a table still names it.
struct dependent {
  sync::spin_lock lock;
  bool ended = false;
  std::vector<task*> successors;
};

struct dependences {
  struct place {
    std::shared_ptr<dependent> writer;                // the last
    std::vector<std::shared_ptr<dependent>> readers;  // since
  };
  std::unordered_map<const void*, place> places;
};

// Orders a new task after those of its siblings that gcc's list of dependences names, and later
// ones after it. True if it is ready: nothing that it waits for is left. Else whoever ends the last
// of those makes it ready.
[[nodiscard]] bool depend(task& made, void** list);
// Returns when all that a list names has ended, and runs tasks meanwhile.
void wait_for_dependences(void** list);
// By a task that ends: those that waited for it alone become ready.
void end_dependence(task* ended);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_DEPENDENCES_H_
