#include "assay/rig/owners.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "assay/measure/crew.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/ends.h"
#include "assay/rig/history.h"
#include "assay/rig/interfere/disturbance.h"
#include "assay/rig/interfere/preemption.h"
#include "assay/rig/interfere/yields.h"
#include "assay/rig/map_failures.h"
#include "assay/rig/questions.h"
#include "assay/rig/randomness.h"
#include "assay/rig/watch/owner_log.h"
#include "assay/rig/watch/watchdog.h"
#include "assay/subject/operations.h"

namespace assay::rig {
namespace {

using random::splitmix64;
using std::chrono::steady_clock;
using subject::answer;
using subject::any_map;
using subject::element;
using subject::elements;
using subject::extra_facts_of;
using subject::held_types;
using subject::question;
using subject::subject_entry;
using workload::operation;

constexpr std::uint64_t most_keys = 20'000;

enum class course : std::uint8_t { growing, filling_and_emptying, churning };

// What a round is like.
struct shape {
  ownership owners{};
  std::vector<std::uint64_t> keys{};  // ascending
  std::vector<bool> stays{};          // inserted before the round, and never erased
  std::size_t staying = 0;
  course goes{};
  bool disturbed = false;
  bool strikes = false;    // also between operations, if it is disturbed
  bool lingers = false;    // between operations for microseconds, outside of the map
  bool hesitates = false;  // before the first operation, for as long as a preemption takes to come
  bool closely = false;    // at full speed, and those that wait hardly yield (yields.h)
  bool crossing = false;   // threads look at each other's keys
  // Values are stored as their exclusive or with this, so that some are at the ends of their type.
  std::uint64_t mask = 0;
  const held_types* types = nullptr;
  std::uint64_t looks_of_16 = 0;    // operations that change nothing
  std::uint64_t visits_one_in = 0;  // operations that may meet several keys; 0 for never
  std::uint64_t widest = 1;         // of these, in keys
  std::uint64_t operations = 0;     // of each thread, at most
  std::chrono::duration<double> duration{};

  [[nodiscard]] bool belongs_to(std::size_t place, unsigned thread) const {
    return owners.owner(place) == thread;
  }
};

std::uint64_t log_uniform(splitmix64& draw, std::uint64_t bits) {
  const std::uint64_t most = std::uint64_t{2} << draw() % bits;
  return most / 2 + draw() % (most / 2);
}

// Half of them from the least on, half of them up to the greatest.
std::vector<std::uint64_t> keys_at_ends(std::uint64_t least, std::uint64_t greatest,
                                        std::size_t count) {
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(2 * i < count ? least + i : greatest - (count - 1 - i));
  }
  return keys;
}

// Distances between neighbouring keys: all 1, all the same, a power of two (which hashes may take
// for the same), or anything.
std::vector<std::uint64_t> draw_keys(splitmix64& draw, std::size_t count) {
  const std::uint64_t layout = draw() % 4;
  const std::uint64_t step = layout == 0   ? 1
                             : layout == 1 ? 1 + draw() % 64
                                           : std::uint64_t{1} << draw() % 16;
  const std::uint64_t widest = std::uint64_t{1} << draw() % 32;
  std::uint64_t key = draw() % 4 == 0 ? draw() >> 2U : 1;
  key = std::max<std::uint64_t>(key, 1);
  std::vector<std::uint64_t> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(key);
    key += layout == 3 ? 1 + draw() % widest : step;
  }
  return keys;
}

unsigned most_threads(const subject_entry& subject) {
  return std::min(subject.max_threads.value_or(most_owners), most_owners);
}

void draw_whose_keys(splitmix64& draw, unsigned most, std::uint64_t keys, shape& drawn,
                     std::uint64_t most_staying_of_16 = 8) {
  constexpr std::array<unsigned, 5> threads{2, 2, 3, 4, 8};
  constexpr std::array<std::size_t, 4> blocks{1, 1, 2, 16};
  drawn.owners = {.threads = std::min(threads.at(draw() % threads.size()), most),
                  .block = keys < 64 ? 1 : blocks.at(draw() % blocks.size())};
  drawn.stays.clear();
  drawn.staying = 0;
  const std::size_t turn = drawn.owners.threads * drawn.owners.block;
  drawn.keys = draw_keys(draw, std::max<std::size_t>(keys / turn, 1) * turn);
  constexpr std::array<std::uint64_t, 4> staying_of_16{0, 1, 4, 8};
  const std::uint64_t staying =
      std::min(staying_of_16.at(draw() % staying_of_16.size()), most_staying_of_16);
  for (std::size_t i = 0; i < drawn.keys.size(); ++i) {
    drawn.stays.push_back(draw() % 16 < staying);
    drawn.staying += drawn.stays.back();
  }
}

