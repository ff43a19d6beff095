#include "assay/rig/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "assay/input/message.h"
#include "assay/measure/crew.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/clock.h"
#include "assay/rig/ends.h"
#include "assay/rig/interfere/disturbance.h"
#include "assay/rig/interfere/preemption.h"
#include "assay/rig/questions.h"
#include "assay/rig/watch/watchdog.h"

namespace assay::rig {
namespace {

using random::splitmix64;
using subject::element;
using subject::subject_entry;
using workload::operation;

constexpr unsigned most_threads = 4;
constexpr std::uint64_t most_keys = 8;

// What all threads are to do in one history.
struct plan {
  std::uint64_t keys;  // 0 if it fills a map
  bool strikes;        // between operations, too
  std::vector<std::vector<subject::question>> of_thread;
};

// From `least` to `most`.
std::uint64_t draw_between(splitmix64& draw, std::uint64_t least, std::uint64_t most) {
  return least + draw() % (most - least + 1);
}

// Whether an operation can be judged key by key.
bool is_about_one(operation kind) {
  // Which a subject offers is known before main().
  static const auto all = [] {
    std::array<bool, workload::operation_kinds> about_one{};
    for (std::size_t i = 0; i < workload::operations().size(); ++i) {
      const auto of = static_cast<operation>(i);
      about_one.at(i) = of <= operation::find ||
                        (of > operation::iterate && subject::extra_facts_of(of).right != nullptr &&
                         concerns_one_key(of, true));
    }
    return about_one;
  }();
  return all.at(static_cast<std::size_t>(kind));
}

// Weights of the kinds of operation, drawn for one history.
using weights = std::array<std::uint64_t, workload::operation_kinds>;

weights draw_weights(splitmix64& draw, const subject_entry& subject, bool whole) {
  weights drawn{};
  for (const operation kind : subject.atomic) {
    if (!whole && !is_about_one(kind)) continue;
    // A history has some of many, so that those of one kind meet.
    if (kind > operation::iterate && draw() % (1 + subject.atomic.size() / 8) != 0) continue;
    // Operations on several keys are most frequent, where there are any.
    const bool updates = kind == operation::insert || kind == operation::erase;
    drawn.at(static_cast<std::size_t>(kind)) =
        !is_about_one(kind) ? draw_between(draw, 2, 8) : draw_between(draw, updates ? 1 : 0, 4);
  }
  return drawn;
}

operation draw_kind(splitmix64& draw, const weights& among) {
  std::uint64_t sum = 0;
  for (const std::uint64_t weight : among) sum += weight;
  std::uint64_t left = draw() % sum;
  std::size_t kind = 0;
  while (left >= among.at(kind)) left -= among.at(kind++);
  return static_cast<operation>(kind);
}

// The map of a number of histories, and what it held when the last of them had ended.
struct served_map {
  std::unique_ptr<subject::any_map> map;
  std::string map_name{};                       // its name, and its types if they are not the first
  std::array<std::uint64_t, most_keys> keys{};  // that histories ask about, ascending
  // Others, which stay: a structure is as large as they make it, and nobody asks about them. They
  // are left out of histories unless something happens to them.
  std::vector<element> bystanders{};        // ascending
  std::vector<element> held{};              // of the keys asked about
  std::vector<std::uint64_t> end_values{};  // that some inserts store
  std::uint64_t histories = 0;              // so far
  std::uint64_t most;
  // A map that is known to be broken may do anything, and no history of it tells more.
  bool broken = false;

