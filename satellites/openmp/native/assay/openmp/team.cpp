#include "assay/openmp/team.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <ranges>
#include <thread>
#include <utility>

#include "assay/base/point.h"
#include "assay/openmp/affinity_format.h"
#include "assay/openmp/annotations.h"
#include "assay/openmp/dependences.h"
#include "assay/openmp/work.h"

namespace assay::omp {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local thread* this_thread = nullptr;

// Threads that wait to be needed or are about to, and teams that nobody uses. Neither is ever
// freed: a thread may still be about to leave a team that has ended.
struct reserve {
  std::mutex mutex;
  std::vector<thread*> threads;
  std::vector<thread*> ended;  // what is left of the program's own threads that have ended
  std::multimap<unsigned, team*> teams;
  bool stack_refused = false;   // said once
  bool thread_refused = false;  // said once
};

reserve& in_reserve() {
  static auto* const all = new reserve;
  return *all;
}

// At the end of a region: when all threads are there, and no task is left.
void end_region(member& mine) {
  team& in = *mine.in;
  const void* const region = reinterpret_cast<void*>(in.function);
  if (!mine.implicit_task.alone()) {
    work_until([&] { return mine.implicit_task.alone(); }, nullptr, construct::region_end, region);
  }
  acquire(&mine.implicit_task);
  release(&in.last);
  ASSAY_POINT("openmp_region_ends");
  const std::uint32_t epoch = in.last.arrive(mine.id);
  if (in.last.has_ended(epoch)) {
    in.news.tell();
  } else {
    work_until([&] { return in.last.has_ended(epoch); }, nullptr, construct::region_end, region);
  }
  acquire(&in.last);
}

// The master's seat, and from it those of the others, where threads are bound.
void seat_members(team& in, unsigned bind) {
  const member& around = *in.outer_member;
  const auto& by_level = process_settings().proc_bind;
  if (bind == binding::no)
    bind = by_level[std::min<std::size_t>(in.outer->level, by_level.size() - 1)];
  std::vector<seat> seats(in.size, around.at);
  assign_seats(seats, bind);
  for (unsigned i = 0; i < in.size; ++i) in.members[i]->at = seats[i];
}

// Binds the calling thread to its seat in a region that begins, and shows it, where that is wanted.
void take_seat(thread& mine, const member& as) {
  if (!places().empty() && mine.bound != as.at.place + 1) {
    bind_to(as.at.place);
    mine.bound = as.at.place + 1;
  }
  if (process_settings().display_affinity) display_affinity_once(mine);
}

void serve(thread& mine, member& as) {
  team& in = *as.in;
  mine.me = &as;
  mine.current = &as.implicit_task;
  in_teams.fetch_add(1, memory_order_relaxed);
  for (std::uint32_t seen = as.begun_before;; ++seen) {
    ASSAY_POINT("openmp_waits_for_region");
    // (1) with (2): what the master set.
    static const char between_regions = 0;  // one place for all
    wait_quietly(
        in.news, [&] { return in.begun.load(memory_order_seq_cst) != seen; }, &between_regions);
    if (in.disbanded.load(memory_order_relaxed)) break;
    acquire(&in.begun);
    take_seat(mine, as);
    in.function(in.data);
    static_cast<void>(enter());
    // NOLINTNEXTLINE(concurrency-mt-unsafe): it is the only thread
    if (mine.me != &as) std::exit(EXIT_SUCCESS);  // a forked child, as when its last thread ends
    end_region(as);
  }
  in_teams.fetch_sub(1, memory_order_relaxed);
  mine.me = nullptr;
  mine.current = nullptr;
  ASSAY_POINT("openmp_leaves_team");
  in.gone.fetch_add(1, memory_order_release);  // (3) with (4): the thread touches the team no more
}

void* work(void* given) {
  thread& mine = *static_cast<thread*>(given);
  this_thread = &mine;
  while (true) {
    mine.given.wait(nullptr, memory_order_acquire);  // with the release in give()
    ASSAY_POINT("openmp_has_a_seat");
    serve(mine, *mine.given.exchange(nullptr, memory_order_acquire));
  }
  return nullptr;
}

// Starts a thread, or says why not and returns null. With the reserve's mutex.
thread* start_thread(reserve& all) {
  auto fresh = std::make_unique<thread>();
  const auto start = [&](std::size_t stack) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t id{};
    int error = stack == 0 ? 0 : pthread_attr_setstacksize(&attributes, stack);
    if (error == 0) error = pthread_create(&id, &attributes, work, fresh.get());
    pthread_attr_destroy(&attributes);
    return error;
  };
  const std::size_t stack = all.stack_refused ? 0 : process_settings().stack_bytes;
  int error = start(stack);
  if (error != 0 && stack != 0) {
    all.stack_refused = true;
    std::fprintf(stderr,
                 "libassay-gomp: OMP_STACKSIZE: no thread can have a stack of %zu bytes (%s): "
                 "threads have the usual one\n",
                 stack,
                 std::strerror(error));  // NOLINT(concurrency-mt-unsafe): a moment of one thread
    error = start(0);
  }
  if (error == 0) return fresh.release();
  if (!std::exchange(all.thread_refused, true)) {
    std::fprintf(stderr,
                 "libassay-gomp: no further thread can be started (%s): teams are smaller than "
                 "asked for\n",
                 std::strerror(error));  // NOLINT(concurrency-mt-unsafe): the same
  }
  return nullptr;
}

