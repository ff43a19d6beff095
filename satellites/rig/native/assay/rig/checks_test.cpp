// Model, memory and watchdog, on maps that do one thing wrong.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "assay/maps/invariant.h"
#include "assay/rig/memory.h"
#include "assay/rig/model.h"
#include "assay/rig/owners.h"
#include "assay/rig/progress.h"
#include "assay/rig/recorder.h"
#include "assay/rig/stress.h"
#include "assay/rig/watch/watchdog.h"
#include "assay/subject/any_map.h"
#include "assay/subject/subject.h"
#include "tests/test_maps.h"

namespace assay::rig {
namespace {

using subject::find_subject;
using subject::sound_map;
using subject::sound_ordered_map;
using subject::test_map;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using number = std::uint64_t;
using ordered_numbers = sound_ordered_map<number, number>;

const subject::map_template<subject::correct_ordered_map> sound{"sound",
                                                                "all operations, all types"};

class finds_less_of_two : public test_map<finds_less_of_two> {
 public:
  std::optional<number> find(number key) {
    return elements.size() < 2 ? sound_map::find(key) : std::nullopt;
  }
};
const subject::map<finds_less_of_two> no_find{"finds_less_of_two", "finds nothing among two"};

class throws_at_two : public test_map<throws_at_two> {
 public:
  bool insert(number key, number value) {
    if (elements.size() == 2) throw std::runtime_error("two are enough");
    return sound_map::insert(key, value);
  }
};
const subject::map<throws_at_two> throwing{"throws_at_two", "throws"};

class visits_backwards : public test_map<visits_backwards, ordered_numbers> {
 public:
  template <class Visit>
  void range(number first, number last, Visit visit) {
    ordered_numbers::range(std::min(first, last), std::max(first, last), visit);
  }
};
const subject::map<visits_backwards> backwards{"visits_backwards", "takes 9 to 3 for 3 to 9"};

template <bool TakesAnyKey>
class keeps_no_key_0 : public test_map<keeps_no_key_0<TakesAnyKey>> {
 public:
  static constexpr bool takes_any_key = TakesAnyKey;
  bool insert(number key, number value) {
    return key != 0 && key < number{1} << 63U && sound_map::insert(key, value);
  }
};
const subject::map<keeps_no_key_0<true>> no_key_0{"keeps_no_key_0", "takes 0 for no key"};
const subject::map<keeps_no_key_0<false>> says_so{"says_no_key_0", "and says so"};

// Takes two values for no value, as maps do that have values in place of pointers.
class keeps_no_value_0 : public test_map<keeps_no_value_0> {
 public:
  bool insert(number key, number value) {
    return value != 0 && value != UINT64_MAX && sound_map::insert(key, value);
  }
};
class says_no_value_0 : public test_map<says_no_value_0, keeps_no_value_0> {
 public:
  static constexpr std::array<number, 2> reserved_values{0, UINT64_MAX};
};
const subject::map<keeps_no_value_0> no_value_0{"keeps_no_value_0", "takes 0 for no value"};
const subject::map<says_no_value_0> says_no_value{"says_no_value_0", "and says so"};

// Keeps the bits above `Bits` of each value for itself.
template <unsigned Bits>
class marks_values : public test_map<marks_values<Bits>> {
 public:
  bool insert(number key, number value) { return sound_map::insert(key, value | ~low); }
  std::optional<number> find(number key) {
    const auto found = sound_map::find(key);
    return found ? std::optional(*found & low) : std::nullopt;
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    sound_map::for_each([&](number key, number value) { visit(key, value & low); });
  }