// Whatever there is.
shape draw_any(splitmix64& draw, const subject_entry& subject) {
  shape drawn;
  drawn.disturbed = draw() % 2 == 0;
  draw_whose_keys(draw, most_threads(subject), std::min(log_uniform(draw, 15), most_keys), drawn);
  drawn.goes = static_cast<course>(draw() % 3);
  drawn.strikes = draw() % 2 == 0;
  drawn.crossing = subject.linearizable && draw() % 2 == 0;
  constexpr std::array<std::uint64_t, 3> looks_of_16{2, 8, 12};
  drawn.looks_of_16 = looks_of_16.at(draw() % looks_of_16.size());
  drawn.widest = std::min<std::uint64_t>(log_uniform(draw, 14), drawn.keys.size());
  // As much time goes into them as into the rest, or a fraction.
  drawn.visits_one_in = draw() % 3 == 0 ? 0 : (4 + drawn.widest / 8) * (1 + draw() % 4);
  drawn.operations = std::min(log_uniform(draw, 18) + drawn.keys.size(), std::uint64_t{200'000});
  drawn.duration = std::chrono::milliseconds(drawn.disturbed ? 80 : 40);
  return drawn;
}

// Structures that grow through all their sizes, while others search. Threads that do nothing
// between operations mostly wait for a lock, if there is one, while another grows the structure.
shape draw_large(splitmix64& draw, const subject_entry& subject) {
  shape drawn;
  drawn.lingers = draw() % 2 == 0;
  draw_whose_keys(draw, most_threads(subject), most_keys, drawn, 1);
  drawn.goes = drawn.lingers || draw() % 2 == 0 ? course::growing : course::filling_and_emptying;
  drawn.looks_of_16 = draw() % 2 == 0 ? 4 : 12;
  drawn.operations = 3 * most_keys;
  drawn.duration = std::chrono::milliseconds(drawn.goes == course::growing ? 500 : 80);
  return drawn;
}

// Visits of hundreds of keys, among more threads than there may be processors: one that lets
// another thread in between is seldom overtaken, and on busy processors only if it is disturbed.
shape draw_wide(splitmix64& draw, const subject_entry& subject) {
  shape drawn;
  drawn.disturbed = draw() % 4 != 0;
  draw_whose_keys(draw, most_threads(subject), 200 + log_uniform(draw, 11), drawn);
  drawn.goes = course::churning;
  drawn.crossing = subject.linearizable;
  drawn.widest = drawn.keys.size();
  drawn.visits_one_in = 8 + draw() % 64;
  drawn.operations = 40'000;
  drawn.duration = std::chrono::milliseconds(160);
  return drawn;
}

// Few keys, at which all look.
shape draw_narrow(splitmix64& draw, const subject_entry& subject) {
  shape drawn = draw_any(draw, subject);
  draw_whose_keys(draw, most_threads(subject), log_uniform(draw, 6), drawn);
  drawn.goes = course::churning;
  drawn.crossing = subject.linearizable;
  drawn.widest = drawn.keys.size();
  drawn.looks_of_16 = 8;
  return drawn;
}

std::uint64_t unreserved(const subject_entry& subject, std::uint64_t number) {
  std::uint64_t value = value_by(0, number + 1);
  while (subject.reserves(value)) value += std::uint64_t{1} << 48U;
  return value;
}

// At which sizes does one thread's insert take far longer than at most others? There a structure
// grows. Each is the size before the insert. Other processes only make inserts longer, so that the
// shortest of several tells.
std::vector<std::size_t> find_slow_sizes(const subject_entry& subject, watchdog& watch,
                                         measure::crew& crew) {
  constexpr std::size_t most = 1024;
  constexpr int times = 6;
  constexpr auto enough = std::chrono::milliseconds(30);
  const held_types& types = subject.types.front();
  const auto end = steady_clock::now() + enough;
  std::vector<steady_clock::duration> shortest(most, steady_clock::duration::max());
  std::size_t reached = most;  // in all times, if the map is slow
  for (int time = 0; time < times; ++time) {
    const auto map = watch.over(build_as(types, most, 1));
    // Not by the thread that builds the map: its handle's end may be the end of what it needs.
    crew.run([&](unsigned thread) {
      if (thread != 0) return;
      const auto handle = map->attach();
      for (std::size_t size = 0; size < reached; ++size) {
        const question asked{
            .kind = operation::insert, .key = size + 1, .value = unreserved(subject, size)};
        const auto begin = steady_clock::now();
        handle->ask(asked);
        const auto after = steady_clock::now();
        shortest[size] = std::min(shortest[size], after - begin);
        if (after > end) reached = size + 1;
      }
    });
  }
  shortest.resize(reached);
  auto ordered = shortest;
  const auto median = ordered.begin() + static_cast<std::ptrdiff_t>(reached / 2);
  std::ranges::nth_element(ordered, median);
  std::vector<std::size_t> slow;
  for (std::size_t size = 2; size < reached; ++size) {
    if (shortest[size] > 4 * *median) slow.push_back(size);
  }
  return slow;
}

// A map that is about to grow: all keys but three of thread 0 stay, and the second of these makes
// it grow. If no size is slow, or too many are, it may be any power of two.
shape draw_changing(splitmix64& draw, const shape& all,
                    const std::vector<std::size_t>& slow_sizes) {
  constexpr std::size_t few_sizes = 64;
  constexpr std::size_t inserts = 3;
  const bool known = !slow_sizes.empty() && slow_sizes.size() <= few_sizes;
  const auto draw_size = [&] {
    return known && draw() % 8 != 0 ? slow_sizes[draw() % slow_sizes.size()]
                                    : std::size_t{8} << draw() % 8;
  };
  const std::size_t size = std::min(draw_size(), draw_size());  // many small maps rather than few
  shape drawn = all;
  const std::size_t threads = drawn.owners.threads;
  const std::size_t turns = std::max((size + inserts + threads - 2) / threads, inserts);
  drawn.keys = draw_keys(draw, turns * threads);
  drawn.staying = size - 1;
  drawn.stays.assign(drawn.keys.size(), true);
  std::vector<std::size_t> places(drawn.keys.size());
  std::iota(places.begin(), places.end(), 0);
  for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[draw() % i]);
  std::size_t of_the_first = inserts;
  std::size_t of_others = drawn.keys.size() - inserts - drawn.staying;  // never inserted
  for (const std::size_t place : places) {
    std::size_t& left = drawn.belongs_to(place, 0) ? of_the_first : of_others;
    if (left == 0) continue;
    --left;
    drawn.stays[place] = false;
  }
  return drawn;
}

// What all maps of a round of many have in common.
shape draw_many(splitmix64& draw, const subject_entry& subject) {
  shape drawn;
  drawn.owners = {.threads = std::min(most_threads(subject), 2 + static_cast<unsigned>(draw() % 3)),
                  .block = 1};
  drawn.hesitates = true;
  drawn.goes = course::growing;
  drawn.looks_of_16 = 8;
  drawn.operations = 32;
  drawn.duration = std::chrono::milliseconds(160);
  return drawn;
}

shape draw_shape(splitmix64& draw, const subject_entry& subject, std::uint64_t number) {
  constexpr std::array draws{draw_wide, draw_narrow, draw_wide, draw_any, draw_large};
  return draws.at(number % draws.size())(draw, subject);
}

// Few keys and few visits: what matters is the number of operations.
shape draw_long(splitmix64& draw, const subject_entry& subject) {
  shape drawn;
  draw_whose_keys(draw, std::min(most_threads(subject), 2U), 16 + draw() % 500, drawn);
  drawn.goes = course::churning;
  drawn.looks_of_16 = 2;
  drawn.widest = drawn.keys.size();
  drawn.visits_one_in = 4096;
  drawn.operations = UINT64_MAX;
  return drawn;
}

std::string described(const shape& drawn, const subject_entry& subject) {
  constexpr std::array<std::string_view, 3> courses{
      "growing from nothing", "filled and emptied in turn", "inserted and erased at random"};
  return std::to_string(drawn.owners.threads) + " threads, " + std::to_string(drawn.keys.size()) +
         " keys from " + std::to_string(drawn.keys.front()) + " to " +
         std::to_string(drawn.keys.back()) + types_suffix(subject, *drawn.types) + "; " +
         std::to_string(drawn.staying) + " of them stay all the time, the others are " +
         std::string(courses.at(static_cast<std::size_t>(drawn.goes))) + "; " +
         (drawn.disturbed ? "threads are disturbed"
          : drawn.lingers ? "threads linger between operations"
          : drawn.closely ? "at full speed, and yields mostly do nothing"
                          : "at full speed") +
         (drawn.mask == 0
              ? ""
              : "; a value was stored as its exclusive or with " + std::to_string(drawn.mask));
}

// The first value that a thread stores is often a value of a key that stays, or of one that many
// read. No round has a mask if the map has operations of its own, which may calculate with values.
std::uint64_t draw_mask(splitmix64& draw, const subject_entry& subject, const shape& drawn) {
  constexpr std::array<std::string_view, 13> storing{
      "contains", "emplace",        "emplace_and_visit", "erase_if",    "erase_range", "exchange",
      "extract",  "get_or_emplace", "insert_or_assign",  "try_emplace", "update",      "upsert",
      "visit"};
  const bool stores_only = std::ranges::all_of(subject.operations, [&](operation kind) {
    if (kind <= operation::iterate || extra_facts_of(kind).visits) return true;
    if (extra_facts_of(kind).as_history != nullptr && !concerns_one_key(kind, false)) return true;
    return std::ranges::find(storing, workload::facts_of(kind).name) != storing.end();
  });
  const std::uint64_t first =
      value_by(static_cast<unsigned>(draw() % drawn.owners.threads), 1 + draw() % 2);
  const std::uint64_t luck = draw() % 4;
  if (!stores_only || luck < 2) return 0;
  return luck == 2 ? first : ~first & subject.greatest_value(subject::type_spec::kind::uint64);
}

// In every other round that is not about their number, keys are at the ends of their type, in some
// of any type that has room for values that say who stored them.
void draw_ends(splitmix64& draw, const subject_entry& subject, shape& drawn) {
  drawn.types = &subject.types.front();
  drawn.mask = draw_mask(draw, subject, drawn);
  if (drawn.keys.size() > 1000 || draw() % 2 == 0) return;
  const held_types& other = subject.types.back();
  if (draw() % 4 == 0 && other.value != subject::type_spec::kind::uint32) drawn.types = &other;
  drawn.keys =
      keys_at_ends(least_key(subject), greatest_key(subject, drawn.types->key), drawn.keys.size());
}

// What a map can be asked beyond insert, erase and find.
struct extra_kinds {
  std::vector<operation> of_one_key{};
  std::vector<operation> narrow{};  // ranges and what looks for an element
  std::vector<operation> whole{};   // what visits all, and sizes

  explicit extra_kinds(const subject_entry& subject) {
    for (const operation kind : subject.operations) {
      if (kind <= operation::find) continue;
      if (kind <= operation::iterate) {
        (kind == operation::range ? narrow : whole).push_back(kind);
        continue;
      }
      const subject::extra_facts& facts = extra_facts_of(kind);
      if (concerns_one_key(kind, false)) {
        of_one_key.push_back(kind);
      } else if (facts.visits) {
        (workload::facts_of(kind).spans ? narrow : whole).push_back(kind);
      } else if (facts.as_history != nullptr) {
        narrow.push_back(kind);
      }
    }
  }
};

// How far a thread is, for the others. Numbers of operations; the bits above the number of returned
// ones hold the place that the last of these was about.
struct alignas(workload::interference_bytes) published {
  std::atomic<std::uint64_t> returned{0};
  std::atomic<std::uint32_t> begun{0};
};

// What the threads of a round have in common.
struct round {
  const subject_entry& subject;
  const extra_kinds& extra;
  shape is;
  std::vector<std::uint64_t> staying{};  // values of the keys that stay, by place; written by
                                         // owners before the round
  std::array<published, most_owners> far{};
  steady_clock::time_point end{};

  std::atomic<bool> over{false};  // something was wrong
  std::mutex mutex{};
  std::string problem{};  // guarded by mutex; the first

  void fail(const std::string& what) {
    // Relaxed: it only ends the round early. The mutex guards what is reported.
    over.store(true, std::memory_order_relaxed);
    const std::scoped_lock lock(mutex);
    if (problem.empty()) problem = what;
  }
};

// What a thread knows of a key of its own.
struct known {
  std::uint64_t value = 0;    // 0 if it is not held
  std::uint64_t changed = 0;  // by which operation; 0 if by none
};

// One thread's part in a round.
class player {
 public:
  player(round& of, unsigned thread, any_map& map, std::uint64_t seed)
      : round_(of),
        is_(of.is),
        me_(thread),
        draw_(seed),
        handle_(map.attach()),
        known_(is_.keys.size() / is_.owners.threads),
        met_(is_.keys.size()),
        disturbed_(draw_()) {
    for (std::size_t place = 0; place < is_.keys.size(); ++place) {
      if (is_.belongs_to(place, me_) && !is_.stays[place]) mine_.push_back(place);
    }
    for (std::size_t i = mine_.size(); i > 1; --i) std::swap(mine_[i - 1], mine_[draw_() % i]);
    if (draw_() % 4 == 0) std::ranges::sort(mine_);
  }

  // What the round begins with.
  void prefill() {
    for (std::size_t place = 0; place < is_.keys.size() && !is_over(); ++place) {
      if (!is_.belongs_to(place, me_)) continue;
      if (is_.stays[place] || (is_.goes == course::churning && draw_() % 2 == 0)) {
        ask_mine(operation::insert, place);
      }
      if (is_.stays[place]) round_.staying[place] = of_mine(place).value;
    }
  }

  void play() {
    std::optional<disturbance::scope> scope;
    std::optional<preemption> preempted;
    if (is_.disturbed) scope.emplace(disturbed_);
    for (std::uint64_t n = 0; n < is_.operations && !is_over() && !done_; ++n) {
      if (n % 16 == 0) {
        if (steady_clock::now() > round_.end) break;
        if (is_.disturbed) preempted.emplace(draw_());
      }
      // Else the operations that matter would be over by the time that the first preemption comes.
      if (n == 0 && is_.hesitates && is_.disturbed) linger(20'000);
      if (is_.disturbed && is_.strikes) disturbed_.strike();
      if (is_.lingers) linger(10'000);
      const std::uint64_t luck = draw_();
      if (is_.visits_one_in != 0 && (luck >> 8U) % is_.visits_one_in == 0) {
        ask_about_several();
      } else if (luck % 16 < is_.looks_of_16 || mine_.empty()) {
        look(luck >> 40U);
      } else {
        change(luck >> 40U);
      }
    }
  }

  void enter(any_map& map) { handle_ = map.attach(); }
  void leave() { handle_.reset(); }

  // For a key that is held all the time.
  void search() {
    if (is_over()) return;
    const std::size_t place = draw_() % is_.keys.size();
    if (!is_.stays[place]) return;
    if (is_.belongs_to(place, me_)) {
      ask_mine(operation::find, place);
    } else {
      look_at_staying(place);
    }
  }

  [[nodiscard]] std::uint64_t operations() const { return number_; }
  [[nodiscard]] thread_log& seen() { return seen_; }
  [[nodiscard]] const known& of_mine(std::size_t place) const { return known_[at(place)]; }

  // Describes a key of this thread.
  [[nodiscard]] std::string told_key(std::size_t place) const {
    const known& mine = of_mine(place);
    const std::string by = "thread " + std::to_string(me_) + " had ";
    const std::string operation = " (its operation " + std::to_string(mine.changed) + ")";
    const std::string key = "key " + std::to_string(is_.keys[place]);
    if (mine.value != 0) {
      return key + " was held with the value " + std::to_string(mine.value) + ": " + by +
             "put it there" + operation;
    }
    return key + " was not held: " +
           (mine.changed == 0 ? "nobody had inserted it yet" : by + "erased it" + operation);
  }

 private:
  // Enough to find what is wrong, and little enough to be judged soon.
  static constexpr std::size_t most_observations = 1 << 15;
  static constexpr std::size_t most_values = 1 << 18;

  // The place of a key among its owner's keys.
  [[nodiscard]] std::size_t at(std::size_t place) const {
    const std::size_t block = is_.owners.block;
    return place / (block * is_.owners.threads) * block + place % block;
  }

  [[nodiscard]] bool is_over() const { return round_.over.load(std::memory_order_relaxed); }

  [[nodiscard]] std::string told_call(const question& asked) const {
    return to_string(asked) + " by thread " + std::to_string(me_) + " (its operation " +
           std::to_string(number_) + ")";
  }

  static std::string shortened(std::string text) {
    constexpr std::size_t most = 120;
    if (text.size() > most) text.replace(most - 4, std::string::npos, " ...");
    return text;
  }

  void begin() {
    ++number_;
    if (!is_.crossing) return;
    // (1) Whatever this operation does to the map comes after. A thread that observes it, and has
    // so synchronised with it through the map, reads this or more at (4).
    round_.far.at(me_).begun.store(static_cast<std::uint32_t>(number_), std::memory_order_release);
  }

  void end(std::size_t place, bool changed) {
    if (!is_.crossing) return;
    seen_.log.push_back(
        changed ? logged{.place = static_cast<std::uint32_t>(place), .value = of_mine(place).value}
                : logged{});
    // (2) synchronises with the acquire load at (3): all that this operation did comes before what
    // the other thread asks then.
    round_.far.at(me_).returned.store(std::uint64_t{place} << 32U | number_,
                                      std::memory_order_release);
  }
  void end() { end(0, false); }

  [[nodiscard]] window before(unsigned owner) const {
    // (3) synchronises with the release store at (2)
    const std::uint64_t returned = round_.far.at(owner).returned.load(std::memory_order_acquire);
    return {.returned = static_cast<std::uint32_t>(returned)};
  }
  void after(unsigned owner, window& during) const {
    // (4) reads what (1) stored, or later numbers
    during.begun = round_.far.at(owner).begun.load(std::memory_order_acquire);
  }

  // The same for all owners. Of its own operations a thread knows.
  [[nodiscard]] windows before() const {
    windows all{};
    if (!is_.crossing) return all;
    for (unsigned owner = 0; owner < is_.owners.threads; ++owner) all.at(owner) = before(owner);
    return all;
  }
  void after(windows& all) const {
    if (!is_.crossing) return;
    for (unsigned owner = 0; owner < is_.owners.threads; ++owner) after(owner, all.at(owner));
    all.at(me_) = {.returned = static_cast<std::uint32_t>(number_ - 1),
                   .begun = static_cast<std::uint32_t>(number_ - 1)};
  }

  // With values as they are stored, and then as they were.
  answer ask(const question& asked) {
    question masked = asked;
    masked.value ^= is_.mask;
    answer got = handle_->ask(masked);
    if (is_.mask == 0) return got;
    if (auto* const value = std::get_if<std::optional<std::uint64_t>>(&got); value && *value) {
      **value ^= is_.mask;
    } else if (auto* const met = std::get_if<std::optional<element>>(&got); met && *met) {
      (*met)->second ^= is_.mask;
    } else if (auto* const all = std::get_if<std::vector<element>>(&got)) {
      for (element& each : *all) each.second ^= is_.mask;
    }
    return got;
  }

  // About a key of this thread: what the answer must be is known.
  void ask_mine(operation kind, std::size_t place) {
    known& mine = known_[at(place)];
    begin();
    std::uint64_t value = value_by(me_, number_);
    while (round_.subject.reserves(value ^ is_.mask)) value += std::uint64_t{1} << 44U;
    const question asked{
        .kind = kind, .key = is_.keys[place], .value = value, .last = is_.keys[place]};
    const answer got = ask(asked);
    bool right = false;
    std::uint64_t then = mine.value;
    switch (kind) {
      case operation::insert:
        right = std::get<bool>(got) == (mine.value == 0);
        if (mine.value == 0) then = value;
        break;
      case operation::erase:
        right = std::get<bool>(got) == (mine.value != 0);
        then = 0;
        break;
      case operation::find: {
        const auto& found = std::get<std::optional<std::uint64_t>>(got);
        right = found ? *found == mine.value && mine.value != 0 : mine.value == 0;
        break;
      }
      default: {
        elements held;
        if (mine.value != 0) held.emplace(asked.key, mine.value);
        right = got == extra_facts_of(kind).right(held, asked);
        then = held.empty() ? 0 : held.begin()->second;
      }
    }
    if (!right) {
      round_.fail(told_call(asked) + " answered " + to_string(got) + ", but " + told_key(place) +
                  ".\n");
    }
    const bool changed = then != mine.value;
    if (changed) mine = {.value = then, .changed = number_};
    end(place, changed);
  }

  void linger(std::uint64_t most_ns) {
    const auto until = steady_clock::now() + std::chrono::nanoseconds(draw_() % most_ns);
    while (steady_clock::now() < until) {
    }
  }

  void change(std::uint64_t luck) {
    if (is_.goes == course::churning || luck % 8 == 0) {
      const std::size_t place = mine_[(luck >> 8U) % mine_.size()];
      const auto& more = round_.extra.of_one_key;
      if (!more.empty() && luck / 8 % 16 == 0) {
        ask_mine(more[(luck >> 7U) % more.size()], place);
      } else {
        ask_mine(luck / 8 % 2 == 0 ? operation::insert : operation::erase, place);
      }
      return;
    }
    ask_mine(empties_ ? operation::erase : operation::insert, mine_[next_]);
    if (++next_ < mine_.size()) return;
    next_ = 0;
    empties_ = !empties_;
    done_ = is_.goes == course::growing;
  }

  // Searches: for a key of its own, for one that stays, or for another thread's.
  void look(std::uint64_t luck) {
    if (is_.crossing && luck % 2 == 0 && seen_.observations.size() < most_observations) {
      return look_at_others(luck >> 1U);
    }
    const std::size_t place = (luck >> 1U) % is_.keys.size();
    if (is_.belongs_to(place, me_)) return ask_mine(operation::find, place);
    if (is_.stays[place]) return look_at_staying(place);
    if (!mine_.empty()) ask_mine(operation::find, mine_[(luck >> 1U) % mine_.size()]);
  }

  void look_at_staying(std::size_t place) {
    begin();
    const question asked{.kind = operation::find, .key = is_.keys[place]};
    const answer got = ask(asked);
    if (std::get<std::optional<std::uint64_t>>(got) != round_.staying[place]) {
      round_.fail(told_call(asked) + " answered " + to_string(got) + ", but " +
                  told_staying(place) + ".\n");
    }
    end();
  }

  [[nodiscard]] std::string told_staying(std::size_t place) const {
    return "key " + std::to_string(is_.keys[place]) + " was held all the time with the value " +
           std::to_string(round_.staying[place]) + ": thread " +
           std::to_string(is_.owners.owner(place)) + " had inserted it before";
  }

  // At the key that another thread has just changed, or at any.
  void look_at_others(std::uint64_t luck) {
    const unsigned other =
        (me_ + 1 + static_cast<unsigned>(luck % (is_.owners.threads - 1))) % is_.owners.threads;
    const std::uint64_t returned =
        round_.far.at(other).returned.load(std::memory_order_relaxed);  // a hint
    std::size_t place = (luck >> 8U) % 2 == 0 ? returned >> 32U : (luck >> 9U) % is_.keys.size();
    if (is_.belongs_to(place, me_)) place = returned >> 32U;
    const unsigned owner = is_.owners.owner(place);
    if (owner == me_) return;  // the other has done nothing yet
    begin();
    const question asked{.kind = operation::find, .key = is_.keys[place]};
    window during = before(owner);
    const answer got = ask(asked);
    after(owner, during);
    seen_.observations.push_back({.asked = asked,
                                  .number = static_cast<std::uint32_t>(number_),
                                  .place = static_cast<std::uint32_t>(place),
                                  .during = during,
                                  .value = seen_value(asked, got)});
    end();
  }

  std::uint64_t seen_value(const question& asked, const answer& got) {
    const auto& found = std::get<std::optional<std::uint64_t>>(got);
    if (!found) return 0;
    if (*found == 0) {
      round_.fail(told_call(asked) + " answered 0, which nobody stored.\n");
    }
    return *found;
  }

  // That far from the key, which is -1, 0 or 1, if the map has a key there.
  [[nodiscard]] std::uint64_t beside(std::uint64_t key, std::uint64_t distance) const {
    const std::uint64_t end =
        distance == 1 ? greatest_key(round_.subject, is_.types->key) : least_key(round_.subject);
    return key == end ? key : key + distance;
  }

  // Ranges, snapshots, sizes, and what else the map offers.
  void ask_about_several() {
    const auto& narrow = round_.extra.narrow;
    const auto& whole = round_.extra.whole;
    // The whole is asked for less often the longer it takes.
    const bool all = narrow.empty() || draw_() % (2 + is_.keys.size() / is_.widest) == 0;
    const auto& kinds = all && !whole.empty() ? whole : narrow;
    if (kinds.empty() || (narrow.empty() && draw_() % (1 + is_.keys.size() / is_.widest) != 0)) {
      return look(draw_());
    }
    const operation kind = kinds[draw_() % kinds.size()];
    const std::uint64_t widest = all ? is_.keys.size() : is_.widest;
    const std::size_t first = draw_() % is_.keys.size();
    const std::size_t last = std::min<std::size_t>(first + draw_() % widest, is_.keys.size() - 1);
    // From a key or its neighbour, and to one.
    const question asked{.kind = kind,
                         .key = beside(is_.keys[first], draw_() % 3 - 1),
                         .value = 0,
                         .last = beside(is_.keys[last], draw_() % 2)};
    begin();
    windows during = before();
    const answer got = ask(asked);
    after(during);
    const bool atomic =
        std::ranges::find(round_.subject.atomic, kind) != round_.subject.atomic.end();
    if (kind <= operation::iterate) {
      check(asked, {.operation = workload::facts_of(kind).name, .asked = asked, .answered = got},
            during, atomic);
    } else if (const auto as_history = extra_facts_of(kind).as_history) {
      for (const subject::history_event& event : as_history(asked, &got))
        check(asked, event, during, atomic);
    } else {
      const bool spans = workload::facts_of(kind).spans;
      check(asked, {.operation = spans ? "range" : "iterate", .asked = asked, .answered = got},
            during, false);
    }
    end();
  }

  // An answer in the judge's words.
  void check(const question& asked, const subject::history_event& event, const windows& during,
             bool atomic) {
    if (event.operation == "size") {
      if (is_.crossing && atomic) {
        seen_.size_observations.push_back({.asked = asked,
                                           .number = static_cast<std::uint32_t>(number_),
                                           .answered = std::get<std::uint64_t>(event.answered),
                                           .during = during});
      }
    } else if (event.operation == "find") {
      const auto& found = std::get<std::optional<std::uint64_t>>(event.answered);
      std::vector<element> met;
      if (found) met.emplace_back(event.asked.key, *found);
      check_met(asked, event.asked.key, event.asked.key, met, during, false);
    } else if (event.operation == "range") {
      const auto& met = std::get<std::vector<element>>(event.answered);
      const auto descent = std::ranges::adjacent_find(
          met, [](const element& a, const element& b) { return a.first >= b.first; });
      if (descent != met.end()) {
        return round_.fail(told_call(asked) + " met key " + std::to_string(descent->first) +
                           " and then key " + std::to_string(std::next(descent)->first) +
                           ", but a range ascends.\n");
      }
      check_met(asked, event.asked.key, event.asked.last, met, during, atomic);
    } else if (event.operation == "empty") {
      // As a snapshot that met nothing; that there is something says little.
      if (std::get<bool>(event.answered)) check_met(asked, 0, UINT64_MAX, {}, during, atomic);
    } else if (event.operation == "snapshot" || event.operation == "iterate") {
      check_met(asked, 0, UINT64_MAX, std::get<std::vector<element>>(event.answered), during,
                atomic);
    }
  }

  void check_met(const question& asked, std::uint64_t first, std::uint64_t last,
                 const std::vector<element>& met, const windows& during, bool atomic) {
    if (last < first) {
      if (!met.empty()) round_.fail(told_call(asked) + " met something, but its range is empty.\n");
      return;
    }
    const auto place_of = [&](std::uint64_t key) {
      return static_cast<std::size_t>(std::ranges::lower_bound(is_.keys, key) - is_.keys.begin());
    };
    const std::size_t begin = place_of(first);
    const std::size_t end = last == UINT64_MAX ? is_.keys.size() : place_of(last + 1);
    std::fill(met_.begin() + static_cast<std::ptrdiff_t>(begin),
              met_.begin() + static_cast<std::ptrdiff_t>(end), 0);
    std::size_t next = begin;
    for (const auto& [key, value] : met) {
      if (next >= end || is_.keys[next] != key) next = place_of(key);
      const auto wrong = wrong_element(key, value, next, begin, end);
      if (!wrong.empty()) {
        return round_.fail(told_call(asked) + " met " + std::to_string(value) + " under key " +
                           std::to_string(key) + ", " + wrong + ".\n");
      }
      met_[next++] = value;
    }
    for (std::size_t place = begin; place < end; ++place) {
      if (met_[place] != 0) continue;
      if (is_.stays[place]) {
        return round_.fail(told_call(asked) + " left out key " + std::to_string(is_.keys[place]) +
                           ", but " + told_staying(place) + ".\n");
      }
      if (is_.belongs_to(place, me_) && of_mine(place).value != 0) {
        return round_.fail(told_call(asked) + " left out key " + std::to_string(is_.keys[place]) +
                           ", but " + told_key(place) + ".\n");
      }
    }
    if (is_.crossing && seen_.values.size() + (end - begin) <= most_values) {
      seen_.visit_observations.push_back({.asked = asked,
                                          .number = static_cast<std::uint32_t>(number_),
                                          .first = static_cast<std::uint32_t>(begin),
                                          .count = static_cast<std::uint32_t>(end - begin),
                                          .atomic = atomic,
                                          .during = during,
                                          .values = seen_.values.size()});
      seen_.values.insert(seen_.values.end(), met_.begin() + static_cast<std::ptrdiff_t>(begin),
                          met_.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }

  // What is wrong with an element that was met, by what is known at once.
  [[nodiscard]] std::string wrong_element(std::uint64_t key, std::uint64_t value, std::size_t place,
                                          std::size_t begin, std::size_t end) const {
    if (place >= is_.keys.size() || is_.keys[place] != key) return "which nobody ever inserted";
    if (place < begin || place >= end) return "which is outside its bounds";
    if (met_[place] != 0) return "which it met twice";
    if (is_.stays[place]) return value == round_.staying[place] ? "" : "but " + told_staying(place);
    if (is_.belongs_to(place, me_)) {
      return value == of_mine(place).value && value != 0 ? "" : "but " + told_key(place);
    }
    if (origin_of(value).thread == is_.owners.owner(place)) return "";
    return "but that is not a value that thread " + std::to_string(is_.owners.owner(place)) +
           " stored, which alone inserts it";
  }

  round& round_;
  const shape& is_;
  unsigned me_;
  splitmix64 draw_;
  std::unique_ptr<subject::any_handle> handle_;
  std::vector<std::size_t> mine_{};  // places of its own keys that do not stay, in some order
  std::vector<known> known_;         // of its own keys, in ascending order
  std::vector<std::uint64_t> met_;   // values that a visit met, by place; 0 for none
  thread_log seen_{};
  disturbance disturbed_;
  std::uint64_t number_ = 0;  // of its last operation
  std::size_t next_ = 0;      // in mine_
  bool empties_ = false;
  bool done_ = false;
};

// What a walk and the size say when all threads have left.
std::string wrong_at_rest(any_map& map, const round& of,
                          const std::vector<std::unique_ptr<player>>& players) {
  const shape& is = of.is;
  const auto owner = [&](std::size_t place) -> const player& {
    return *players[is.owners.owner(place)];
  };
  std::vector<bool> met(is.keys.size());
  for (const auto& [key, stored] : walk(map, 2 * is.keys.size() + 1)) {
    const std::uint64_t value = stored ^ is.mask;
    const auto at = std::ranges::lower_bound(is.keys, key);
    const auto place = static_cast<std::size_t>(at - is.keys.begin());
    const std::string text = "At its end a walk met " + std::to_string(value) + " under key " +
                             std::to_string(key) + ", ";
    if (at == is.keys.end() || *at != key) return text + "which nobody ever inserted.\n";
    if (met[place]) return text + "and had met that key before.\n";
    if (owner(place).of_mine(place).value != value || value == 0) {
      return text + "but " + owner(place).told_key(place) + ".\n";
    }
    met[place] = true;
  }
  for (std::size_t place = 0; place < met.size(); ++place) {
    if (!met[place] && owner(place).of_mine(place).value != 0) {
      return "At its end a walk did not meet key " + std::to_string(is.keys[place]) + ", but " +
             owner(place).told_key(place) + ".\n";
    }
  }
  // While threads change the map, a size that is wrong by few may be right at some moment of the
  // call.
  const auto& atomic = of.subject.atomic;
  if (std::ranges::find(atomic, operation::size) != atomic.end()) {
    const auto held = static_cast<std::uint64_t>(std::ranges::count(met, true));
    const auto answered = std::get<std::uint64_t>(map.attach()->ask({.kind = operation::size}));
    if (answered != held) {
      return "At its end size() answered " + std::to_string(answered) + ", but the map held " +
             std::to_string(held) + " elements.\n";
    }
  }
  if (const auto broken = map.broken_invariant()) return "At its end: " + *broken + '\n';
  return "";
}

std::string play_round(round& of, std::uint64_t seed, watchdog& watch, measure::crew& crew,
                       owned& sums) {
  const shape& is = of.is;
  of.staying.resize(is.keys.size());
  const auto map = watch.over(build_as(*is.types, is.keys.size(), is.owners.threads));
  std::vector<std::unique_ptr<player>> players(is.owners.threads);
  const auto all = [&](auto act) {
    crew.run([&](unsigned thread) {
      if (thread >= is.owners.threads) return;
      try {
        act(thread);
      } catch (...) {
        of.over.store(true, std::memory_order_relaxed);
        throw;
      }
    });
  };
  const auto begin = steady_clock::now();
  all([&](unsigned thread) {
    players[thread] = std::make_unique<player>(of, thread, *map, random::derive_seed(seed, thread));
    players[thread]->prefill();
  });
  of.end = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(is.duration);
  {
    std::optional<disturb_at_points> disturbed;
    if (is.disturbed) disturbed.emplace();
    std::optional<suppress_yields> closely;
    if (is.closely) closely.emplace();
    all([&](unsigned thread) { players[thread]->play(); });
  }
  const std::chrono::duration<double> seconds = steady_clock::now() - begin;
  all([&](unsigned thread) { players[thread]->leave(); });
  const bool at_full_speed = !is.disturbed && !is.lingers;
  std::vector<thread_log> thread_logs;
  ++sums.rounds;
  for (const auto& each : players) {
    sums.operations += each->operations();
    if (at_full_speed) sums.undisturbed += each->operations();
    thread_logs.push_back(std::move(each->seen()));
    sums.observations += thread_logs.back().observations.size() + thread_logs.back().values.size();
  }
  if (at_full_speed) sums.undisturbed_seconds += seconds.count();
  if (!of.problem.empty()) return of.problem;
  watch.sign_of_life();
  const std::string unexplained_answer =
      unexplained({.owners = is.owners, .keys = is.keys, .thread_logs = thread_logs});
  return unexplained_answer.empty() ? wrong_at_rest(*map, of, players) : unexplained_answer;
}

// One of the maps of a round of many.
struct map_in_round {
  round of;
  std::unique_ptr<any_map> map{};
  std::vector<std::unique_ptr<player>> players{};
};

// Which of the maps thread 0 is at: the other threads follow it. Nothing is published by it:
// relaxed.
class lead {
 public:
  // Says how many others are there, once any are or when it has waited for as long as it takes to
  // come.
  void go_to(std::uint64_t map) {
    constexpr unsigned most_pauses = 200;
    arrived_.store(0, std::memory_order_relaxed);
    map_.store(map, std::memory_order_relaxed);
    for (unsigned i = 0; i < most_pauses && arrived_.load(std::memory_order_relaxed) == 0; ++i) {
      pause_processor();
    }
  }
  void arrive() { arrived_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t map() const { return map_.load(std::memory_order_relaxed); }

 private:
  alignas(workload::interference_bytes) std::atomic<std::uint64_t> map_{0};
  alignas(workload::interference_bytes) std::atomic<unsigned> arrived_{0};
};

// All that a follower does in one of the maps. Searches for keys that stay meet whatever thread 0
// does, also what it had begun when it lost its processor; when they have been enough they wait for
// it.
void follow(player& mine, any_map& map, const lead& leader, std::uint64_t number) {
  constexpr unsigned enough = 200;
  mine.enter(map);
  for (unsigned searches = 0; leader.map() == number; ++searches) {
    if (searches < enough) {
      mine.search();
    } else {
      give_way();
    }
  }
  mine.leave();
}

// What goes wrong while a map grows is over in a microsecond, and some of it happens once in the
// life of a map. So this round is on many maps, each about to grow: thread 0 makes one after the
// other grow, and the others search it meanwhile. They do not wait for each other, as on busy
// processors that takes milliseconds each time. Says which map was wrong, if any.
std::unique_ptr<map_in_round> play_batch(std::vector<std::unique_ptr<map_in_round>> maps,
                                         std::uint64_t seed, measure::crew& crew, owned& sums) {
  const shape& common = maps.front()->of.is;
  const unsigned threads = common.owners.threads;
  const auto all = [&](auto act) {
    crew.run([&](unsigned thread) {
      if (thread < threads) act(thread);
    });
  };
  all([&](unsigned thread) {
    for (std::size_t n = 0; n < maps.size(); ++n) {
      // Each begins elsewhere, so that they seldom wait for each other's locks.
      const std::size_t i = (n + thread * maps.size() / threads) % maps.size();
      map_in_round& one = *maps[i];
      one.players[thread] = std::make_unique<player>(
          one.of, thread, *one.map, random::derive_seed(seed, i * threads + thread));
      one.players[thread]->prefill();
      one.players[thread]->leave();
    }
  });
  lead leader;
  all([&](unsigned thread) {
    if (thread == 0) {
      try {
        for (std::size_t i = 0; i < maps.size() && !maps[i]->of.over; ++i) {
          player& mine = *maps[i]->players[0];
          mine.enter(*maps[i]->map);
          leader.go_to(i);
          mine.play();
          mine.leave();
        }
      } catch (...) {
        leader.go_to(maps.size());
        throw;
      }
      return leader.go_to(maps.size());
    }
    for (std::uint64_t i = 0; (i = leader.map()) < maps.size();) {
      leader.arrive();
      follow(*maps[i]->players[thread], *maps[i]->map, leader, i);
    }
  });
  for (auto& one : maps) {
    for (const auto& each : one->players) sums.operations += each->operations();
    if (one->of.problem.empty()) one->of.problem = wrong_at_rest(*one->map, one->of, one->players);
    if (!one->of.problem.empty()) return std::move(one);
  }
  return nullptr;
}

constexpr const char* many_at_once =
    "Many maps lived at once. If a process cannot have two of this type, declare it: "
    "static constexpr bool one_at_a_time = true\n";

// Until its time is over or a map was wrong, which it then leaves in `of`.
std::string play_round_of_many(round& of, const std::function<shape()>& draw_next, splitmix64& draw,
                               watchdog& watch, measure::crew& crew, owned& sums) {
  const std::size_t most_maps = of.subject.one_at_a_time ? 1 : 128;
  const auto end =
      steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(of.is.duration);
  const unsigned threads = of.is.owners.threads;
  const bool may_wait_closely = of.is.closely;
  ++sums.rounds;
  do {
    // On idle processors threads meet at full speed, on busy ones where one is taken off its
    // processor.
    of.is.disturbed = randomness() > 0 || draw() % 2 == 0;
    of.is.closely = may_wait_closely && !of.is.disturbed;
    std::optional<disturb_at_points> disturbed;
    if (of.is.disturbed) disturbed.emplace();
    std::optional<suppress_yields> closely;
    if (of.is.closely) closely.emplace();
    std::vector<std::unique_ptr<map_in_round>> maps;
    for (std::size_t i = 0; i < most_maps && (i == 0 || steady_clock::now() < end); ++i) {
      // NOLINTNEXTLINE(modernize-make-unique): a round is made in place, as it cannot be moved
      maps.push_back(std::unique_ptr<map_in_round>(
          new map_in_round{.of = {.subject = of.subject, .extra = of.extra, .is = draw_next()}}));
      map_in_round& one = *maps.back();
      one.of.staying.resize(one.of.is.keys.size());
      // When the time is over, only the first map is still played to its end: one map may be slow.
      one.of.end = i == 0 ? steady_clock::time_point::max() : end;
      one.players.resize(threads);
      one.map = watch.over(build_as(*one.of.is.types, one.of.is.keys.size(), threads));
    }
    if (const auto wrong = play_batch(std::move(maps), draw(), crew, sums)) {
      of.is = wrong->of.is;
      return wrong->of.problem;
    }
  } while (steady_clock::now() < end);
  return "";
}

}  // namespace

owned check_owners(const subject_entry& subject, const owning& asked) {
  watchdog watch({.check = "owners", .map = subject.name, .seed = asked.seed});
  const extra_kinds extra(subject);
  measure::crew crew(most_threads(subject));
  splitmix64 draw(asked.seed);
  owned sums;
  const auto begin = steady_clock::now();
  const auto left = [&] { return asked.duration - (steady_clock::now() - begin); };
  const auto slow_sizes = telling_failures(subject.name, asked.seed,
                                           [&] { return find_slow_sizes(subject, watch, crew); });
  constexpr std::uint64_t many_in = 3;
  for (bool last = false; !last;) {
    last = left() < 0.3 * asked.duration;
    const bool many = !last && sums.rounds % many_in == 0;
    round next{.subject = subject,
               .extra = extra,
               .is = last   ? draw_long(draw, subject)
                     : many ? draw_many(draw, subject)
                            : draw_shape(draw, subject, sums.rounds - sums.rounds / many_in - 1)};
    if (!many) draw_ends(draw, subject, next.is);
    next.is.duration = std::min(next.is.duration, asked.duration);
    if (last) next.is.duration = left();
    if (randomness() > 0) next.is.disturbed = true;
    next.is.closely = !next.is.disturbed && !next.is.lingers && draw() % 2 == 0;
    const std::uint64_t seed = draw();
    const char* const hint = many && !subject.one_at_a_time ? many_at_once : "";
    watch.hint(hint);
    const auto play = [&] {
      if (!many) return play_round(next, seed, watch, crew, sums);
      const auto draw_next = [&] {
        shape one = draw_changing(draw, next.is, slow_sizes);
        draw_ends(draw, subject, one);
        return one;
      };
      return play_round_of_many(next, draw_next, draw, watch, crew, sums);
    };
    const std::string problem = telling_failures(subject.name, asked.seed, play);
    watch.hint("");
    if (problem.empty()) continue;
    sums.problem = problem + "That was in round " + std::to_string(sums.rounds) + " of seed " +
                   std::to_string(asked.seed) + ", on a new map: " + described(next.is, subject) +
                   ". Each key is inserted and erased by one thread alone.\n" + hint;
    break;
  }
  return sums;
}

}  // namespace assay::rig