// As many threads as can be had, up to `wanted`.
std::vector<thread*> take_threads(unsigned wanted) {
  std::vector<thread*> taken;
  reserve& all = in_reserve();
  const std::scoped_lock held(all.mutex);
  while (taken.size() < wanted && !all.threads.empty()) {
    taken.push_back(all.threads.back());
    all.threads.pop_back();
  }
  while (taken.size() < wanted) {
    thread* const fresh = start_thread(all);
    if (fresh == nullptr) break;
    taken.push_back(fresh);
  }
  return taken;
}

// Takes up to `wanted` threads, the caller being one of them, off what the thread limit leaves.
unsigned admit(team& root, unsigned wanted, unsigned limit) {
  // Relaxed: a count alone.
  unsigned at_work = root.at_work.load(memory_order_relaxed);
  unsigned granted = 0;
  do {
    granted = std::min(wanted - 1, limit - std::min(at_work + 1, limit));
  } while (!root.at_work.compare_exchange_weak(at_work, at_work + granted, memory_order_relaxed));
  return granted + 1;
}

// A team that nobody uses, of that size, or a new one.
team* take_team(unsigned size, member* of) {
  team* const around = of == nullptr ? nullptr : of->in;
  reserve& all = in_reserve();
  const std::scoped_lock held(all.mutex);
  const auto [first, last] = all.teams.equal_range(size);
  for (auto place = first; place != last; ++place) {
    // (4) with (3)
    if (place->second->gone.load(memory_order_acquire) != size - 1) continue;
    team* const free = place->second;
    all.teams.erase(place);
    free->around(around, of);
    return free;
  }
  auto* const made = new team(size);
  made->around(around, of);
  return made;
}

void give_back(team* ended) {
  reserve& all = in_reserve();
  const std::scoped_lock held(all.mutex);
  all.teams.emplace(ended->size, ended);
}

void disband(team* ended) {
  ended->disbanded.store(true, memory_order_relaxed);
  ASSAY_POINT("openmp_disbands");
  ended->begun.fetch_add(1, memory_order_seq_cst);  // (2) with (1)
  ended->news.tell();
  reserve& all = in_reserve();
  const std::scoped_lock held(all.mutex);
  // Though they are still about to leave: each finds then what it was given meanwhile.
  for (const auto& each : ended->members) {
    if (each->id != 0) all.threads.push_back(each->by);
  }
  all.teams.emplace(ended->size, ended);
}

