// The rig itself, on maps of which it is known what it must find.

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "assay/rig/clock.h"
#include "assay/rig/linearizability.h"
#include "assay/rig/progress.h"
#include "assay/rig/recorder.h"
#include "assay/rig/stress.h"
#include "assay/rig/test_maps.h"
#include "assay/subject/subject.h"
#include "tests/test_maps.h"

namespace assay::rig {
namespace {

using subject::element;
using subject::find_subject;
using subject::test_map;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using workload::operation;

const subject::map<cells> sound{"cells", "lock-free"};
const subject::map<cells_unchecked> unchecked{"cells_unchecked", "loses updates"};
const subject::map<cells_with_size> counting{"cells_with_size", "sizes of no instant"};
const subject::map<locked_cells<false>> locked{"locked_cells", "with a lock"};
const subject::map<locked_cells<true>> boasting{"boasting_cells", "says it has no lock"};

class throws_at_3 : public test_map<throws_at_3> {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (key == 3) throw std::runtime_error("3 is too much");
    return sound_map::insert(key, value);
  }
};
const subject::map<throws_at_3> throwing{"throws_at_3", "throws"};

class throws_a_number : public test_map<throws_a_number> {
 public:
  bool erase(std::uint64_t /*key*/) { throw 3; }
};
const subject::map<throws_a_number> throwing_no_exception{"throws_a_number", "throws an int"};

// An insert after an erase leaves the key there twice, and says that it has inserted it.
class inserts_again : public subject::sound_map {
 public:
  bool erase(std::uint64_t key) {
    const bool erased = sound_map::erase(key);
    if (erased) erased_ = key;
    return erased;
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : elements) {
      visit(key, value);
      if (key == erased_) visit(key, value);
    }
  }
  auto attach() { return plain_handle(*this); }
  bool insert(std::uint64_t key, std::uint64_t value) {
    return sound_map::insert(key, value) || key == erased_;
  }

 private:
  std::atomic<std::uint64_t> erased_{0};
};
const subject::map<inserts_again> inserting_again{"inserts_again", "holds a key twice"};

class keeps_2 : public test_map<keeps_2> {
 public:
  bool erase(std::uint64_t key) { return key == 2 ? find(key).has_value() : sound_map::erase(key); }
};
const subject::map<keeps_2> keeping{"keeps_2", "says that it erases 2"};

// When several threads were in it and nobody is any more, it is locked, from the third time on.
class locks_up : public test_map<locks_up> {
 public:
  class handle : public plain_handle<locks_up> {
   public:
    explicit handle(locks_up& map) : plain_handle(map), map_(&map) {
      ++map.inside_;
      ++map.came_;
    }
    ~handle() {
      if (--map_->inside_ == 0 && map_->came_.exchange(0) > 1 && ++left == 3) map_->mutex.lock();
    }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

   private:
    locks_up* map_;
  };
  handle attach() { return handle(*this); }
  template <class Visit>
  void for_each(Visit&& visit) {
    const std::scoped_lock lock(mutex);
    for (const auto& [key, value] : elements) visit(key, value);
  }

 private:
  inline static std::atomic<int> left{0};  // times, of all maps
  std::atomic<int> inside_{0};
  std::atomic<int> came_{0};
};
const subject::map<locks_up> locking_up{"locks_up", "the last to leave takes the lock with it"};

TEST(clock, stamps_lie_around_what_they_are_taken_of) {
  const stamp_clock clock;
  for (int i = 0; i < 1000; ++i) {
    const auto call = clock.before();
    const auto end = clock.after();
    EXPECT_LE(clock.ns(call, call), 0);
    EXPECT_LE(clock.ns(call, call), clock.ns_up(end, call));
    EXPECT_GE(clock.ns(end, call), -2 * clock.uncertainty_ns());
  }
}

TEST(clock, stamps_of_threads_that_follow_each_other_do) {
  const stamp_clock clock;
  std::uint64_t last = clock.before();
  const std::uint64_t start = last;
  for (int i = 0; i < 50; ++i) {
    std::jthread([&] {
      const auto now = clock.after();
      EXPECT_GE(clock.ns_up(now, start), clock.ns(last, start));
      last = now;
    }).join();
  }
}

