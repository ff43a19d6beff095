#include "assay/openmp/task.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

#include "assay/base/point.h"
#include "assay/openmp/annotations.h"
#include "assay/openmp/dependences.h"
#include "assay/openmp/team.h"
#include "assay/openmp/work.h"

namespace assay::omp {
namespace {

// Tasks of up to this many bytes, arguments included, are kept by the thread that made them, to be
// used again.
constexpr std::size_t kept_bytes = 384;

struct returned {
  returned* next;
};

void* take_memory(thread& mine) {
  if (mine.free_tasks.empty()) {
    // (1) with (2): whoever gave the memory back uses it no more.
    auto* back =
        static_cast<returned*>(mine.returned_tasks.exchange(nullptr, memory_order_acquire));
    for (; back != nullptr; back = back->next) mine.free_tasks.push_back(back);
  }
  if (mine.free_tasks.empty()) return ::operator new(kept_bytes, std::align_val_t{alignof(task)});
  void* const memory = mine.free_tasks.back();
  mine.free_tasks.pop_back();
  acquire(memory);
  return memory;
}

void free_task(task* gone) {
  if (gone->outlives_itself) return;
  thread* const maker = gone->memory_of;
  gone->~task();
  release(gone);
  if (maker == nullptr) {
    ::operator delete(gone, std::align_val_t{alignof(task)});
    return;
  }
  if (maker == &self()) {
    maker->free_tasks.push_back(gone);
    return;
  }
  ASSAY_POINT("openmp_gives_memory_back");
  auto* const back = ::new (gone) returned{nullptr};
  void* first = maker->returned_tasks.load(memory_order_relaxed);
  do {
    back->next = static_cast<returned*>(first);
  } while (!maker->returned_tasks.compare_exchange_weak(first, back,
                                                        memory_order_release,  // (2) with (1)
                                                        memory_order_relaxed));
}

// Takes what has ended off the counts of its parent, and off those above that have ended with it.
void take_off(task* parent, std::uint64_t ended) {
  while (true) {
    // (2) with (1) in task.h: what the tasks did. Acquire as well: who frees a task has seen all
    // that was done with it.
    const std::uint64_t left = parent->children.fetch_sub(ended, memory_order_seq_cst) - ended;
    if (left >= task::whole) return;
    task* const above = parent->parent;
    free_task(parent);
    parent = above;
    ended = task::whole;
  }
}

void end_task(task* one) {
  team& in = *one->of;
  task* const parent = one->parent;
  if (one->dependence != nullptr) end_dependence(one);
  ASSAY_POINT("openmp_dependence_has_ended");
  if (one->group != nullptr) {
    release(one->group);
    one->group->unfinished.fetch_sub(1, memory_order_seq_cst);  // (3) with close_group()
  }
  // Acquire: see take_off. A task without children is the thread's own.
  release(parent);
  if (one->children.load(memory_order_acquire) == task::whole) {
    free_task(one);
    ASSAY_POINT("openmp_task_has_ended");
    take_off(parent, task::body + task::whole);
  } else {
    // The body first: as long as the task counts, its parent is not freed.
    take_off(parent, task::body);
    ASSAY_POINT("openmp_body_has_ended");
    take_off(one, task::whole);
  }
  in.news.tell();
}

// Whether the thread may run a task while it waits in `within`: only one below it, so that a task
// never waits for one that it interrupts (OpenMP 5.1, section 2.12.6).
bool may_run(const task* one, const task* within) {
  if (within == nullptr) return true;
  while (one->depth > within->depth) one = one->parent;
  return one == within;
}

task* take_left(team& in, const task* within) {
  if (in.left_count.load(memory_order_relaxed) == 0) return nullptr;
  const std::scoped_lock held(in.left_mutex);
  const auto place =
      std::ranges::find_if(in.left, [&](const task* one) { return may_run(one, within); });
  if (place == in.left.end()) return nullptr;
  task* const taken = *place;
  in.left.erase(place);
  in.left_count.store(in.left.size(), memory_order_relaxed);
  return taken;
}

// Returns null as well if what was stolen must be left to others.
task* steal(member& at, const task* within) {
  team& in = *at.in;
  const auto first = static_cast<unsigned>(at.draws() % in.size);
  for (unsigned i = 0; i < in.size; ++i) {
    member& victim = *in.members[(first + i) % in.size];
    if (&victim == &at || victim.ready.empty()) continue;
    task* const stolen = victim.ready.steal();
    if (stolen == nullptr) continue;
    if (may_run(stolen, within)) return stolen;
    leave(in, stolen);
    return nullptr;
  }
  return nullptr;
}

}  // namespace

task::task() = default;
task::~task() = default;

void leave(team& in, task* one) {
  {
    const std::scoped_lock held(in.left_mutex);
    in.left.push_back(one);
    in.left_count.store(in.left.size(), memory_order_relaxed);
  }
  ASSAY_POINT("openmp_leaves_task");
  in.news.tell_of_any();
}

task* make_task(std::size_t argument_bytes, std::size_t argument_alignment) {
  statistics::used(construct::task);
  thread& mine = self();
  task& parent = *mine.current;
  const std::size_t alignment = std::max(argument_alignment, std::size_t{1});
  const std::size_t offset = (sizeof(task) + alignment - 1) / alignment * alignment;
  const bool kept = offset + argument_bytes <= kept_bytes && alignment <= alignof(task);
  // Arguments may be aligned more strictly than tasks: then their address is rounded up.
  const std::size_t bytes =
      sizeof(task) + argument_bytes + (alignment > alignof(task) ? alignment : alignof(task));
  void* const memory =
      kept ? take_memory(mine) : ::operator new(bytes, std::align_val_t{alignof(task)});
  task* const made = ::new (memory) task;
  const std::uintptr_t after = reinterpret_cast<std::uintptr_t>(memory) + sizeof(task);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  made->data = reinterpret_cast<void*>((after + alignment - 1) / alignment * alignment);
  made->memory_of = kept ? &mine : nullptr;
  made->of = mine.me->in;
  made->parent = &parent;
  made->group = parent.group;
  made->icv = parent.icv;
  made->depth = parent.depth + 1;
  made->final = parent.final;
  return made;
}

void count_in(task& made) {
  if (made.group != nullptr) made.group->unfinished.fetch_add(1, memory_order_relaxed);
  // Relaxed: only the thread that runs the parent adds, and it is that thread that waits for 0.
  made.parent->children.fetch_add(task::body + task::whole, memory_order_relaxed);
}

void run_now(task* made) {
  thread& mine = self();
  task* const parent = mine.current;
  if (!cancelled(*made)) {
    mine.current = made;
    made->function(made->data);
    static_cast<void>(enter());
    mine.current = parent;
  }
  // Acquire: see take_off().
  if (made->children.load(memory_order_acquire) == task::whole) {
    free_task(made);
    return;
  }
  // It stays for its children, and so does the parent. Relaxed: as in count_in().
  parent->children.fetch_add(task::whole, memory_order_relaxed);
  take_off(made, task::whole);
}

void make_ready(task* ready) {
  release(ready);
  const thread& mine = self();
  member& at = *mine.me;
  // Only what is below the present task: above all others in the queue is then what the thread may
  // run wherever it waits.
  if (at.in == ready->of && may_run(ready, mine.current) && at.ready.push(ready)) {
    at.in->news.tell_of_any();
    return;
  }
  leave(*ready->of, ready);
}

void run(task* one) {
  thread& mine = self();
  task* const before = mine.current;
  if (cancelled(*one)) {
    // Its body would have had somebody fulfil its event. If that happens all the same, it finds the
    // task, with more events than will ever end.
    if (one->events.load(memory_order_acquire) > 1) {
      one->outlives_itself = true;
      one->events.store(~0U / 2, memory_order_relaxed);
    }
    end_task(one);
    return;
  }
  mine.current = one;
  acquire(one);
  one->function(one->data);
  static_cast<void>(enter());
  mine.current = before;
  end_event(one);
}

void end_event(task* of) {
  team& in = *of->of;  // who waits for the event may free the task
  // Acquire and release: who ends the last event has seen what came before the others. Sequentially
  // consistent for who waits for all but one, as events.h asks for.
  if (of->events.load(memory_order_acquire) == 1 ||
      of->events.fetch_sub(1, memory_order_seq_cst) == 1) {
    end_task(of);
  } else {
    in.news.tell();
  }
}

bool run_one(const task* within) {
  member& at = *self().me;
  if (task* const own = at.ready.pop(); own != nullptr) {
    if (may_run(own, within)) {
      run(own);
      return true;
    }
    if (!at.ready.push(own)) leave(*at.in, own);
  }
  task* found = take_left(*at.in, within);
  if (found == nullptr && at.in->size > 1) found = steal(at, within);
  if (found == nullptr) return false;
  run(found);
  return true;
}

bool cancelled(const task& one) {
  for (const taskgroup* group = one.group; group != nullptr; group = group->outer) {
    if (group->cancelled.load(memory_order_relaxed)) return true;
  }
  return one.of->cancelled.load(memory_order_relaxed);
}

void open_group(bool of_workshare) {
  task& mine = *self().current;
  auto* const group = new taskgroup;
  group->outer = mine.group;
  group->of_workshare = of_workshare;
  if (mine.group != nullptr) group->reductions = mine.group->reductions;
  mine.group = group;
}

void close_group(const void* returns_to) {
  statistics::used(construct::taskgroup);
  task& mine = *self().current;
  const std::unique_ptr<taskgroup> group(mine.group);
  // (3) in end_task()
  work_until([&] { return group->unfinished.load(memory_order_seq_cst) == 0; }, &mine,
             construct::taskgroup,
             in_program(returns_to, reinterpret_cast<const void*>(mine.function)));
  acquire(group.get());
  mine.group = group->outer;
}

void wait_for_children(const void* returns_to) {
  statistics::used(construct::taskwait);
  thread& mine = self();
  const task* const here = mine.current;
  if (here->children_ended()) {
    acquire(here);
    return;
  }
  const void* const from = in_program(returns_to, reinterpret_cast<const void*>(here->function));
  if (may_run_ahead()) {
    const auto have_ended = [](const prediction& children) {
      return static_cast<const task*>(children.of)->children_ended();
    };
    place& at = place_of(from);
    while (!here->children_ended() && run_one(here)) continue;
    if (!here->children_ended() && pays_at_taskwait(at) &&
        run_ahead(mine.ahead, {.made_at = &at, .came_true = have_ended, .of = here})) {
      return;
    }
  }
  work_until([&] { return here->children_ended(); }, here, construct::taskwait, from);
  acquire(here);
}

}  // namespace assay::omp
