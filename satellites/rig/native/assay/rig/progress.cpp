#include "assay/rig/progress.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <utility>

#include "assay/base/point.h"
#include "assay/input/message.h"
#include "assay/measure/crew.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/history.h"
#include "assay/rig/interfere/disturbance.h"
#include "assay/rig/interfere/preemption.h"
#include "assay/rig/map_failures.h"
#include "assay/rig/questions.h"
#include "assay/rig/watch/thread_state.h"
#include "assay/rig/watch/watchdog.h"

namespace assay::rig {
namespace {

using subject::any_handle;
using subject::subject_entry;
using workload::operation;

constexpr unsigned threads = 4;
// This many points within one operation, while no thread completes any, mean that it waits: for the
// suspended thread if all others wait as well or have nothing left to do, else perhaps for one that
// has lost its processor.
constexpr std::uint64_t without_end = 50'000;
// An amount of processor time and a number of turns mean the same where there are no
// points, or where a thread that waits yields at each of them: on a busy machine that costs it some
// milliseconds each time, and hardly any time of a processor. On an idle one turns are over in a
// microsecond, and a long operation that is disturbed takes many.
constexpr std::uint64_t long_ns = 200'000'000;
constexpr std::uint64_t many_turns = 100;
// Who is suspended.
constexpr int nobody_yet = -1;
constexpr int nobody = -2;

// What the threads have in common while one of them is suspended. Sequentially consistent
// throughout: here an order that tests do not need does no harm.
struct stage {
  std::string_view point;   // empty for anywhere
  std::uint64_t passed_by;  // threads that reach the point before one is suspended there
  std::atomic<std::uint64_t> arrivals{0};
  std::atomic<int> suspended{nobody_yet};
  std::atomic<bool> released{false};
  std::atomic<unsigned> done{0};                  // threads that have completed their operations
  std::atomic<std::uint64_t> completed{1};        // operations of all threads, and one
  std::array<std::atomic<bool>, threads> idle{};  // it is one of those done
  std::array<std::atomic<pid_t>, threads> thread{};
  // What `completed` was when the thread had passed points without end, and the last of them.
  std::array<std::atomic<std::uint64_t>, threads> circles_since{};
  std::array<std::atomic<const char*>, threads> circles_at{};
  std::counting_semaphore<> over{0};