  [[nodiscard]] bool may_go_on() const { return histories < most && !broken; }
};

// Keys anywhere among the bystanders' keys, whose number is often about a power of two: tables grow
// there.
void draw_keys(splitmix64& draw, served_map& drawn) {
  constexpr std::uint64_t furthest = 20'000;
  const std::uint64_t most = std::uint64_t{2} << draw_between(draw, 0, 9);
  const std::uint64_t count =
      draw() % 2 == 0 ? draw_between(draw, 1, most) : most - draw_between(draw, 0, most / 2) % 8;
  const std::uint64_t span = draw_between(draw, count + most_keys, furthest);
  std::set<std::uint64_t> all;
  while (all.size() < count + most_keys) all.insert(draw_between(draw, 1, span));
  std::set<std::size_t> places;
  while (places.size() < most_keys) places.insert(draw() % all.size());
  std::size_t place = 0;
  std::size_t asked = 0;
  for (const std::uint64_t key : all) {
    if (places.contains(place++)) {
      drawn.keys.at(asked++) = key;
    } else {
      drawn.bystanders.emplace_back(key, key);
    }
  }
}

// Inserts the bystanders. Values that histories insert are greater.
plan plan_to_fill(splitmix64& draw, const subject_entry& subject, served_map& to) {
  plan filling{.keys = 0, .strikes = false, .of_thread = {{}}};
  for (auto& [key, value] : to.bystanders) {
    while (subject.reserves(value)) ++value;
    filling.of_thread[0].push_back({.kind = operation::insert, .key = key, .value = value});
  }
  auto& inserts = filling.of_thread[0];
  for (std::size_t i = inserts.size(); i > 1; --i) std::swap(inserts[i - 1], inserts[draw() % i]);
  return filling;
}

// The histories of one map are numbered from 1 on, so that each insert has a value of its own.
// Operations on all keys would report bystanders, too.
plan draw_plan(splitmix64& draw, const subject_entry& subject, const served_map& served) {
  const bool offers_more =
      !std::ranges::all_of(subject.atomic, is_about_one) && served.bystanders.empty();
  const bool whole = offers_more && draw() % 4 == 0;
  const weights among = draw_weights(draw, subject, whole);
  const std::uint64_t threads = draw_between(
      draw, 2, std::min(subject.max_threads.value_or(most_threads), whole ? 3U : most_threads));
  const std::uint64_t operations = draw_between(draw, 1, whole ? 4 : 8);
  // Delays between operations are all that a map without marked points gets, and keep threads that
  // begin together apart.
  plan drawn{.keys = draw_between(draw, 1, whole ? 4 : most_keys),
             .strikes = draw() % 2 == 0,
             .of_thread = {}};
  // The history's keys are neighbours anywhere among the map's.
  const std::uint64_t least = draw_between(draw, 0, most_keys - drawn.keys);
  const std::uint64_t greatest = least + drawn.keys - 1;
  drawn.of_thread.resize(threads);
  std::uint64_t value = (served.bystanders.empty() ? 0U : 100'000U) + 100 * served.histories;
  for (auto& mine : drawn.of_thread) {
    for (std::uint64_t i = 0; i < operations; ++i) {
      const operation kind = draw_kind(draw, among);
      // Every other range covers all keys, including keys that earlier histories left.
      const bool all = kind == operation::range && draw() % 2 == 0;
      const std::uint64_t key = all ? 0 : draw_between(draw, least, greatest);
      const std::uint64_t last = all ? most_keys - 1 : draw_between(draw, key, greatest);
      do ++value;
      while (subject.reserves(value));
      const std::uint64_t luck = draw() % (16 * served.end_values.size() + 1);
      mine.push_back({.kind = kind,
                      .key = served.keys.at(key),
                      .value = luck < served.end_values.size() ? served.end_values.at(luck) : value,
                      .last = served.keys.at(last)});
    }
  }
  return drawn;
}

struct stamped {
  subject::answer answered;
  std::uint64_t call;
  std::uint64_t end;
};

// One thread's part in the history at hand. Threads write what others read far apart.
struct alignas(workload::interference_bytes) part {
  std::unique_ptr<subject::any_handle> handle;
  std::vector<stamped> done;
  std::optional<disturbance> disturbed;
  std::uint64_t preempted_by = 0;  // a seed
  std::string failure;
  // What is known of it if it does not end: how many operations have returned, and a time before
  // the next one, usually of its call.
  std::atomic<std::size_t> returned{0};
  std::atomic<std::uint64_t> called{0};
};

// Does something to the map, and keeps what it throws.
template <class Do>
void attempt(part& mine, const std::string& what, Do act) {
  try {
    act();
  } catch (const std::exception& error) {
    mine.failure = what + " threw an exception: " + input::message(error.what());
  } catch (...) {
    mine.failure = what + " threw something that is not a std::exception";
  }
}

// Threads that begin together, even where there are more of them than processors.
class starting_line {
 public:
  explicit starting_line(unsigned threads) : missing_(threads) {}

  void arrive_and_wait() {
    // All orders are as weak as can be: the histories must not be ordered by what begins them.
    missing_.fetch_sub(1, std::memory_order_relaxed);
    for (unsigned turns = 1; missing_.load(std::memory_order_relaxed) != 0; ++turns) {
      if (turns % 64 == 0) std::this_thread::yield();
    }
  }

 private:
  std::atomic<unsigned> missing_;
};

void perform(part& mine, const plan& drawn, unsigned thread, const stamp_clock& clock) {
  const disturbance::scope disturbed(*mine.disturbed);
  const preemption preempted(mine.preempted_by);
  for (const subject::question& one : drawn.of_thread[thread]) {
    if (drawn.strikes) mine.disturbed->strike();
    try {
      const std::uint64_t call = clock.before();
      mine.called.store(call, std::memory_order_relaxed);
      subject::answer answered = mine.handle->ask(one);
      const std::uint64_t end = clock.after();
      mine.done.push_back({std::move(answered), call, end});
    } catch (...) {
      attempt(mine, to_string(one), [] { throw; });
      return;
    }
    // (1) this release store synchronises with the acquire load at (2)
    mine.returned.store(mine.done.size(), std::memory_order_release);
  }
}

// Tells the thread that waits that this one has ended, however it ends.
class ending {
 public:
  explicit ending(std::counting_semaphore<most_threads>& ended) : ended_(ended) {}
  ~ending() { ended_.release(); }
  ending(const ending&) = delete;
  ending& operator=(const ending&) = delete;

 private:
  std::counting_semaphore<most_threads>& ended_;
};

bool overlap(const operation_record& a, const operation_record& b) {
  return a.thread != b.thread && a.call_ns <= b.return_ns && b.call_ns <= a.return_ns;
}

// Whether `a` changed what `b` read.
bool concern(const operation_record& a, const operation_record& b) {
  if (change_by(a.asked, a.answered) == 0) return false;
  if (is_about_one(b.asked.kind)) return a.asked.key == b.asked.key;
  if (!workload::facts_of(b.asked.kind).spans) return true;
  return b.asked.key <= a.asked.key && a.asked.key <= b.asked.last;
}

void count(recorded& sums, const history& one) {
  bool overlapping = false;
  bool meeting = false;
  for (const auto& a : one.operations) {
    for (const auto& b : one.operations) {
      if (!overlap(a, b)) continue;
      overlapping = true;
      meeting = meeting || concern(a, b);
    }
  }
  ++sums.histories;
  sums.operations += one.operations.size();
  sums.overlapping += overlapping;
  sums.meeting += meeting;
}

// Whether what a map holds at the end of a history follows from what it held at first and the
// answers of updates, whatever their order.
bool ends_rightly(const history& one) {
  std::map<std::uint64_t, std::int64_t> times;  // that each key should be held
  std::set<element> given;
  for (const auto& held : one.start) {
    ++times[held.first];
    given.insert(held);
  }
  for (const auto& record : one.operations) {
    const int change = change_by(record.asked, record.answered);
    times[record.asked.key] += change;
    // Some operations leave their value under a key that was there.
    if (change > 0 || record.asked.kind > operation::iterate) {
      given.emplace(record.asked.key, record.asked.value);
    }
  }
  for (const auto& held : one.end) {
    if (--times[held.first] < 0 || !given.contains(held)) return false;
  }
  // A key that is held twice is wrong even if two inserts answered true.
  std::set<std::uint64_t> keys;
  for (const auto& held : one.end) {
    if (!keys.insert(held.first).second) return false;
  }
  return std::ranges::all_of(times, [](const auto& left) { return left.second == 0; });
}

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): handles are destroyed before their map
class recorder {
 public:
  using taker = std::function<void(const history&)>;

