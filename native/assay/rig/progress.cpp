#include "assay/rig/progress.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <utility>

#include "assay/random/splitmix64.h"
#include "assay/rig/disturbance.h"
#include "assay/rig/history.h"
#include "assay/rig/map_failures.h"
#include "assay/rig/questions.h"
#include "assay/rig/watchdog.h"
#include "assay/sync/point.h"
#include "assay/trial/crew.h"

namespace assay::rig {
namespace {

using workload::operation;

constexpr unsigned threads = 4;
// So many points within one operation, while no thread completes any, mean that it waits: for the
// suspended thread if all others wait as well or have nothing left to do, else perhaps for one that
// has lost its processor.
constexpr std::uint64_t without_end = 50'000;
// Who is suspended.
constexpr int nobody_yet = -1;
constexpr int nobody = -2;

// What the threads have in common while one of them is suspended. Sequentially consistent
// throughout: here an order that tests do not need does no harm.
struct stage {
  std::string_view point;
  std::uint64_t passed_by;  // threads that reach the point before one is suspended there
  std::atomic<std::uint64_t> arrivals{0};
  std::atomic<int> suspended{nobody_yet};
  std::atomic<bool> released{false};
  std::atomic<unsigned> done{0};                  // threads that have completed their operations
  std::atomic<std::uint64_t> completed{1};        // operations of all threads, and one
  std::array<std::atomic<bool>, threads> idle{};  // it is one of those done
  // What `completed` was when the thread was found to wait.
  std::array<std::atomic<std::uint64_t>, threads> waits_since{};
  std::atomic<bool> anyone_waited{false};
  std::optional<question> waited{};  // written by the thread that set anyone_waited
  std::counting_semaphore<> over{0};

  // One of the others has done what it was asked, or all that it can.
  void complete(int index) {
    idle.at(static_cast<std::size_t>(index)) = true;
    if (++done == threads - 1) release();
  }
  // Whether nobody is left who could end the waiting of the others but the suspended thread.
  bool all_wait_since(std::uint64_t operations) const {
    for (std::size_t i = 0; i < threads; ++i) {
      if (std::cmp_not_equal(i, suspended.load()) && !idle.at(i) && waits_since.at(i) != operations)
        return false;
    }
    return completed == operations;
  }
  void release() {
    if (released.exchange(true)) return;
    released.notify_all();
    over.release();
  }
};

struct actor {
  stage* on;
  int index;
  disturbance noise;
  const std::vector<operation>& afterwards;  // what is asked once a thread is suspended
  question asked{};
  bool late = false;  // half its attempts to reach the point are over: any arrival will do
  // Points in the operation at hand, while a thread is suspended and no operation completes.
  std::uint64_t passed = 0;
  std::uint64_t completed_before = 0;  // operations
  bool completed = false;