  // One of the others has done what it was asked, or all that it can.
  void complete(std::size_t index) {
    if (idle.at(index).exchange(true)) return;
    if (++done == threads - 1) release();
  }
  void release() {
    if (released.exchange(true)) return;
    released.notify_all();
    over.release();
  }
  bool suspend(int index) {
    int expected = nobody_yet;
    return suspended.compare_exchange_strong(expected, index);
  }
};

struct actor {
  stage* on;
  int index;
  disturbance noise;
  const std::vector<operation>& afterwards;  // what is asked once a thread is suspended
  subject::question asked{};
  bool late = false;  // half its attempts to reach the point are over: any arrival will do
  // How many operations others complete at each point of the one at hand, if they can.
  std::uint64_t behind = 0;
  std::atomic<bool> inside = false;  // of the map; read by a signal's handler in the same thread
  // Points in the operation at hand, while a thread is suspended and no operation completes.
  std::uint64_t passed = 0;
  std::uint64_t completed_before = 0;  // operations
};

thread_local actor* this_actor = nullptr;

// What is passed only by an operation that others get ahead of again and again, such as a snapshot
// that takes to locks after eight attempts and then finds changed what it is to lock, is passed so.
void fall_behind(const actor& me) {
  constexpr unsigned most_looks = 500;  // some 20 us: the others may all wait for a processor
  const std::uint64_t enough = me.on->completed.load() + me.behind;
  for (unsigned i = 0; i < most_looks && me.on->completed.load() < enough; ++i) pause_processor();
}

void act_at(const char* point) {
  actor* const me = this_actor;
  if (me == nullptr) return;
  stage& on = *me->on;
  if (on.suspended.load() == nobody_yet && point == on.point &&
      (on.arrivals++ >= on.passed_by || me->late) && on.suspend(me->index)) {
    on.released.wait(false);
    return;
  }
  if (on.suspended.load() >= 0) {
    const std::uint64_t operations = on.completed.load();
    if (operations != me->completed_before) me->passed = 0;
    me->completed_before = operations;
    if (++me->passed % without_end == 0) {
      const auto index = static_cast<std::size_t>(me->index);
      on.circles_at.at(index) = point;
      on.circles_since.at(index) = operations;
    }
  }
  if (me->behind > 0 && on.suspended.load() == nobody_yet) fall_behind(*me);
  // One that waits need not be slowed down.
  if (me->passed < 1000) me->noise.strike();
}

// In a signal's handler, where few functions may be called: so it looks again and again whether it
// may go on. Says whether that was all.
bool stop_anywhere() {
  actor* const me = this_actor;
  if (me == nullptr || !me->inside.load(std::memory_order_relaxed)) return false;
  stage& on = *me->on;
  if (on.suspended.load() != nobody_yet) return true;
  if (on.arrivals++ < on.passed_by || !on.suspend(me->index)) return false;
  while (!on.released.load()) {
    const struct timespec a_while{.tv_sec = 0, .tv_nsec = 200'000};
    nanosleep(&a_while, nullptr);
  }
  return true;
}

// Looks at the threads from outside while one is suspended.
class onlooker {
 public:
  struct waiting {
    watchdog::call call{};
    std::string how{};
  };

  onlooker(stage& on, const watchdog& watch, const std::vector<operation>& afterwards)
      : on_(on), watch_(watch), afterwards_(afterwards) {}

  // An operation that waits, if nobody can end that but the suspended thread.
  std::optional<waiting> look() {
    if (on_.suspended.load() < 0) return {};
    const std::uint64_t operations = on_.completed.load();
    const unsigned done = on_.done.load();
    const bool still = operations == operations_ && done == done_;
    operations_ = operations;
    done_ = done;
    if (!still) since_ = std::chrono::steady_clock::now();
    bool all = still;
    std::vector<waiting> found;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < threads; ++i) {
      if (std::cmp_equal(i, on_.suspended.load()) || on_.idle.at(i)) continue;
      const std::string how = how_it_waits(i, still);
      all = all && !how.empty();
      found.push_back({call_of(on_.thread.at(i)), how});
      who.push_back(i);
    }
    if (!all || on_.completed.load() != operations) return {};
    for (std::size_t n = 0; n < who.size(); ++n) {
      const auto& asked = found.at(n).call.asked;
      if (asked && std::ranges::find(afterwards_, asked->kind) != afterwards_.end()) {
        return found.at(n);
      }
    }
    // All of these began before the thread was suspended: they stay where they are.
    for (const std::size_t i : who) on_.complete(i);
    return {};
  }
  // For how long nothing has been completed since the thread was suspended.
  [[nodiscard]] std::chrono::steady_clock::duration in_vain() const {
    return since_ ? std::chrono::steady_clock::now() - *since_
                  : std::chrono::steady_clock::duration();
  }
  [[nodiscard]] watchdog::call call_of(pid_t thread) const {
    for (auto& call : watch_.calls()) {
      if (call.thread == thread && !call.inside_of.empty()) return call;
    }
    return {};
  }

 private:
  // Empty if it may yet go on.
  std::string how_it_waits(std::size_t i, bool still) {
    const thread_state now = state_of(on_.thread.at(i));
    const thread_state before = std::exchange(last_.at(i), now);
    if (!still || !first_.at(i).known) {
      first_.at(i) = now;
      asleep_since_.at(i) = std::chrono::steady_clock::now();
      return "";
    }
    if (on_.circles_since.at(i) == operations_) {
      return std::string("passing ") + on_.circles_at.at(i).load() + " again and again";
    }
    if (!sleeps_since(before, now)) asleep_since_.at(i) = std::chrono::steady_clock::now();
    const bool long_asleep =
        std::chrono::steady_clock::now() - asleep_since_.at(i) > std::chrono::seconds(1);
    if (sleeps_since(before, now) && (now.by_lock || long_asleep)) return "asleep";
    if (now.ran_ns - first_.at(i).ran_ns > long_ns) return "busy all the time";
    if (now.switches - first_.at(i).switches > many_turns &&
        in_vain() > std::chrono::nanoseconds(long_ns)) {
      return "running again and again in vain";
    }
    return "";
  }

  stage& on_;
  const watchdog& watch_;
  const std::vector<operation>& afterwards_;
  std::uint64_t operations_ = 0;  // completed, as of the last look
  unsigned done_ = 0;
  std::optional<std::chrono::steady_clock::time_point> since_{};  // of the last change in either
  std::array<thread_state, threads> first_{};                     // since then
  std::array<thread_state, threads> last_{};
  std::array<std::chrono::steady_clock::time_point, threads> asleep_since_{};
};

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
  explicit hooked(sync::point_hook hook) { sync::at_points.store(hook, std::memory_order_release); }
  ~hooked() { sync::at_points.store(nullptr, std::memory_order_release); }
  hooked(const hooked&) = delete;
  hooked& operator=(const hooked&) = delete;
};

// How many times each key was inserted, less how many times it was erased.
using balance = std::map<std::uint64_t, std::int64_t>;

void count(balance& sums, const subject::question& asked, const subject::answer& answered) {
  if (const int change = change_by(asked, answered)) sums.at(asked.key) += change;
}

// What is wrong if `held` is what operations of these sums left.
std::string problem_with(const balance& sums, const std::vector<subject::element>& held) {
  balance found;
  for (const auto& [key, value] : held) {
    if (!sums.contains(key)) return "it holds " + std::to_string(key) + ", never inserted";
    ++found[key];
  }
  for (const auto& [key, sum] : sums) {
    if (found[key] != sum) {
      return "it holds key " + std::to_string(key) + " " + std::to_string(found[key]) +
             " times, and was told to hold it " + std::to_string(sum) + " times";
    }
  }
  return "";
}

// One operation in 32 has one.
std::uint64_t draw_behind(random::splitmix64& draw) {
  const std::uint64_t drawn = draw();
  return drawn % 32 == 0 ? 1 + (drawn >> 32) % 8 : 0;
}

// One thread: any operations until some thread is suspended, then as many as are asked for.
void act(actor& me, any_handle& handle, const std::vector<operation>& offered,
         const asked_about& about, const suspending& asked, std::uint64_t seed, balance& sums,
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
      on.suspend(nobody);
      if (on.suspended.load() == nobody) break;
      continue;
    }
    me.passed = 0;
    me.late = 2 * attempts < asked.attempts;
    me.behind = me.late ? draw_behind(draw) : 0;
    me.asked = draw_question(draw, suspended ? me.afterwards : offered, about);
    me.inside.store(true, std::memory_order_relaxed);
    const subject::answer answered = handle.ask(me.asked);
    me.inside.store(false, std::memory_order_relaxed);
    count(sums, me.asked, answered);
    ++operations;
    ++on.completed;
  }
}