  recorder(const subject_entry& subject, const recording& asked, const taker& take)
      : subject_(subject),
        asked_(asked),
        take_(take),
        draw_(asked.seed),
        watch_({.check = "linearizability",
                .map = subject.name,
                .seed = asked.seed,
                .only_calls = true,
                .patience = asked.patience,
                .last_words = asked.last_words}),
        threads_(most_threads) {}
  ~recorder() {
    {
      const watchdog::sentry call(watch_, "the destructor of its handle");
      for (part& one : parts_) one.handle.reset();
    }
    destroy_map();
  }
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  history next() {
    if (!served_ || !served_->may_go_on()) renew();
    ++served_->histories;
    const plan drawn = draw_plan(draw_, subject_, *served_);
    history made{.map = served_->map_name,
                 .seed = asked_.seed,
                 .number = number_++,
                 .start = served_->held,
                 .operations = {},
                 .end = {}};
    run(drawn, made);
    take_down(drawn, made);
    take_walk(made);
    served_->held = made.end;
    served_->broken = !ends_rightly(made);
    return made;
  }

 private:
  void destroy_map() {
    const watchdog::sentry call(watch_, "the destructor of the map");
    served_.reset();
  }

  void renew() {
    destroy_map();
    const bool first = maps_ == 0;
    // Many young maps, and few that grow old.
    served_map next{
        .map = nullptr,
        .most = std::uint64_t{1} << draw_between(draw_, 0, draw_between(draw_, 0, first ? 6 : 12))};
    // Every other map without bystanders has keys at the ends of their type. Every other one of
    // these has other types: the last that the map holds, or any.
    const bool at_ends = maps_ % 4 == 2;
    const std::size_t number = subject_.types.size();
    const std::size_t other = draw_() % 2 == 0 ? number - 1 : draw_() % number;
    const subject::held_types& types = subject_.types[maps_ % 8 == 6 ? other : 0];
    if (maps_++ % 2 == 1) {
      draw_keys(draw_, next);
    } else if (at_ends) {
      next.keys = end_keys(subject_, types.key);
    } else {
      for (std::size_t i = 0; i < most_keys; ++i) next.keys.at(i) = i + 1;
    }
    next.map_name = subject_.name + types_suffix(subject_, types);
    next.end_values = end_values(subject_, types.value);
    {
      const watchdog::sentry call(watch_, "the constructor of the map");
      next.map = build_as(types, most_keys + next.bystanders.size(), most_threads);
    }
    served_.emplace(std::move(next));
    if (!served_->bystanders.empty()) fill();
  }