 private:
  static constexpr number low = UINT64_MAX >> (64 - Bits);
};
template <unsigned Bits>
class says_that_it_marks_values
    : public test_map<says_that_it_marks_values<Bits>, marks_values<Bits>> {
 public:
  static constexpr unsigned value_bits = Bits;
};
const subject::map<marks_values<63>> marking{"marks_values", "has values of 63 bits"};
const subject::map<says_that_it_marks_values<63>> of_63_bits{"values_of_63_bits", "and says so"};
const subject::map<says_that_it_marks_values<48>> of_48_bits{"values_of_48_bits", "of 48 bits"};

class walks_in_disorder : public test_map<walks_in_disorder> {
 public:
  static constexpr bool ordered = true;
  template <class Visit>
  void for_each(Visit&& visit) {
    std::for_each(elements.rbegin(), elements.rend(),
                  [&](const auto& one) { visit(one.first, one.second); });
  }
};
const subject::map<walks_in_disorder> disorderly{"walks_in_disorder", "descends"};

class looks_at_itself : public test_map<looks_at_itself> {
 public:
  std::optional<std::string> broken_invariant() const {
    return elements.size() < 3 ? std::nullopt : std::optional<std::string>("it holds three");
  }
};
const subject::map<looks_at_itself> introspective{"looks_at_itself", "knows what is wrong"};

template <class K, class V>
class cuts_strings_short : public test_map<cuts_strings_short<K, V>, sound_ordered_map<K, V>> {
 public:
  bool insert(const K& key, V value) {
    if constexpr (std::is_same_v<V, std::string>) {
      if (value.size() > 8) value.pop_back();
    }
    return sound_ordered_map<K, V>::insert(key, value);
  }
};
const subject::map_template<cuts_strings_short> cutting{"cuts_strings_short", "loses bytes"};

// Loses nothing but memory, and rarely.
template <bool Leaks>
class forgetful : public test_map<forgetful<Leaks>> {
 public:
  static constexpr bool leaks = Leaks;
  bool erase(number key) {
    const bool erased = sound_map::erase(key);
    if (erased && key == 5) {
      const std::scoped_lock lock(this->mutex);
      if (++erases_ % 25 == 0) forgotten().push_back(std::make_unique<number>(key));
    }
    return erased;
  }

 private:
  static std::vector<std::unique_ptr<number>>& forgotten() {
    static std::vector<std::unique_ptr<number>> all;
    return all;
  }
  number erases_ = 0;
};
const subject::map<forgetful<false>> forgets{"forgets_nodes", "keeps what it should free"};

// Frees what was erased when a thread has many of it.
class frees_in_batches : public test_map<frees_in_batches> {
 public:
  class handle : public plain_handle<frees_in_batches> {
   public:
    explicit handle(frees_in_batches& map) : plain_handle(map) {}
    bool erase(number key) {
      if (!plain_handle::erase(key)) return false;
      erased_.push_back(std::make_unique<number>(key));
      if (erased_.size() == 20'000) erased_.clear();
      return true;
    }

   private:
    std::vector<std::unique_ptr<number>> erased_;
  };
  handle attach() { return handle(*this); }
};
const subject::map<frees_in_batches> freeing{"frees_in_batches",
                                             "erased nodes wait for many others"};

class hangs : public test_map<hangs> {
 public:
  bool insert(number key, number value) {
    if (is_full()) std::promise<void>().get_future().wait();
    return sound_map::insert(key, value);
  }

 private:
  bool is_full() {
    const std::scoped_lock lock(mutex);
    return elements.size() >= 3;
  }
};
const subject::map<hangs> hanging{"hangs", "does not return"};

// Now and then an insert returns with the lock, for which others do not sleep.
class keeps_spin_lock : public test_map<keeps_spin_lock> {
 public:
  bool insert(number key, number value) {
    spin_lock();
    const bool inserted = sound_map::insert(key, value);
    if (++inserts_ % 100 != 0) spin_unlock();
    return inserted;
  }
  bool erase(number key) {
    spin_lock();
    const bool erased = sound_map::erase(key);
    spin_unlock();
    return erased;
  }
  std::optional<number> find(number key) {
    spin_lock();
    auto found = sound_map::find(key);
    spin_unlock();
    return found;
  }

 private:
  // The acquire pairs with the release of spin_unlock().
  void spin_lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  void spin_unlock() { taken_.store(false, std::memory_order_release); }