// The same, and announces its end to the others. The suspended thread comes to it only once it has
// been released. Says what the map threw, if it did.
std::string act_to_end(actor& me, any_handle& handle, const std::vector<operation>& offered,
                       const asked_about& about, const suspending& asked, std::uint64_t seed,
                       balance& sums, std::atomic<std::uint64_t>& operations) {
  std::string failure;
  me.on->thread.at(static_cast<std::size_t>(me.index)) = gettid();
  try {
    std::optional<interruption> somewhere;
    if (me.on->point.empty() && me.index == 0) somewhere.emplace(seed, stop_anywhere);
    act(me, handle, offered, about, asked, seed, sums, operations);
  } catch (const std::exception& error) {
    failure = to_string(me.asked) + " threw an exception: " + input::message(error.what());
  } catch (...) {
    failure = to_string(me.asked) + " threw something that is not a std::exception";
  }
  me.inside.store(false, std::memory_order_relaxed);
  me.on->complete(static_cast<std::size_t>(me.index));
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
  if (this_actor->behind > 0) fall_behind(*this_actor);
  this_actor->noise.strike();
}

// Runs `act_in(i, handle)` in all threads, each with a handle of its own.
template <class Act>
void in_all(measure::crew& crew, subject::any_map& map, Act act_in) {
  crew.start([&map, act_in](unsigned i) {
    const auto handle = map.attach();
    act_in(i, *handle);
  });
}

std::vector<std::string> names_passed(const subject_entry& subject, std::uint64_t seed,
                                      std::chrono::steady_clock::time_point end, watchdog& watch) {
  constexpr std::uint64_t operations = 20'000;
  constexpr std::uint64_t in_any_case = 1000;
  const subject::held_types& types = subject.types.front();
  const auto about = asked_about::of(subject, types, suspending{}.keys, true);
  const auto map = watch.over(build_as(types, about.keys.size(), threads));
  stage on{.point = {}, .passed_by = 0};
  const hooked noted(take_note);
  measure::crew crew(threads);
  in_all(crew, *map, [&](unsigned i, any_handle& handle) {
    random::splitmix64 draw(random::derive_seed(seed, i));
    actor me{.on = &on,
             .index = static_cast<int>(i),
             .noise = disturbance(draw()),
             .afterwards = subject.operations};
    const acting_as role(me);
    for (std::uint64_t n = 0; n < operations; ++n, ++on.completed) {
      if (n >= in_any_case && std::chrono::steady_clock::now() > end) break;
      me.behind = draw_behind(draw);
      handle.ask(draw_question(draw, subject.operations, about));
    }
  });
  crew.wait();
  const std::scoped_lock lock(passed_mutex);
  std::vector<std::string> points(passed_points.begin(), passed_points.end());
  passed_points.clear();
  return points;
}