// A team of `size` or, where no more threads can be had, fewer.
team* gather(unsigned size, thread& master) {
  const std::vector<thread*> threads = take_threads(size - 1);
  team* const made = take_team(static_cast<unsigned>(threads.size()) + 1, master.me);
  made->disbanded.store(false, memory_order_relaxed);
  made->gone.store(0, memory_order_relaxed);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    member& each = *made->members[i + 1];
    each.by = threads[i];
    each.begun_before = made->begun.load(memory_order_relaxed);
    threads[i]->given.store(&each, memory_order_release);  // with the acquire in work()
    threads[i]->given.notify_one();
  }
  return made;
}

// The variables of the implicit tasks of a region inside of `around`.
variables inside(const task& around, unsigned level) {
  variables icv = around.icv;
  const auto& by_level = process_settings().num_threads;
  if (level < by_level.size()) icv.num_threads = by_level[level];
  return icv;
}

variables first_variables() {
  const settings& set = process_settings();
  return {.num_threads = set.num_threads.empty() ? set.processors : set.num_threads.front(),
          .run_schedule = set.run_schedule,
          .max_active_levels = set.max_active_levels,
          .thread_limit = set.thread_limit,
          .default_device = set.default_device,
          .dynamic = set.dynamic};
}

void begin_implicit_task(member& each, const variables& icv, taskgroup* group) {
  task& implicit = each.implicit_task;
  implicit.children.store(task::whole, memory_order_relaxed);
  implicit.places.reset();
  implicit.group = group;
  implicit.function = each.in->function;
  implicit.icv = icv;
  implicit.final = false;
  each.singles = 0;
}

// What no thread has begun yet of a team's region.
void prepare_region(team& in, const variables& icv, taskgroup* group) {
  if (in.cancelled.load(memory_order_relaxed)) {
    in.cancelled.store(false, memory_order_relaxed);
    in.inner.forget();
    in.shared.reset();
    for (const auto& each : in.members) {
      each->workshares = 0;
      each->barriers = 0;
      each->loop = {};
    }
  }
  if (in.workshare_cancelled.load(memory_order_relaxed) != 0) {
    in.workshare_cancelled.store(0, memory_order_relaxed);
  }
  in.single.store(0, memory_order_relaxed);
  for (const auto& each : in.members) {
    begin_implicit_task(*each, icv, group);
    each->allocator =
        in.outer_member == nullptr ? process_settings().allocator : in.outer_member->allocator;
  }
}

// When a thread of the program's own ends: its team's threads, and what it was to the runtime, are
// for others.
void leave_runtime(void* value) {
  thread& mine = *static_cast<thread*>(value);
  static_cast<void>(enter());
  team* const alone = mine.me->in;
  if (alone->level != 0) return;  // it ends inside of a region, which nobody can end any more
  let_threads_go();
  if (mine.me->implicit_task.alone()) give_back(alone);
  mine.me = nullptr;
  mine.current = nullptr;
  mine.bound = 0;
  mine.displayed = 0;
  this_thread = nullptr;
  reserve& all = in_reserve();
  const std::scoped_lock held(all.mutex);
  all.ended.push_back(&mine);
}

thread* take_ended() {
  reserve& all = in_reserve();
  const std::scoped_lock held(all.mutex);
  if (all.ended.empty()) return new thread;
  thread* const taken = all.ended.back();
  all.ended.pop_back();
  return taken;
}

thread& adopt() {
  static const pthread_key_t at_end = [] {
    pthread_key_t key{};
    pthread_key_create(&key, leave_runtime);
    return key;
  }();
  thread* const mine = take_ended();
  this_thread = mine;
  pthread_setspecific(at_end, mine);
  team* const alone = take_team(1, nullptr);
  mine->me = alone->members.front().get();
  mine->me->by = mine;
  mine->me->at = {.place = 0, .first = 0, .count = static_cast<unsigned>(places().size())};
  mine->current = &mine->me->implicit_task;
  prepare_region(*alone, first_variables(), nullptr);
  if (!places().empty()) {
    bind_to(0);
    mine->bound = 1;
  }
  return *mine;
}