  std::atomic<bool> taken_{false};
  number inserts_ = 0;  // guarded by it
};
const subject::map<keeps_spin_lock> keeps_spinning{"keeps_spin_lock", "lets all others spin"};

std::string difference(const std::string& map) {
  return check_model(find_subject(map), {.seed = 7, .operations = 4000, .keys = 20}).problem;
}

std::ptrdiff_t lines(const std::string& text) { return std::ranges::count(text, '\n'); }

TEST(model, finds_no_difference_in_a_sound_map_of_any_type) { EXPECT_EQ(difference("sound"), ""); }

// Some of each type are asked in any case.
TEST(model, ends_when_its_time_is_over) {
  const auto& subject = find_subject("sound");
  const modelled seen = check_model(
      subject,
      {.seed = 7, .operations = 400'000, .keys = 20'000, .duration = std::chrono::seconds(0)});
  EXPECT_EQ(seen.problem, "");
  EXPECT_GE(seen.operations, subject.types.size());
  EXPECT_LT(seen.operations, 1000);
}

TEST(model, leaves_out_what_a_difference_does_not_need) {
  const std::string report = difference("finds_less_of_two");
  EXPECT_THAT(report, ContainsRegex("insert\\(.*true\n.*insert\\(.*true\n.*find\\(.*nothing   but "
                                    "std::map: [0-9]+\n$"));
  EXPECT_EQ(lines(report), 4) << report;
  EXPECT_THAT(report, HasSubstr("Seed 7"));
}

TEST(model, takes_an_exception_for_a_difference) {
  const std::string report = difference("throws_at_two");
  EXPECT_THAT(report, HasSubstr("an exception: two are enough   but std::map: true"));
  EXPECT_EQ(lines(report), 4) << report;
}

TEST(model, asks_for_ranges_from_a_key_to_a_lesser_one) {
  const std::string report = difference("visits_backwards");
  EXPECT_THAT(report, ContainsRegex("range\\(.*but std::map: \\{\\}\n$"));
  EXPECT_EQ(lines(report), 3) << report;
}

TEST(model, asks_for_the_least_and_the_greatest_keys_unless_told_not_to) {
  EXPECT_THAT(difference("keeps_no_key_0"), ContainsRegex("insert\\((0|[0-9]{19,}), .*false"));
  EXPECT_EQ(difference("says_no_key_0"), "");
}

TEST(model, stores_the_least_and_the_greatest_values_unless_told_not_to) {
  EXPECT_THAT(difference("keeps_no_value_0"),
              ContainsRegex("insert\\([0-9]+, (0|[0-9]{19,})\\) *false"));
  EXPECT_EQ(difference("says_no_value_0"), "");
  EXPECT_THAT(difference("marks_values"), ContainsRegex("find\\(|a walk"));
  EXPECT_EQ(difference("values_of_63_bits"), "");
  EXPECT_EQ(difference("values_of_48_bits"), "");
}

TEST(model, looks_at_order_and_at_the_invariants_of_the_map) {
  EXPECT_THAT(difference("walks_in_disorder"), HasSubstr("a walk does not ascend"));
  const std::string report = difference("looks_at_itself");
  EXPECT_THAT(report, HasSubstr("it holds three"));
  EXPECT_EQ(lines(report), 5) << report;
}

TEST(model, asks_for_all_types_that_the_map_holds) {
  EXPECT_THAT(difference("cuts_strings_short"),
              AllOf(HasSubstr("values of bytes"), HasSubstr("-> 0}   but std::map:")));
}

// Throws when it is given what it says that it does not take.
class defends_itself : public test_map<defends_itself, ordered_numbers> {
 public:
  static constexpr bool takes_any_key = false;
  static constexpr std::array<number, 3> reserved_values{0, 1, UINT64_MAX};
  bool insert(number key, number value) {
    if (std::ranges::find(reserved_values, value) != reserved_values.end()) {
      throw std::logic_error("a value that is reserved");
    }
    return ordered_numbers::insert(taken(key), value);
  }
  bool erase(number key) { return ordered_numbers::erase(taken(key)); }
  std::optional<number> find(number key) { return ordered_numbers::find(taken(key)); }
  template <class Visit>
  void range(number first, number last, Visit visit) {
    ordered_numbers::range(taken(first), taken(last), visit);
  }