suspension suspend_once(const subject_entry& subject, std::string_view point,
                        const suspending& asked, watchdog& watch) {
  watch.note("  one was to be suspended " +
             (point.empty() ? "anywhere" : "at " + std::string(point)));
  // Every other time keys are at the ends of their type, and half of these times they are of the
  // last type that the map holds: strings, if it holds any.
  const std::uint64_t luck = random::derive_seed(asked.seed, threads + 1);
  const bool at_ends = luck % 2 == 0;
  const subject::held_types& types = luck % 4 == 0 ? subject.types.back() : subject.types.front();
  const auto about = asked_about::of(subject, types, at_ends ? 0 : asked.keys, at_ends);
  const auto map = watch.over(build_as(types, about.keys.size(), threads));
  // 0 to 127, as often a few as many.
  const std::uint64_t passed_by =
      asked.at_first ? 0
                     : (std::uint64_t{1}
                        << random::derive_seed(asked.seed, threads) % (point.empty() ? 4 : 8)) -
                           1;
  stage on{.point = point, .passed_by = passed_by};
  std::array<balance, threads> sums;
  for (balance& of_thread : sums) {
    for (const std::uint64_t key : about.keys) of_thread.emplace(key, 0);
  }
  std::array<std::string, threads> failures{};
  std::atomic<std::uint64_t> operations{0};
  suspension seen;
  {
    const hooked acting(act_at);
    const std::vector<operation>& afterwards =
        asked.others.empty() ? subject.operations : asked.others;
    onlooker looking(on, watch, afterwards);
    measure::crew crew(threads);
    in_all(crew, *map, [&](unsigned i, any_handle& handle) {
      const std::uint64_t seed = random::derive_seed(asked.seed, i);
      actor me{.on = &on,
               .index = static_cast<int>(i),
               .noise = disturbance(random::derive_seed(seed, 0)),
               .afterwards = afterwards};
      const acting_as role(me);
      failures.at(i) =
          act_to_end(me, handle, subject.operations, about, asked, seed, sums.at(i), operations);
    });
    while (!on.over.try_acquire_for(std::chrono::milliseconds(2))) {
      const auto waits = looking.look();
      seen.unclear = looking.in_vain() > 3 * patience() / 4;
      if (!waits && !seen.unclear) continue;
      if (waits) {
        seen.waited = waits->call.asked;
        seen.how = waits->how;
        seen.suspended_in =
            looking.call_of(on.thread.at(static_cast<std::size_t>(on.suspended))).inside_of;
      }
      break;
    }
    on.release();
    crew.wait();
  }
  seen.reached = on.suspended.load() >= 0;
  seen.operations = operations.load();
  balance total;
  for (const auto& of_thread : sums) {
    for (const auto& [key, sum] : of_thread) total[key] += sum;
  }
  for (const std::string& failure : failures) {
    if (seen.problem.empty()) seen.problem = failure;
  }
  if (seen.problem.empty()) seen.problem = map->broken_invariant().value_or("");
  if (seen.problem.empty()) seen.problem = problem_with(total, walk(*map, 4 * about.keys.size()));
  if (!seen.problem.empty()) seen.problem += types_suffix(subject, types);
  watch.note("");
  return seen;
}

watchdog watching(const subject_entry& subject, std::uint64_t seed) {
  return watchdog({.check = "progress", .map = subject.name, .seed = seed});
}

}  // namespace

std::vector<std::string> points_passed(const subject_entry& subject, std::uint64_t seed) {
  watchdog watch = watching(subject, seed);
  return telling_failures(subject.name, seed, [&] {
    return names_passed(subject, seed, std::chrono::steady_clock::time_point::max(), watch);
  });
}