// Fork. A child has the thread that forked, and nobody else: wherever that is, it is alone in its
// teams, and has the tasks that nobody had begun. Those that other threads ran are lost: a child
// that waits for one waits for ever.
void before_fork() { in_reserve().mutex.lock(); }
void after_fork() { in_reserve().mutex.unlock(); }

// Tasks that nobody has begun. There is one thread, so that queues may be emptied from any end.
void take_over_tasks(team& from, team& to) {
  for (const auto& each : from.members) {
    while (task* const ready = each->ready.steal()) to.left.push_back(ready);
  }
  to.left.insert(to.left.end(), from.left.begin(), from.left.end());
  for (task* const each : to.left) each->of = &to;
  to.left_count.store(to.left.size(), memory_order_relaxed);
}

void after_fork_in_child() {
  reserve& all = in_reserve();
  all.threads.clear();
  all.teams.clear();
  all.mutex.unlock();
  in_teams.store(1, memory_order_relaxed);
  if (this_thread == nullptr) return;
  thread& mine = *this_thread;
  mine.kept = nullptr;
  std::vector<member*> inside_out;
  for (member* each = mine.me; each != nullptr; each = each->in->outer_member) {
    inside_out.push_back(each);
  }
  member* around = nullptr;
  const member* around_before = nullptr;
  for (member* const inner : inside_out | std::views::reverse) {
    member& before = *inner;
    team* const alone = before.in->size == 1 ? before.in : new team(1);
    task* interrupted = before.in->interrupted;
    if (around != nullptr && interrupted == &around_before->implicit_task) {
      interrupted = &around->implicit_task;
    }
    alone->around(around == nullptr ? nullptr : around->in, around);
    alone->interrupted = interrupted;
    member& now = *alone->members.front();
    if (&now != &before) {
      now.by = &mine;
      now.at = before.at;
      take_over_tasks(*before.in, *alone);
      prepare_region(*alone, before.implicit_task.icv, nullptr);
      if (mine.current == &before.implicit_task) mine.current = &now.implicit_task;
    }
    around = &now;
    around_before = &before;
  }
  if (around == nullptr) return;  // a thread that has left the runtime
  mine.me = around;
  outermost(*around->in).at_work.store(0, memory_order_relaxed);
}

[[gnu::constructor]] void prepare_for_forks() {
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

}  // namespace

team::team(unsigned threads) : size(threads), inner(threads), last(threads) {
  for (unsigned id = 0; id < threads; ++id) {
    members.push_back(std::make_unique<member>());
    members.back()->in = this;
    members.back()->id = id;
    members.back()->draws = detail::random_draws(id);
    members.back()->implicit_task.of = this;
  }
}

void team::around(team* team_around, member* as) {
  outer = team_around;
  outer_member = as;
  level = outer == nullptr ? 0 : outer->level + 1;
  active_level = outer == nullptr ? 0 : outer->active_level + (size > 1 ? 1 : 0);
}

thread& self() noexcept { return this_thread != nullptr ? *this_thread : adopt(); }

team& outermost(team& in) noexcept {
  team* found = &in;
  while (found->outer != nullptr) found = found->outer;
  return *found;
}

void let_threads_go() {
  if (team* const kept = std::exchange(self().kept, nullptr)) disband(kept);
}

unsigned team_size(unsigned asked) {
  const thread& mine = self();
  const variables& icv = mine.current->icv;
  if (asked == 1 || mine.me->in->active_level >= icv.max_active_levels) return 1;
  unsigned size = asked != 0 ? asked : icv.num_threads;
  if (icv.dynamic) size = std::min(size, process_settings().processors);
  return std::max(1U, std::min(size, icv.thread_limit));
}