  void wait_without_end() {
    const bool is_asked = std::ranges::find(afterwards, asked.kind) != afterwards.end();
    if (completed) return;
    if (!is_asked) {
      // Begun before the thread was suspended: this thread stays where it is.
      completed = true;
      on->complete(index);
      return;
    }
    on->waits_since.at(static_cast<std::size_t>(index)) = completed_before;
    if (on->all_wait_since(completed_before) && !on->anyone_waited.exchange(true)) {
      on->waited = asked;
      on->release();
    }
  }
};

thread_local actor* this_actor = nullptr;

void act_at(const char* point) {
  actor* const me = this_actor;
  if (me == nullptr) return;
  stage& on = *me->on;
  if (on.suspended.load() == nobody_yet && point == on.point &&
      (on.arrivals++ >= on.passed_by || me->late)) {
    int expected = nobody_yet;
    if (on.suspended.compare_exchange_strong(expected, me->index)) {
      on.released.wait(false);
      return;
    }
  }
  if (on.suspended.load() >= 0) {
    const std::uint64_t operations = on.completed.load();
    if (operations != me->completed_before) me->passed = 0;
    me->completed_before = operations;
    if (++me->passed % without_end == 0) me->wait_without_end();
  }
  // One that waits need not be slowed down.
  if (me->passed < 1000) me->noise.strike();
}

// While it lives, this thread acts as `me` at the points.
class acting_as {
 public:
  explicit acting_as(actor& me) { this_actor = &me; }
  ~acting_as() { this_actor = nullptr; }
  acting_as(const acting_as&) = delete;
  acting_as& operator=(const acting_as&) = delete;
};

class hooked {
 public:
  explicit hooked(sync::point_hook hook) { sync::at_points.store(hook); }
  ~hooked() { sync::at_points.store(nullptr); }
  hooked(const hooked&) = delete;
  hooked& operator=(const hooked&) = delete;
};

// How many times each key was inserted, less how many times it was erased.
using balance = std::vector<std::int64_t>;

void count(balance& sums, const question& asked, const answer& answered) {
  const bool* const succeeded = std::get_if<bool>(&answered);
  if (succeeded == nullptr || !*succeeded) return;
  sums.at(asked.key - 1) += asked.kind == operation::insert ? 1 : -1;
}

// What is wrong if `held` is what operations of these sums left.
std::string problem_with(const balance& sums, const std::vector<element>& held) {
  const std::size_t keys = sums.size();
  balance found(keys);
  for (const auto& [key, value] : held) {
    if (key == 0 || key > keys) return "it holds " + std::to_string(key) + ", never inserted";
    ++found.at(key - 1);
  }
  for (std::size_t i = 0; i < keys; ++i) {
    if (found.at(i) != sums.at(i)) {
      return "it holds key " + std::to_string(i + 1) + " " + std::to_string(found.at(i)) +
             " times, and was told to hold it " + std::to_string(sums.at(i)) + " times";
    }
  }
  return "";
}

// One thread: any operations until some thread is suspended, then as many as are asked for.
void act(actor& me, any_handle& handle, const std::vector<operation>& offered,
         const suspending& asked, std::uint64_t seed, balance& sums,
         std::atomic<std::uint64_t>& operations) {
  stage& on = *me.on;
  random::splitmix64 draw(seed);
  std::uint64_t attempts = asked.attempts;
  std::uint64_t left = asked.operations;
  while (!on.released.load() && left > 0) {
    const bool suspended = on.suspended.load() >= 0;
    if (suspended) {
      --left;
    } else if (attempts-- == 0) {
      int expected = nobody_yet;
      on.suspended.compare_exchange_strong(expected, nobody);
      if (on.suspended.load() == nobody) break;
      continue;
    }
    me.passed = 0;
    me.late = 2 * attempts < asked.attempts;
    me.asked = draw_question(draw, suspended ? me.afterwards : offered, asked.keys);
    count(sums, me.asked, handle.ask(me.asked));
    ++operations;
    ++on.completed;
  }
}

// The same, with its end told to the others. The suspended thread comes to it only once it has been
// released. Says what the map threw, if it did.
std::string act_to_end(actor& me, any_handle& handle, const std::vector<operation>& offered,
                       const suspending& asked, std::uint64_t seed, balance& sums,
                       std::atomic<std::uint64_t>& operations) {
  std::string failure;
  try {
    act(me, handle, offered, asked, seed, sums, operations);
  } catch (const std::exception& error) {
    failure = to_string(me.asked) + " threw an exception: " + error.what();
  } catch (...) {
    failure = to_string(me.asked) + " threw something that is not a std::exception";
  }
  if (!me.completed) me.on->complete(me.index);
  if (me.on->suspended.load() == nobody || !failure.empty()) me.on->release();
  return failure;
}

std::mutex passed_mutex;
std::set<std::string, std::less<>> passed_points;  // guarded by passed_mutex

void take_note(const char* point) {
  if (this_actor == nullptr) return;
  {
    const std::scoped_lock lock(passed_mutex);
    if (!passed_points.contains(std::string_view(point))) passed_points.emplace(point);
  }
  this_actor->noise.strike();
}

// Runs `act_in(i, handle)` in all threads, each with a handle of its own.
template <class Act>
void in_all(trial::crew& crew, any_map& map, Act act_in) {
  crew.start([&map, act_in](unsigned i) {
    const auto handle = map.attach();
    act_in(i, *handle);
  });
}

std::vector<std::string> names_passed(const trial::subject_entry& subject, std::uint64_t seed,
                                      watchdog& watch) {
  constexpr std::uint64_t operations = 20'000;
  constexpr std::uint64_t keys = suspending{}.keys;
  const auto map = watch.over(subject.open({.key_range = keys, .threads = threads}));
  const hooked noted(take_note);
  trial::crew crew(threads);
  in_all(crew, *map, [&](unsigned i, any_handle& handle) {
    random::splitmix64 draw(random::derive_seed(seed, i));
    actor me{.on = nullptr,
             .index = static_cast<int>(i),
             .noise = disturbance(draw()),
             .afterwards = subject.operations};
    const acting_as role(me);
    for (std::uint64_t n = 0; n < operations; ++n) {
      handle.ask(draw_question(draw, subject.operations, keys));
    }
  });
  crew.wait();
  const std::scoped_lock lock(passed_mutex);
  std::vector<std::string> points(passed_points.begin(), passed_points.end());
  passed_points.clear();
  return points;
}

suspension suspend_once(const trial::subject_entry& subject, std::string_view point,
                        const suspending& asked, watchdog& watch) {
  watch.note("  one was to be suspended at " + std::string(point));
  const auto map = watch.over(subject.open({.key_range = asked.keys, .threads = threads}));
  // 0 to 127, as often a few as many.
  const std::uint64_t passed_by =
      (std::uint64_t{1} << random::derive_seed(asked.seed, threads) % 8) - 1;
  stage on{.point = point, .passed_by = passed_by};
  std::array<balance, threads> sums;
  sums.fill(balance(asked.keys));
  std::array<std::string, threads> failures{};
  std::atomic<std::uint64_t> operations{0};
  suspension seen;
  {
    const hooked acting(act_at);
    trial::crew crew(threads);
    in_all(crew, *map, [&](unsigned i, any_handle& handle) {
      const std::uint64_t seed = random::derive_seed(asked.seed, i);
      actor me{.on = &on,
               .index = static_cast<int>(i),
               .noise = disturbance(random::derive_seed(seed, 0)),
               .afterwards = asked.others.empty() ? subject.operations : asked.others};
      const acting_as role(me);
      failures.at(i) =
          act_to_end(me, handle, subject.operations, asked, seed, sums.at(i), operations);
    });
    if (!on.over.try_acquire_for(patience() / 2)) {
      seen.problem = "the others did nothing until the suspended thread went on";
    }
    on.release();
    crew.wait();
  }
  seen.reached = on.suspended.load() >= 0;
  seen.waited = on.waited;
  seen.operations = operations.load();
  balance total(asked.keys);
  for (const auto& of_thread : sums) {
    std::ranges::transform(total, of_thread, total.begin(), std::plus());
  }
  for (const std::string& failure : failures) {
    if (seen.problem.empty()) seen.problem = failure;
  }
  if (seen.problem.empty()) seen.problem = map->broken_invariant().value_or("");
  if (seen.problem.empty()) seen.problem = problem_with(total, map->walk(4 * asked.keys));
  watch.note("");
  return seen;
}

watchdog watching(const trial::subject_entry& subject, std::uint64_t seed) {
  return watchdog({.check = "progress", .map = subject.name, .seed = seed});
}

}  // namespace

std::vector<std::string> points_passed(const trial::subject_entry& subject, std::uint64_t seed) {
  watchdog watch = watching(subject, seed);
  return telling_failures(subject.name, seed, [&] { return names_passed(subject, seed, watch); });
}

suspension suspend_at(const trial::subject_entry& subject, std::string_view point,
                      const suspending& asked) {
  watchdog watch = watching(subject, asked.seed);
  return suspend_once(subject, point, asked, watch);
}

std::vector<std::string> points_marked_in(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  std::string source;  // without comments
  for (std::string line; std::getline(in, line);) source += line.substr(0, line.find("//")) + '\n';
  std::set<std::string> points;
  constexpr std::string_view mark = "ASSAY_POINT(";
  for (std::size_t at = source.find(mark); at != std::string::npos;
       at = source.find(mark, at + 1)) {
    const std::size_t quote = source.find_first_not_of(" \n", at + mark.size());
    if (quote == std::string::npos || source[quote] != '"') continue;  // where it is defined
    points.insert(source.substr(quote + 1, source.find('"', quote + 1) - quote - 1));
  }
  return {points.begin(), points.end()};
}

progress_found check_progress(const trial::subject_entry& subject, std::uint64_t seed) {
  constexpr unsigned times = 3;        // at each point
  constexpr unsigned most_times = 20;  // if it is not always reached
  watchdog watch = watching(subject, seed);
  std::set<std::string> points;
  for (unsigned i = 0; i < times; ++i) {
    const auto more = telling_failures(subject.name, seed, [&] {
      return names_passed(subject, random::derive_seed(seed, i), watch);
    });
    points.insert(more.begin(), more.end());
  }
  progress_found found;
  for (const std::string& point : points) {
    std::optional<question> waited;
    std::string problem;
    unsigned reached = 0;
    for (unsigned i = 0; i < most_times && reached < times && problem.empty(); ++i) {
      const auto seen =
          suspend_once(subject, point, {.seed = random::derive_seed(seed, times + i)}, watch);
      reached += seen.reached;
      found.operations += seen.operations;
      if (!waited) waited = seen.waited;
      problem = seen.problem;
    }
    found.any_points = found.any_points || reached > 0;
    const std::string others =
        waited ? to_string(*waited) + " waits for the suspended thread" : "all others go on";
    found.lines.push_back(point + ": " + (reached > 0 ? others : "not reached again") +
                          (problem.empty() ? "" : "; " + problem));
    found.passed = found.passed && problem.empty() && !(subject.lock_free && waited);
  }
  return found;
}

}  // namespace assay::rig
