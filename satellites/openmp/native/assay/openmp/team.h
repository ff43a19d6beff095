// Teams, their members, and the threads that are members of them.
//
// A thread is a member of one team at a time: outside of parallel regions, of a team of its own.
// The master of a region is a member of two, the outer and the inner; it is the inner one's while
// the region lasts.

#ifndef ASSAY_OPENMP_TEAM_H_
#define ASSAY_OPENMP_TEAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "assay/base/atomics.h"
#include "assay/base/draw.h"
#include "assay/openmp/affinity.h"
#include "assay/openmp/barrier.h"
#include "assay/openmp/deque.h"
#include "assay/openmp/events.h"
#include "assay/openmp/speculation.h"
#include "assay/openmp/task.h"
#include "assay/openmp/worksharing.h"

namespace assay::omp {

struct thread;

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the same
struct alignas(64) member {
  team* in = nullptr;
  unsigned id = 0;
  thread* by = nullptr;
  task implicit_task;
  deque ready;
  std::uint32_t begun_before = 0;  // regions of the team, before the thread joined it
  std::uint64_t workshares = 0;    // that it has entered
  std::uint64_t singles = 0;       // that it has come to
  std::uint64_t barriers = 0;      // that it has come to
  loop_position loop;              // in the workshare that it is in
  detail::random_draws draws{0};   // whom to steal from first
  seat at;                         // where threads are bound
  std::uintptr_t allocator = 1;    // which omp_alloc() uses, as omp_allocator_handle_t has it
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what is written often stands apart
struct team {
  explicit team(unsigned threads);
  // Before a region: where it is.
  void around(team* outer, member* as);

  const unsigned size;
  team* outer = nullptr;           // null: none
  member* outer_member = nullptr;  // the master, as a member of the outer team
  task* interrupted = nullptr;     // what the master goes on with after the region
  unsigned level = 0;              // parallel regions around, this one included
  unsigned active_level = 0;       // those of more than one thread
  std::vector<std::unique_ptr<member>> members;

  // Set by the master before the others begin.
  void (*function)(void*) = nullptr;
  void* data = nullptr;

  // Where OMP_THREAD_LIMIT limits the threads of a contention group (OpenMP 5.1, section 2.6.1):
  // how many this region got; and, used in the outermost team, how many work in the group, the
  // initial thread apart.
  unsigned admitted = 0;
  atomic<unsigned> at_work{0};

  // Used in the outermost team: the league of the `teams` construct that it is in.
  unsigned league_size = 1;
  unsigned league_number = 0;

  barrier inner;  // of `barrier` constructs
  barrier last;   // at the end of the region: another one, as a cancelled barrier forgets who came
  alignas(64) atomic<std::uint32_t> begun{0};  // regions; the others wait for the next
  alignas(64) atomic<bool> cancelled{false};
  // A cancelled workshare, known by the barrier after it: the number of barriers that each member
  // has come to by then. 0: none.
  atomic<std::uint64_t> workshare_cancelled{0};
  atomic<bool> disbanded{false};
  atomic<unsigned> gone{0};  // threads that will touch it no more, once it is disbanded
  alignas(64) atomic<std::uint64_t> single{0};
  void* copied = nullptr;  // of single with copyprivate
  events news;             // tasks, arrivals, ends: what threads that sleep are woken for
  worksharing shared;

  // Tasks that a thread stole and may not run itself, as they are not below the one that it waits
  // in (OpenMP 5.1, section 2.12.6): anybody who may takes them.
  std::mutex left_mutex;
  std::vector<task*> left;
  atomic<std::size_t> left_count{0};
};

// What a native thread has of its own. It is never freed: tasks that it made may outlive it.
struct thread {
  member* me = nullptr;     // where it is
  prediction ahead;         // what it runs ahead of
  task* current = nullptr;  // what it runs
  team* kept = nullptr;     // of the last region that it was master of, at the outermost level
  atomic<member*> given{nullptr};  // what to be next, for one that waits to be needed
  std::vector<void*> free_tasks;
  atomic<void*> returned_tasks{nullptr};  // which others freed
  unsigned bound = 0;                     // to the place of this number less 1; 0: to none
  std::uint64_t displayed = 0;            // what OMP_DISPLAY_AFFINITY showed last
};

// The calling thread. The first call makes it a member of a team of its own.
thread& self() noexcept;

// The same, for a call that another thread may see: the thread runs ahead no more.
inline thread& enter() {
  thread& mine = self();
  if (mine.ahead.made_at != nullptr) [[unlikely]]
    end_running_ahead(mine.ahead);
  return mine;
}

// The team outside of all regions that a team is in.
team& outermost(team& in) noexcept;

// How many threads a region gets: what was asked for (0: nothing), what is set, and what is
// allowed.
unsigned team_size(unsigned asked);
// Runs `function(data)` in a team of that many threads, the caller being one of them, and returns
// when all have ended, with all their tasks. `group`: of the region's task reductions, or null.
// `first`: the loop to which all have come when they begin, or null.
void run_parallel(void (*function)(void*), void* data, unsigned threads, unsigned bind,
                  taskgroup* group = nullptr, const loop* first = nullptr);
// The same in two halves, for gcc's old interface: between them the caller runs the function
// itself.
void begin_parallel(void (*function)(void*), void* data, unsigned threads, unsigned bind,
                    taskgroup* group = nullptr, const loop* first = nullptr);
void end_parallel();
// Has threads that the calling one keeps for its next region wait for anybody's.
void let_threads_go();
// The barrier construct, called by what it `returns_to`. With `cancellable`, returns true, at any
// time, if the region was cancelled.
bool wait_at_barrier(const void* returns_to, bool cancellable);

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_TEAM_H_