// A clock of turns, so that what is found does not depend on how long a turn takes.
TEST(clock, a_difference_between_processors_is_found) {
  for (const unsigned slow : {0U, 1U}) {
    std::atomic<std::uint64_t> turns{10'000};
    const auto skewed = [&](unsigned thread) { return ++turns - (thread == slow ? 1000 : 0); };
    EXPECT_EQ(greatest_difference(skewed, std::array{0U, 0U}), 999U);
  }
  std::atomic<std::uint64_t> turns{0};
  EXPECT_EQ(greatest_difference([&](unsigned) { return ++turns; }, std::array{0U, 0U}), 0U);
}

TEST(clock, what_differs_widens_both_ends) {
  const stamp_clock clock(1000);
  const auto wider = clock.uncertainty_ns();
  EXPECT_GT(wider, 0);
  const auto now = clock.before();
  EXPECT_EQ(clock.ns(now, now), -wider);
  EXPECT_EQ(clock.ns_up(now, now), wider);
}

TEST(history, is_a_line_of_json) {
  std::ostringstream out;
  write(out, {.map = "m",
              .seed = 7,
              .number = 2,
              .start = {{1, 101}},
              .operations = {{.thread = 1,
                              .asked = {.kind = operation::find, .key = 3},
                              .answered = std::optional<std::uint64_t>(),
                              .call_ns = -4,
                              .return_ns = 9}},
              .end = {}});
  EXPECT_EQ(out.str(),
            R"({"end":[],"map":"m","number":2,"operations":[{"answer":null,"call":-4,"key":3,)"
            R"("last":0,"op":"find","return":9,"thread":1,"value":0}],"seed":7,"start":[[1,101]]})"
            "\n");
}

std::vector<history> recorded_of(const std::string& name, const recording& asked) {
  std::vector<history> all;
  record(find_subject(name), asked, [&](const history& one) { all.push_back(one); });
  return all;
}

TEST(recorder, draws_the_same_operations_for_the_same_seed) {
  const auto operations_of = [](std::uint64_t seed) {
    std::string all;
    for (const auto& one : recorded_of("cells", {.seed = seed, .histories = 50})) {
      for (const auto& record : one.operations) all += to_string(record.asked) + ' ';
      all += '\n';
    }
    return all;
  };
  EXPECT_EQ(operations_of(1), operations_of(1));
  EXPECT_NE(operations_of(1), operations_of(2));
}

TEST(recorder, covers_threads_keys_and_operations) {
  std::set<std::size_t> threads;
  std::set<std::uint64_t> keys;
  std::set<operation> kinds;
  for (const auto& one : recorded_of("cells_with_size", {.seed = 3, .histories = 300})) {
    std::set<unsigned> in_this;
    for (const auto& record : one.operations) {
      in_this.insert(record.thread);
      keys.insert(record.asked.key);
      kinds.insert(record.asked.kind);
      EXPECT_LE(record.call_ns, record.return_ns);
    }
    threads.insert(in_this.size());
  }
  EXPECT_THAT(threads, ElementsAre(2, 3, 4));
  EXPECT_TRUE(std::ranges::includes(keys, std::set<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_THAT(kinds,
              ElementsAre(operation::insert, operation::erase, operation::find, operation::size));
}

TEST(recorder, lets_threads_meet) {
  const auto seen =
      record(find_subject("cells"), {.seed = 4, .histories = 1000}, [](const history&) {});
  EXPECT_EQ(seen.histories, 1000U);
  EXPECT_GT(seen.meeting, 50U);  // it was some 200
  EXPECT_GE(seen.overlapping, seen.meeting);
}

TEST(recorder, begins_where_the_last_history_on_the_map_ended) {
  bool any_went_on = false;
  std::vector<element> held;
  for (const auto& one : recorded_of("cells", {.seed = 5, .histories = 200})) {
    if (!one.start.empty()) {
      EXPECT_EQ(one.start, held);
      any_went_on = true;
    }
    held = one.end;
  }
  EXPECT_TRUE(any_went_on);
}

TEST(recorder, names_the_operation_that_threw) {
  EXPECT_THAT([] { recorded_of("throws_at_3", {.seed = 6, .histories = 100}); },
              ::testing::ThrowsMessage<operation_failed>(
                  AllOf(HasSubstr("of seed 6: insert(3, "), HasSubstr("3 is too much"))));
}

TEST(recorder, names_the_operation_that_threw_no_exception) {
  EXPECT_THAT([] { recorded_of("throws_a_number", {.seed = 6, .histories = 100}); },
              ::testing::ThrowsMessage<operation_failed>(AllOf(
                  HasSubstr("erase("), HasSubstr("threw something that is not a std::exception"))));
}

TEST(recorder, replaces_a_map_that_holds_what_it_should_not) {
  bool broken = false;
  bool any_broken = false;
  for (const auto& one : recorded_of("keeps_2", {.seed = 8, .histories = 300})) {
    if (broken) {
      EXPECT_EQ(one.start, std::vector<element>());
    }
    broken = std::ranges::any_of(one.operations, [](const operation_record& record) {
      return record.asked.kind == operation::erase && record.asked.key == 2 &&
             std::get<bool>(record.answered);
    });
    any_broken = any_broken || broken;
  }
  EXPECT_TRUE(any_broken);
}

// Also if the answers say that it does: two inserts of the key may both have answered true.
TEST(recorder, replaces_a_map_that_holds_a_key_twice) {
  bool any_twice = false;
  for (const auto& one : recorded_of("inserts_again", {.seed = 8, .histories = 300})) {
    const auto keys = [](const std::vector<element>& held) {
      std::set<std::uint64_t> all;
      for (const auto& [key, value] : held) all.insert(key);
      return all;
    };
    EXPECT_EQ(keys(one.start).size(), one.start.size());
    any_twice = any_twice || keys(one.end).size() < one.end.size();
  }
  EXPECT_TRUE(any_twice);
}

TEST(recorder, spreads_keys_and_leaves_out_those_that_nobody_asks_about) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const auto& one : recorded_of("cells", {.seed = seed, .histories = 100})) {
      EXPECT_LE(one.start.size(), 8U);
      EXPECT_LE(one.end.size(), 8U);
      for (const auto& record : one.operations) keys.insert(record.asked.key);
    }
  }
  EXPECT_GT(keys.size(), 50U);
  EXPECT_TRUE(keys.contains(0));
  EXPECT_TRUE(keys.contains(UINT64_MAX));
}