  void fill() {
    history made{.map = served_->map_name,
                 .seed = asked_.seed,
                 .number = number_,
                 .start = {},
                 .operations = {},
                 .end = {}};
    const plan filling = plan_to_fill(draw_, subject_, *served_);
    run(filling, made);
    take_down(filling, made);
    served_->bystanders.clear();
    for (const auto& one : made.operations) {
      if (change_by(one.asked, one.answered) > 0) {
        served_->bystanders.emplace_back(one.asked.key, one.asked.value);
      }
    }
    std::ranges::sort(served_->bystanders);
  }

  // What the map holds at the end of a history. Bystanders to which something has happened were
  // there at its start, too.
  void take_walk(history& made) {
    const auto& bystanders = served_->bystanders;
    std::vector<std::vector<element>> met(bystanders.size());
    const auto all = [&] {
      const watchdog::sentry call(watch_, "for_each()");
      // Enough to tell that the walk met too much.
      return walk(*served_->map, 2 * bystanders.size() + 4 * most_keys);
    }();
    for (const element& each : all) {
      const auto at = std::ranges::lower_bound(bystanders, each.first, {}, &element::first);
      if (at == bystanders.end() || at->first != each.first) {
        made.end.push_back(each);
      } else {
        met[static_cast<std::size_t>(at - bystanders.begin())].push_back(each);
      }
    }
    for (std::size_t i = 0; i < met.size(); ++i) {
      if (met[i] == std::vector<element>{bystanders[i]}) continue;
      made.start.push_back(bystanders[i]);
      made.end.insert(made.end.end(), met[i].begin(), met[i].end());
    }
  }

  void run(const plan& drawn, history& made) {
    const auto threads = static_cast<unsigned>(drawn.of_thread.size());
    std::array<std::uint64_t, most_threads> seeds{};
    for (auto& seed : seeds) seed = draw_();
    threads_.run([&](unsigned i) {
      if (i >= threads) return;
      part& mine = parts_.at(i);
      attempt(mine, "attach()", [&] {
        const watchdog::sentry call(watch_, "attach()");
        mine.handle = served_->map->attach();
      });
      mine.done.clear();
      mine.done.reserve(drawn.of_thread[i].size());
      mine.disturbed.emplace(seeds.at(i));
      mine.preempted_by = random::derive_seed(seeds.at(i), 1);
      mine.returned.store(0, std::memory_order_relaxed);
      mine.called.store(clock_.before(), std::memory_order_relaxed);
    });
    throw_failure(made);
    starting_line line(threads);
    std::counting_semaphore<most_threads> ended(0);
    threads_.start([&](unsigned i) {
      if (i >= threads) return;
      const ending mine(ended);
      line.arrive_and_wait();
      perform(parts_.at(i), drawn, i, clock_);
      parts_.at(i).handle.reset();
    });
    const auto deadline = std::chrono::steady_clock::now() + asked_.patience;
    for (unsigned i = 0; i < threads; ++i) {
      if (!ended.try_acquire_until(deadline)) give_up(drawn, made);
    }
    threads_.wait();
    throw_failure(made);
  }