void begin_parallel(void (*function)(void*), void* data, unsigned threads, unsigned bind,
                    taskgroup* group, const loop* first) {
  statistics::used(construct::parallel);
  thread& mine = self();
  const unsigned limit = mine.current->icv.thread_limit;
  const bool limited = limit != ~0U && threads > 1;
  if (limited) threads = admit(outermost(*mine.me->in), threads, limit);
  const unsigned admitted = limited ? threads - 1 : 0;
  team* in = nullptr;
  const bool outermost_region = mine.me->in->level == 0;
  if (outermost_region && mine.kept != nullptr && mine.kept->size == threads) {
    in = mine.kept;
  } else {
    if (outermost_region && threads > 1) let_threads_go();
    in = threads == 1 ? take_team(1, mine.me) : gather(threads, mine);
    if (outermost_region && in->size > 1) mine.kept = in;
  }
  in->function = function;
  in->data = data;
  in->admitted = admitted;
  in->interrupted = mine.current;
  prepare_region(*in, inside(*mine.current, in->level), group);
  if (first != nullptr) bring_to(*in, *first);
  if (!places().empty()) seat_members(*in, bind);
  member& master = *in->members.front();
  master.by = &mine;
  mine.me = &master;
  mine.current = &master.implicit_task;
  if (in->size > 1) {
    release(&in->begun);
    ASSAY_POINT("openmp_region_begins");
    in->begun.fetch_add(1, memory_order_seq_cst);  // (2) with (1)
    in->news.tell();
  }
  take_seat(mine, master);
}

void end_parallel() {
  thread& mine = self();
  team* const in = mine.me->in;
  end_region(*mine.me);
  mine.current = in->interrupted;
  mine.me = in->outer_member;
  if (in->admitted != 0) {
    outermost(*mine.me->in).at_work.fetch_sub(std::exchange(in->admitted, 0), memory_order_relaxed);
  }
  if (in == mine.kept) return;
  if (in->size == 1) {
    give_back(in);
  } else {
    disband(in);
  }
}

void run_parallel(void (*function)(void*), void* data, unsigned threads, unsigned bind,
                  taskgroup* group, const loop* first) {
  begin_parallel(function, data, threads, bind, group, first);
  function(data);
  static_cast<void>(enter());
  end_parallel();
}

bool wait_at_barrier(const void* returns_to, bool cancellable) {
  const auto is_over = [](const prediction& epoch) {
    return static_cast<const barrier*>(epoch.of)->has_ended(epoch.number);
  };
  thread& mine = self();
  member& as = *mine.me;
  team& in = *as.in;
  statistics::used(construct::barrier);
  const void* const from =
      in_program(returns_to, reinterpret_cast<const void*>(as.implicit_task.function));
  const auto cancelled = [&] { return cancellable && in.cancelled.load(memory_order_seq_cst); };
  if (!as.implicit_task.alone()) {
    work_until([&] { return as.implicit_task.alone(); }, nullptr, construct::barrier, from);
  }
  if (cancelled()) return true;
  ++as.barriers;
  if (in.size == 1) return false;
  place* const at = may_run_ahead() ? &place_of(from) : nullptr;
  acquire(&as.implicit_task);
  release(&in.inner);
  const std::uint32_t epoch = in.inner.arrive(as.id);
  if (at != nullptr && as.id == 0) record_arrival(*at, epoch);
  if (in.inner.has_ended(epoch)) {
    in.news.tell();
  } else {
    const auto passed = [&] { return in.inner.has_ended(epoch) || cancelled(); };
    if (at != nullptr && pays_at_barrier(*at)) {
      while (!passed() && run_one(nullptr)) continue;
      const prediction passes{
          .made_at = at, .came_true = is_over, .of = &in.inner, .number = epoch};
      if (!passed() && run_ahead(mine.ahead, passes)) return false;
    }
    work_until(passed, nullptr, construct::barrier, from);
  }
  acquire(&in.inner);
  return cancelled();
}

}  // namespace assay::omp