struct judged {
  judgement found;
  std::string printed;
};

judged judge(const std::string& name, std::uint64_t seed, std::uint64_t histories) {
  recorded counts;
  ::testing::internal::CaptureStdout();
  const judgement found =
      check_linearizability(find_subject(name), {.seed = seed, .histories = histories}, counts);
  EXPECT_EQ(counts.histories, histories);
  return {.found = found, .printed = ::testing::internal::GetCapturedStdout()};
}

TEST(linearizability, is_found_of_a_map_that_has_it) {
  const auto [found, printed] = judge("cells", 1, 1000);
  EXPECT_EQ(found, judgement::linearizable) << printed;
  EXPECT_THAT(printed, HasSubstr("all linearizable"));
}

// What the judge knows comes last.
TEST(linearizability_death, of_a_map_that_is_locked_for_good_ends_and_says_so) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto judge_it = [] {
    recorded counts;
    const recording asked{
        .seed = 1, .histories = 9, .patience = std::chrono::seconds(2), .duration = {}};
    static_cast<void>(check_linearizability(find_subject("locks_up"), asked, counts));
  };
  EXPECT_EXIT(judge_it(), ::testing::ExitedWithCode(3),
              "error: linearizability of locks_up, seed 1: .*a thread has left the map and kept "
              "a lock\n  thread 1 is inside for_each\\(\\), asleep: it waits for a lock of a "
              "thread that has left the map\n(.*\n)*.*the recorder ended after 2 of 9");
}

// These two are wrong only where threads meet at a marked point, which is up to the machine: of 400
// histories of the second, 35 to 45% showed it on two processors or one, idle or busy. So as many
// seeds are tried as are needed: all of them miss it once in 2000 times where only 5% of such 400
// show it.
std::string missed(const std::string& name) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    auto [found, printed] = judge(name, seed, 2000);
    if (found == judgement::not_linearizable) return printed;
    EXPECT_EQ(found, judgement::linearizable) << printed;
  }
  return "nothing was found";
}