suspension suspend_at(const subject_entry& subject, std::string_view point,
                      const suspending& asked) {
  // While one thread has lost its processor inside a guard, no epoch is advanced, and the attempts
  // of all others may be over by the time that it goes on. So this many times, with other seeds.
  constexpr unsigned most_times = 20;
  watchdog watch = watching(subject, asked.seed);
  suspending again = asked;
  suspension seen;
  for (unsigned i = 0; i < most_times && !seen.reached && seen.problem.empty(); ++i) {
    if (i > 0) again.seed = random::derive_seed(asked.seed, threads + i);
    again.at_first = i > 0;
    seen = suspend_once(subject, point, again, watch);
  }
  return seen;
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

namespace {

// What came of suspending a thread several times in the same place.
struct suspensions {
  unsigned attempts = 0;
  unsigned reached = 0;
  unsigned waited = 0;
  unsigned unclear = 0;
  std::string who_waited{};
  std::string problem{};

  void add(const suspension& seen) {
    ++attempts;
    reached += seen.reached;
    unclear += seen.unclear;
    waited += seen.waited.has_value();
    problem = seen.problem;
    if (seen.waited && who_waited.empty()) {
      who_waited = to_string(*seen.waited) + " waits for the suspended thread";
      if (!seen.suspended_in.empty()) who_waited += ", which is inside " + seen.suspended_in;
      who_waited += "; it is " + seen.how;
    }
  }
  [[nodiscard]] std::string summary() const {
    std::string text = "all others go on";
    if (reached == 0) text = "not reached again";
    if (unclear > 0) text = "the others did not go on for long, and it is not clear why";
    if (waited > 0) text = who_waited;
    return text + (problem.empty() ? "" : "; " + problem);
  }
};

}  // namespace

progress_found check_progress(const subject_entry& subject, std::uint64_t seed,
                              std::optional<std::chrono::duration<double>> duration) {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  const auto after = [&](double share) {
    return duration ? begin + std::chrono::duration_cast<steady_clock::duration>(share * *duration)
                    : steady_clock::time_point::max();
  };
  constexpr unsigned times = 3;        // at each point
  constexpr unsigned most_times = 20;  // if it is not always reached
  watchdog watch = watching(subject, seed);
  std::set<std::string> points;
  for (unsigned i = 0; i < times; ++i) {
    const auto more = telling_failures(subject.name, seed, [&] {
      return names_passed(subject, random::derive_seed(seed, i), after(0.5 * (i + 1) / times),
                          watch);
    });
    points.insert(more.begin(), more.end());
  }
  progress_found found;
  const auto take_note = [&](const std::string& name, const suspensions& seen, unsigned too_often) {
    found.any_suspended = found.any_suspended || seen.reached > 0;
    const bool broken = subject.lock_free && seen.waited >= too_often;
    found.lines.push_back(name + ": " + seen.summary() +
                          (broken ? ", though the map says that it is lock-free" : ""));
    found.passed = found.passed && seen.problem.empty() && !broken;
  };
  const auto had_no_time_for = [&found](const std::string& what) {
    found.no_time_for += (found.no_time_for.empty() ? "" : " and ") + what;
  };
  for (const std::string& point : points) {
    suspensions here;
    for (unsigned i = 0; i < most_times && here.reached < times && here.problem.empty(); ++i) {
      if (i >= times && steady_clock::now() > after(1)) {
        if (here.reached == 0) had_no_time_for("coming to " + point + " again");
        break;
      }
      const auto seen = suspend_once(
          subject, point,
          {.seed = random::derive_seed(seed, times + i), .at_first = here.reached < i}, watch);
      found.operations += seen.operations;
      here.add(seen);
      if (seen.how.starts_with("busy")) break;  // it takes seconds to see
    }
    take_note(point, here, 1);
  }
  if (!interruption::possible()) {
    found.lines.emplace_back("between marks: no thread was suspended, as this build cannot");
    return found;
  }
  // Where a lock is held for a short time only, few are suspended that hold it.
  const unsigned attempts = subject.lock_free ? 150 : 40;
  constexpr unsigned in_any_case = 10;
  const unsigned enough = subject.lock_free ? 2 : 1;  // a second time, to be sure
  suspensions anywhere;
  for (unsigned i = 0; i < attempts && anywhere.waited < enough && anywhere.problem.empty(); ++i) {
    const bool late = steady_clock::now() > after(1);
    if (late && i >= in_any_case && anywhere.waited == 0) break;
    const auto seen = suspend_once(
        subject, "", {.seed = random::derive_seed(seed, times + most_times + i), .operations = 100},
        watch);
    found.operations += seen.operations;
    anywhere.add(seen);
  }
  if (subject.lock_free && anywhere.attempts < found.enough_anywhere && anywhere.waited < enough &&
      anywhere.problem.empty()) {
    had_no_time_for(std::to_string(found.enough_anywhere) +
                    " attempts to suspend a thread anywhere: there were " +
                    std::to_string(anywhere.attempts));
  }
  if (anywhere.reached > 0) {
    take_note("anywhere, " + std::to_string(anywhere.reached) + " times", anywhere, enough);
  }
  return found;
}

}  // namespace assay::rig
