// Tasks: what `task`, `taskloop` and the implicit tasks of a team are, and how one ends.

#ifndef ASSAY_OPENMP_TASK_H_
#define ASSAY_OPENMP_TASK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "assay/base/atomics.h"
#include "assay/openmp/settings.h"

namespace assay::omp {

struct dependences;  // of the children of a task (dependences.h)
struct dependent;    // a task's own part in those of its siblings
struct team;
struct thread;

// The internal control variables that each task has of its own, as omp_set_* change them.
struct variables {
  unsigned num_threads;
  schedule run_schedule;
  unsigned max_active_levels;
  unsigned thread_limit;
  int default_device;
  bool dynamic;
};

struct taskgroup {
  taskgroup* outer = nullptr;
  atomic<std::size_t> unfinished{0};  // tasks made in it, and by those, whose body has not ended
  atomic<bool> cancelled{false};
  bool of_workshare = false;             // made by the runtime, for the reductions of a workshare
  std::uintptr_t* reductions = nullptr;  // its own and those around, as gcc lays them out
};

// One allocation has the task and, after it, its arguments.
struct alignas(64) task {
  // Children in two counts: in the low half those whose body has not ended, for `taskwait`; in the
  // high half those that have not ended with all that they made, and the task itself until its body
  // ends.
  static constexpr std::uint64_t body = 1;
  static constexpr std::uint64_t whole = std::uint64_t{1} << 32U;

  // Whether taskwait returns.
  [[nodiscard]] bool children_ended() const noexcept {
    return static_cast<std::uint32_t>(children.load(memory_order_seq_cst)) ==
           0;  // (1) with (2) in task.cpp
  }
  // Whether nothing of what the task made is left.
  [[nodiscard]] bool alone() const noexcept {
    return children.load(memory_order_seq_cst) <= whole;  // (1) with (2) in task.cpp
  }

  atomic<std::uint64_t> children{whole};
  task* parent = nullptr;
  taskgroup* group = nullptr;  // in which it was made, or that it has open
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  team* of = nullptr;
  thread* memory_of = nullptr;  // which keeps the memory; null: nobody does
  variables icv{};
  unsigned depth = 0;  // of its parents
  bool final = false;
  bool outlives_itself = false;   // cancelled, with an event that somebody may still fulfil
  atomic<unsigned> events{1};     // until 0 it has not ended: its body, and its `detach` event
  atomic<unsigned> waits_for{0};  // predecessors, while it is not ready
  std::unique_ptr<dependences> places;  // of its children; used by the thread that runs it
  std::shared_ptr<dependent> dependence;
  task();
  ~task();
};

// Makes a task whose parent is the present one. Its arguments are the caller's to copy to `data`.
task* make_task(std::size_t argument_bytes, std::size_t argument_alignment);
// Has those wait for a task that wait for its parent's children or for its group. Not of a task for
// run_now().
void count_in(task& made);
// Runs a new task before its parent goes on. Nobody can wait for it, so that nothing is counted.
void run_now(task* made);
// Has the team run a task that is ready.
void make_ready(task* ready);
// The same, of a task that the calling thread may not run where it is.
void leave(team& in, task* one);
// Runs a task that nobody else has, from its body to its end.
void run(task* one);
// Ends one of the events of a task, and the task with the last of them.
void end_event(task* of);
// Runs one ready task of the team, if the calling thread may: one below `within` (null: any). False
// if none was found.
bool run_one(const task* within);
// taskgroup: tasks that the present task makes between the two, and those that they make, have
// ended after close_group(), which runs tasks below the present one meanwhile. `returns_to` is
// where the program's call returns.
void open_group(bool of_workshare);
void close_group(const void* returns_to);
// Whether a task that was not begun shall not be, nor one that comes to a cancellation point go on.
[[nodiscard]] bool cancelled(const task& one);
// taskwait: returns when all children have ended, and runs tasks below
// the present one meanwhile.
void wait_for_children(const void* returns_to);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_TASK_H_