TEST(linearizability, is_missed_where_an_insert_does_not_look_again) {
  EXPECT_THAT(missed("cells_unchecked"),
              AllOf(HasSubstr("No order of these operations explains"), HasSubstr("insert(")));
}

TEST(linearizability, is_missed_where_a_size_is_of_no_instant) {
  EXPECT_THAT(missed("cells_with_size"), HasSubstr("the answer of size(): "));
}

TEST(progress, points_are_those_marked_in_the_source) {
  EXPECT_THROW(static_cast<void>(points_marked_in("no such file")), std::runtime_error);
  const auto marked = points_marked_in(TEST_MAPS);
  EXPECT_THAT(marked,
              AllOf(Contains("cells_insert_before_swing"), Contains("marked_lock_holding")));
  EXPECT_THAT(points_passed(find_subject("cells"), 1),
              ElementsAre("cells_erase_before_swing", "cells_insert_before_swing"));
}

TEST(progress, points_are_found_wherever_a_formatter_puts_them) {
  const std::string file = ::testing::TempDir() + "/marked_points_" + std::to_string(getpid());
  std::ofstream(file) << "#define ASSAY_POINT(name) pass(name)\n"
                         "  ASSAY_POINT(\"one\"); ASSAY_POINT(\"two\");  // ASSAY_POINT(\"none\")\n"
                         "  ASSAY_POINT(\n      \"three\");\n";
  EXPECT_THAT(points_marked_in(file), ElementsAre("one", "three", "two"));
  std::filesystem::remove(file);
}

TEST(progress, nobody_waits_for_a_thread_suspended_in_a_lock_free_map) {
  for (const auto& point : points_passed(find_subject("cells"), 1)) {
    const auto seen = suspend_at(find_subject("cells"), point, {.seed = 1});
    EXPECT_TRUE(seen.reached) << point;
    EXPECT_EQ(seen.waited, std::nullopt) << point;
    EXPECT_EQ(seen.problem, "") << point;
  }
}

TEST(progress, updates_wait_for_the_holder_of_a_lock_and_searches_do_not) {
  for (const auto* name : {"locked_cells", "boasting_cells"}) {
    const auto updates = suspend_at(find_subject(name), "marked_lock_holding", {.seed = 1});
    EXPECT_TRUE(updates.reached);
    ASSERT_TRUE(updates.waited.has_value());
    EXPECT_NE(updates.waited->kind, operation::find);
    EXPECT_EQ(updates.problem, "");
    const auto searches = suspend_at(find_subject(name), "marked_lock_holding",
                                     {.seed = 1, .others = {operation::find}});
    EXPECT_TRUE(searches.reached);
    EXPECT_EQ(searches.waited, std::nullopt);
  }
}

TEST(progress, a_thread_that_waits_for_a_lock_holds_nobody_up) {
  const auto seen = suspend_at(find_subject("locked_cells"), "marked_lock_waiting", {.seed = 1});
  EXPECT_TRUE(seen.reached);
  EXPECT_EQ(seen.waited, std::nullopt);
}

TEST(progress, a_point_that_is_not_passed_is_not_reached) {
  const auto seen = suspend_at(find_subject("cells"), "elsewhere", {.seed = 1, .attempts = 100});
  EXPECT_FALSE(seen.reached);
  EXPECT_EQ(seen.problem, "");
}

// Whether the key that the suspended thread inserts is there again when it goes on is chance.
TEST(progress, an_update_that_was_lost_meanwhile_is_seen) {
  std::string problem;
  for (std::uint64_t seed = 1; problem.empty() && seed <= 30; ++seed) {
    problem = suspend_at(find_subject("cells_unchecked"), "cells_unchecked_insert_before_store",
                         {.seed = seed})
                  .problem;
  }
  EXPECT_THAT(problem, HasSubstr("was told to hold it"));
}

TEST(stress, finds_a_lost_update_and_no_other) {
  EXPECT_THAT(stress(find_subject("cells"), {.seed = 1}).problems, IsEmpty());
  EXPECT_GT(stress(find_subject("cells"), {.seed = 1}).operations, 0U);
  EXPECT_THAT(stress(find_subject("cells_unchecked"), {.seed = 1}).problems,
              Contains(HasSubstr("keys: ")));
}

}  // namespace
}  // namespace assay::rig