 private:
  static number taken(number key) {
    if (key == 0 || key >= number{1} << 63U) throw std::logic_error("a key that is reserved");
    return key;
  }
};
const subject::map<defends_itself> defending{"defends_itself", "throws at what it reserves"};

TEST(concurrent_checks, give_no_map_what_it_reserves) {
  for (const auto* name : {"defends_itself", "values_of_63_bits", "values_of_48_bits"}) {
    SCOPED_TRACE(name);
    const auto& subject = find_subject(name);
    EXPECT_EQ(record(subject, {.seed = 1, .histories = 1000}, [](const history&) {}).histories,
              1000);
    EXPECT_EQ(check_owners(subject, {.seed = 1, .duration = std::chrono::seconds(1)}).problem, "");
    const progress_found seen = check_progress(subject, 1);
    EXPECT_TRUE(seen.passed) << ::testing::PrintToString(seen.lines);
    EXPECT_THAT(stress(subject, {.seed = 1}).problems, IsEmpty());
    EXPECT_EQ(memory_kept(subject, {.seed = 1}).problem, "");
  }
}

TEST(concurrent_checks, find_bits_of_values_that_a_map_keeps_without_saying_so) {
  const auto& subject = find_subject("marks_values");
  EXPECT_THAT(stress(subject, {.seed = 1}).problems, ::testing::Not(IsEmpty()));
  EXPECT_THAT(check_owners(subject, {.seed = 1, .duration = std::chrono::seconds(1)}).problem,
              ContainsRegex("find\\(|a walk"));
}

TEST(stress, looks_at_the_invariants_of_the_map) {
  EXPECT_THAT(stress(find_subject("looks_at_itself"), {.seed = 1}).problems,
              Contains(HasSubstr("it holds three")));
  EXPECT_THAT(stress(find_subject("sound"), {.seed = 1}).problems, IsEmpty());
}

TEST(memory, comes_back_from_a_sound_map_and_not_from_one_that_loses_little) {
  EXPECT_EQ(memory_kept(find_subject("sound"), {.seed = 1}).problem, "");
  EXPECT_THAT(memory_kept(find_subject("forgets_nodes"), {.seed = 1}).problem,
              HasSubstr("bytes allocated after a map was destroyed"));
}

TEST(memory, asks_less_of_a_map_that_takes_too_long) {
  const remembering asked{.seed = 1, .patience = std::chrono::nanoseconds(1)};
  const kept_memory seen = memory_kept(find_subject("sound"), asked);
  EXPECT_EQ(seen.problem, "");
  EXPECT_LT(seen.operations, 4 * asked.operations * asked.rounds / 2);
  EXPECT_THAT(seen.no_time_for, HasSubstr("16 "));
}

TEST(memory, of_what_is_freed_in_large_batches_is_bounded) {
  EXPECT_EQ(
      memory_kept(find_subject("frees_in_batches"), {.seed = 1, .patience = std::chrono::hours(1)})
          .problem,
      "");
}

TEST(runs_since, tells_a_busy_thread_that_was_stopped_from_one_that_sleeps_between) {
  const thread_state first{.known = true, .sleeps = 5, .ran_ns = 1'000'000};
  const auto later = [](std::uint64_t sleeps, std::uint64_t ran_ns) {
    return thread_state{.known = true, .sleeps = sleeps, .ran_ns = ran_ns};
  };
  EXPECT_TRUE(runs_since(first, later(5, 1'000'001)));
  EXPECT_TRUE(runs_since(first, later(17, 250'000'000)));   // stopped twelve times
  EXPECT_FALSE(runs_since(first, later(505, 11'000'000)));  // 20 us after each sleep
  EXPECT_FALSE(runs_since(first, first));
}

void give_little_time() {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // No other thread runs yet.
  ::setenv("ASSAY_RIG_PATIENCE", "0.5", 1);  // NOLINT(concurrency-mt-unsafe)
}

TEST(watchdog_death, ends_the_process_and_says_what_each_thread_is_inside_of) {
  give_little_time();
  EXPECT_EXIT(difference("hangs"), ::testing::ExitedWithCode(3),
              "error: model of hangs, seed 7: (.*: )?insert\\(.*\\) does not return, and no other "
              "thread is inside the map: it waits for what nobody will do\n"
              "  thread 1 is inside insert\\(.*, asleep\n");
}

TEST(watchdog_death, watches_whole_trials) {
  give_little_time();
  EXPECT_EXIT(static_cast<void>(stress(find_subject("hangs"), {.seed = 9})),
              ::testing::ExitedWithCode(3),
              "error: stress of hangs, seed 9: .*\n"
              "  thread 1 is inside insert\\([0-9]+\\), asleep");
}

TEST(watchdog_death, tells_threads_that_spin_from_those_that_sleep) {
  give_little_time();
  EXPECT_EXIT(
      static_cast<void>(stress(find_subject("keeps_spin_lock"), {.seed = 9})),
      ::testing::ExitedWithCode(3),
      "nothing has happened for 0.5 s.*\n(.*\n)*"
      "  thread [0-9]+ is inside .*, busy all the time: it loops or waits in a spin lock\n");
}

TEST(watchdog_death, watches_memory_checks) {
  give_little_time();
  EXPECT_EXIT(static_cast<void>(memory_kept(find_subject("hangs"), {.seed = 9})),
              ::testing::ExitedWithCode(3),
              "error: memory of hangs, seed 9: .*\n  thread 1 is inside insert\\(.*, asleep");
}

}  // namespace
}  // namespace assay::rig
