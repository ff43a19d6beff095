#include "assay/rig/progress.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
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
#include "assay/sync/point.h"
#include "assay/trial/crew.h"

namespace assay::rig {
namespace {

using workload::operation;

constexpr unsigned threads = 4;
constexpr std::uint64_t keys = 8;
// So many points within one operation, while no thread completes any, mean that it waits: for the
// suspended thread if all others wait as well or have nothing left to do, else perhaps for one that
// has lost its processor.
constexpr std::uint64_t without_end = 50'000;
constexpr std::chrono::seconds patience{60};

// Who is suspended.
constexpr int nobody_yet = -1;
constexpr int nobody = -2;

// What the threads have in common while one of them is suspended. Sequentially consistent
// throughout: here an order that tests do not need does no harm.
struct stage {
  std::string_view point;
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
  if (on.suspended.load() == nobody_yet && point == on.point) {
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

class hooked {
 public:
  explicit hooked(sync::point_hook hook) { sync::at_points.store(hook); }
  ~hooked() { sync::at_points.store(nullptr); }
  hooked(const hooked&) = delete;
  hooked& operator=(const hooked&) = delete;
};

question draw_question(random::splitmix64& draw, const std::vector<operation>& kinds) {
  return {.kind = kinds[draw() % kinds.size()], .key = 1 + draw() % keys, .value = draw() >> 1};
}

const std::vector<operation> basic{operation::insert, operation::erase, operation::find};

// How many times each key was inserted, less how many times it was erased.
using balance = std::array<std::int64_t, keys>;

void count(balance& sums, const question& asked, const answer& answered) {
  const bool* const succeeded = std::get_if<bool>(&answered);
  if (succeeded == nullptr || !*succeeded) return;
  sums.at(asked.key - 1) += asked.kind == operation::insert ? 1 : -1;
}

// What is wrong if `held` is what operations of these sums left.
std::string problem_with(const balance& sums, const std::vector<element>& held) {
  balance found{};
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
void act(actor& me, any_handle& handle, const suspending& asked, std::uint64_t seed, balance& sums,
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
    me.asked = draw_question(draw, suspended ? me.afterwards : basic);
    count(sums, me.asked, handle.ask(me.asked));
    ++operations;
    ++on.completed;
  }
  // The suspended thread comes here only once it has been released.
  if (!me.completed) on.complete(me.index);
  if (on.suspended.load() == nobody) on.release();
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

}  // namespace

std::vector<std::string> points_passed(const trial::subject_entry& subject, std::uint64_t seed) {
  constexpr std::uint64_t operations = 20'000;
  const auto map = subject.open({.key_range = keys, .threads = threads});
  const hooked noted(take_note);
  trial::crew crew(threads);
  in_all(crew, *map, [&](unsigned i, any_handle& handle) {
    random::splitmix64 draw(random::derive_seed(seed, i));
    actor me{.on = nullptr,
             .index = static_cast<int>(i),
             .noise = disturbance(draw()),
             .afterwards = basic};
    this_actor = &me;
    for (std::uint64_t n = 0; n < operations; ++n) handle.ask(draw_question(draw, basic));
    this_actor = nullptr;
  });
  crew.wait();
  const std::scoped_lock lock(passed_mutex);
  std::vector<std::string> points(passed_points.begin(), passed_points.end());
  passed_points.clear();
  return points;
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

suspension suspend_at(const trial::subject_entry& subject, std::string_view point,
                      const suspending& asked) {
  const auto map = subject.open({.key_range = keys, .threads = threads});
  stage on{.point = point};
  std::array<balance, threads> sums{};
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
               .afterwards = asked.others.empty() ? basic : asked.others};
      this_actor = &me;
      act(me, handle, asked, seed, sums.at(i), operations);
      this_actor = nullptr;
    });
    if (!on.over.try_acquire_for(patience)) seen.problem = "its threads did nothing for a minute";
    on.release();
    crew.wait();
  }
  seen.reached = on.suspended.load() >= 0;
  seen.waited = on.waited;
  seen.operations = operations.load();
  balance total{};
  for (const auto& of_thread : sums) {
    std::ranges::transform(total, of_thread, total.begin(), std::plus());
  }
  if (seen.problem.empty()) seen.problem = problem_with(total, map->walk(4 * keys));
  return seen;
}

}  // namespace assay::rig