  void throw_failure(const history& made) const {
    for (const part& one : parts_) {
      if (one.failure.empty()) continue;
      throw operation_failed(made.map + ": history " + std::to_string(made.number) + " of seed " +
                             std::to_string(made.seed) + ": " + one.failure);
    }
  }

  [[noreturn]] void give_up(const plan& drawn, history& made) {
    take_down(drawn, made);
    if (drawn.keys == 0) {  // of the bystanders those that are there are not worth a line each
      for (const auto& one : made.operations) {
        made.start.emplace_back(one.asked.key, one.asked.value);
      }
      made.operations.clear();
    }
    std::fprintf(stderr, "error: %s: history %ju of seed %ju did not end within %jd ms.\n",
                 made.map.c_str(), std::uintmax_t{made.number}, std::uintmax_t{made.seed},
                 std::intmax_t{asked_.patience.count()});
    for (const auto& one : made.unreturned) {
      std::fprintf(stderr, "  thread %u is inside %s\n", one.thread, to_string(one.asked).c_str());
    }
    for (const part& one : parts_) {
      if (!one.failure.empty()) std::fprintf(stderr, "  %s\n", one.failure.c_str());
    }
    if (made.unreturned.empty()) {
      std::fprintf(stderr, "  all operations have returned, but not all threads have left\n");
    } else {
      take_(made);
    }
    std::fflush(nullptr);
    std::_Exit(3);
  }

  // Also while threads are still inside the map.
  void take_down(const plan& drawn, history& made) {
    std::array<std::size_t, most_threads> returned{};
    std::uint64_t first = UINT64_MAX;
    for (std::size_t i = 0; i < drawn.of_thread.size(); ++i) {
      const part& of = parts_.at(i);
      // (2) this acquire load synchronises with the release store at (1)
      returned.at(i) = of.returned.load(std::memory_order_acquire);
      first = std::min(first, returned.at(i) > 0 ? of.done.front().call
                                                 : of.called.load(std::memory_order_relaxed));
    }
    for (unsigned i = 0; i < drawn.of_thread.size(); ++i) {
      const auto& asked = drawn.of_thread[i];
      part& of = parts_.at(i);
      for (std::size_t j = 0; j < returned.at(i); ++j) {
        stamped& one = of.done[j];
        made.operations.push_back({.thread = i,
                                   .asked = asked[j],
                                   .answered = std::move(one.answered),
                                   .call_ns = clock_.ns(one.call, first),
                                   .return_ns = clock_.ns_up(one.end, first)});
      }
      if (returned.at(i) == asked.size()) continue;
      made.unreturned.push_back(
          {.thread = i,
           .asked = asked[returned.at(i)],
           .call_ns = clock_.ns(of.called.load(std::memory_order_relaxed), first)});
    }
  }

  const subject_entry& subject_;
  recording asked_;
  const taker& take_;
  splitmix64 draw_;
  std::uint64_t number_ = 0;
  std::uint64_t maps_ = 0;
  stamp_clock clock_;
  // Watches what is called between histories: threads that record are not watched, but waited for.
  watchdog watch_;
  std::optional<served_map> served_;
  std::array<part, most_threads> parts_;
  measure::crew threads_;
};

}  // namespace

recorded record(const subject_entry& subject, const recording& asked,
                const std::function<void(const history&)>& take) {
  recorder records(subject, asked, take);
  const disturb_at_points disturbed;
  recorded sums;
  const auto begin = std::chrono::steady_clock::now();
  const auto goes_on = [&] {
    if (!asked.duration) return sums.histories < asked.histories;
    return sums.histories == 0 || std::chrono::steady_clock::now() - begin < *asked.duration;
  };
  while (goes_on()) {
    const history one = records.next();
    count(sums, one);
    take(one);
  }
  return sums;
}

}  // namespace assay::rig
