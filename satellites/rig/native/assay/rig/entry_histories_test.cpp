// The judge of histories of entry sets: on histories of which it is known what it must say, and on
// sets that do one thing wrong.

#include "assay/rig/entry_histories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "assay/rig/clock.h"
#include "assay/rig/test_sets.h"

namespace assay::rig {
namespace {

using ::testing::HasSubstr;
using number = std::uint64_t;
using kind = entry_call::kind;

// --- single histories ---------------------------------------------------------------------------

entry_call insert(number entry, std::int64_t call, std::int64_t end) {
  return {.asked = kind::insert, .lo = entry, .hi = entry, .call_ns = call, .return_ns = end};
}
entry_call ask(kind what, number lo, number hi, std::optional<number> found, std::int64_t call,
               std::int64_t end) {
  return {.asked = what, .lo = lo, .hi = hi, .found = found, .call_ns = call, .return_ns = end};
}
entry_call visit(number lo, number hi, std::vector<number> visited, std::int64_t call,
                 std::int64_t end) {
  return {.asked = kind::visit,
          .lo = lo,
          .hi = hi,
          .visited = std::move(visited),
          .call_ns = call,
          .return_ns = end};
}
constexpr std::optional<number> none;

// 2, 4 and 6 are inserted by 10, and 4 is erased between 40 and 50.
entry_history with(const std::vector<entry_call>& more, std::vector<number> end = {2, 6}) {
  entry_history seen{.calls = {insert(2, 0, 8), insert(4, 0, 9), insert(6, 0, 10),
                               ask(kind::erase, 4, 5, 4, 40, 50)},
                     .end = std::move(end)};
  seen.calls.insert(seen.calls.begin(), more.begin(), more.end());
  return seen;
}
std::string said_of(const entry_history& seen, std::size_t near = 1) {
  return broken_promise(seen, near).value_or("nothing");
}

TEST(broken_promise, is_none_where_all_is_as_promised) {
  EXPECT_EQ(said_of({}), "nothing");
  EXPECT_EQ(said_of(with({})), "nothing");
  EXPECT_EQ(said_of(with({ask(kind::search, 3, 5, 4, 20, 30), ask(kind::search, 1, 9, 6, 20, 30),
                          ask(kind::search, 3, 3, none, 20, 30),
                          ask(kind::erase, 3, 3, none, 20, 30), visit(1, 9, {2, 4, 6}, 20, 30),
                          visit(3, 5, {4}, 20, 30), visit(7, 9, {}, 20, 30)})),
            "nothing");
}

TEST(broken_promise, asks_nothing_of_what_came_or_went_meanwhile) {
  // 4 is being erased, before it is being inserted, or the other way round.
  for (const auto& [call, end] : std::vector<std::pair<int, int>>{{45, 60}, {30, 41}, {0, 3}}) {
    EXPECT_EQ(said_of(with({ask(kind::search, 3, 5, 4, call, end)})), "nothing");
    EXPECT_EQ(said_of(with({ask(kind::search, 3, 5, none, call, end)})), "nothing");
    EXPECT_EQ(said_of(with({visit(3, 5, {}, call, end), visit(3, 5, {4}, call, end)})), "nothing");
    EXPECT_EQ(said_of(with({ask(kind::erase, 3, 9, 6, call, end)}, {2})), "nothing");
  }
}

TEST(broken_promise, is_a_search_that_misses_what_was_there_all_the_time) {
  EXPECT_THAT(said_of(with({ask(kind::search, 3, 5, none, 20, 30)})),
              HasSubstr("search(3, 5) from 20 to 30 found none, and 4 was there all the time"));
  EXPECT_THAT(said_of(with({ask(kind::search, 5, 9, none, 60, 70)})), HasSubstr("6 was there"));
  EXPECT_THAT(said_of(with({ask(kind::erase, 5, 9, none, 60, 70)})), HasSubstr("6 was there"));
  EXPECT_THAT(said_of(with({ask(kind::erase_near, 5, 9, none, 60, 70)})), HasSubstr("6 was there"));
}

TEST(broken_promise, is_an_answer_that_was_not_there) {
  for (const kind what : {kind::search, kind::erase, kind::erase_near}) {
    EXPECT_THAT(said_of(with({ask(what, 1, 9, 3, 20, 30)})), HasSubstr("never inserted"));
    EXPECT_THAT(said_of(with({insert(8, 60, 70), ask(what, 7, 9, 8, 20, 30)},
                             what == kind::search ? std::vector<number>{2, 6, 8}
                                                  : std::vector<number>{2, 6})),
                HasSubstr("whose insert began at 60"));
  }
  EXPECT_THAT(said_of(with({ask(kind::search, 3, 5, 4, 51, 60)})),
              HasSubstr("which erase(4, 5) from 40 to 50 had removed"));
  EXPECT_THAT(said_of(with({ask(kind::search, 3, 5, 6, 20, 30)})), HasSubstr("outside its range"));
  EXPECT_THAT(said_of(with({ask(kind::erase, 3, 5, 2, 20, 30)}, {6})),
              HasSubstr("outside its range"));
}

TEST(broken_promise, is_an_entry_that_two_erases_return) {
  EXPECT_THAT(said_of(with({ask(kind::erase, 3, 5, 4, 45, 60)})), HasSubstr("as did erase"));
  EXPECT_THAT(said_of(with({ask(kind::erase_near, 3, 5, 4, 20, 30)})), HasSubstr("as did erase"));
}

TEST(broken_promise, is_an_erase_that_passes_over_a_smaller_entry) {
  EXPECT_THAT(said_of(with({ask(kind::erase, 1, 9, 6, 20, 30)}, {2})),
              HasSubstr("found 6, and 2 was there all the time"));
  EXPECT_THAT(said_of(with({ask(kind::erase, 3, 9, 6, 20, 30)}, {2})),
              HasSubstr("and 4 was there"));
  EXPECT_EQ(said_of(with({ask(kind::erase, 5, 9, 6, 20, 30)}, {2})), "nothing");
  const auto near = with({ask(kind::erase_near, 1, 9, 6, 20, 30)}, {2});
  EXPECT_EQ(said_of(near, 2), "nothing");
  EXPECT_THAT(said_of(near, 1), HasSubstr("and 4 was there all the time"));
}

TEST(broken_promise, is_a_visit_that_misses_or_invents_or_goes_back) {
  EXPECT_THAT(said_of(with({visit(1, 9, {2, 6}, 20, 30)})), HasSubstr("4 was there all the time"));
  EXPECT_THAT(said_of(with({visit(1, 9, {}, 60, 70)})), HasSubstr("found none, and 2 was there"));
  EXPECT_THAT(said_of(with({visit(1, 9, {2, 3, 4, 6}, 20, 30)})), HasSubstr("never inserted"));
  EXPECT_THAT(said_of(with({visit(1, 9, {2, 4, 6}, 60, 70)})), HasSubstr("had removed"));
  EXPECT_THAT(said_of(with({visit(1, 9, {4, 2, 6}, 20, 30)})), HasSubstr("does not ascend"));
  EXPECT_THAT(said_of(with({visit(1, 9, {2, 4, 4, 6}, 20, 30)})), HasSubstr("does not ascend"));
}

TEST(broken_promise, is_an_end_that_does_not_follow) {
  EXPECT_THAT(said_of(with({}, {6})), HasSubstr("2 was inserted and not erased, and is gone"));
  EXPECT_THAT(said_of(with({}, {2})), HasSubstr("6 was inserted and not erased, and is gone"));
  EXPECT_THAT(said_of(with({}, {2, 4, 6})), HasSubstr("4 is there at the end, and was erased"));
  EXPECT_THAT(said_of(with({}, {2, 6, 7})), HasSubstr("7 is there at the end, and was never"));
  EXPECT_THAT(said_of(with({}, {2, 2, 6})), HasSubstr("does not ascend"));
}

TEST(broken_promise, cannot_be_told_of_entries_that_are_inserted_twice) {
  EXPECT_THROW(static_cast<void>(said_of(with({insert(4, 60, 70)}))), std::invalid_argument);
}

// --- sets that do one thing wrong ---------------------------------------------------------------

using locked_set = locked_set_by<std::mutex>;

struct misses_one_of_two : locked_set {
  std::optional<number> search(number lo, number hi) override {
    return held.size() % 2 == 0 ? std::nullopt : first(lo, hi);
  }
};
struct finds_the_erased : locked_set {
  std::optional<number> search(number lo, number hi) override {
    return lo <= erased && erased <= hi ? erased : first(lo, hi);
  }
  std::optional<number> erase(number lo, number hi) override {
    const auto found = locked_set::erase(lo, hi);
    erased = found.value_or(erased);
    return found;
  }
  number erased = greatest_entry;
};
struct finds_beyond : locked_set {
  std::optional<number> search(number lo, number) override { return first(lo, greatest_entry); }
};
struct invents : locked_set {
  std::optional<number> search(number lo, number hi) override {
    const auto found = first(lo, hi);
    return found && *found < hi ? *found + 1 : found;
  }
};
struct loses_inserts : locked_set {
  void insert(number entry) override {
    if (held.size() != 20) locked_set::insert(entry);
  }
};
struct loses_neighbours : locked_set {  // as a split that copies one entry too few
  void insert(number entry) override {
    if (held.size() == 50) held.erase(held.begin());
    locked_set::insert(entry);
  }
};
struct erases_the_greatest : locked_set {
  std::optional<number> erase(number lo, number hi) override {
    const auto found = last(lo, hi);
    if (found) held.erase(*found);
    return found;
  }
};
struct erases_twice : locked_set {
  std::optional<number> erase(number lo, number hi) override {
    return ++calls % 50 == 0 ? first(lo, hi) : locked_set::erase(lo, hi);
  }
  int calls = 0;
};
struct erases_none_of_many : locked_set {
  std::optional<number> erase(number lo, number hi) override {
    return held.size() == 30 ? std::nullopt : locked_set::erase(lo, hi);
  }
};
struct erases_far : locked_set {
  std::optional<number> erase_near(number lo, number hi) override {
    const auto found = last(lo, hi);
    if (found) held.erase(*found);
    return found;
  }
};
struct visits_too_few : locked_set {
  std::vector<number> visit(number lo, number hi) override {
    auto met = locked_set::visit(lo, hi);
    if (met.size() > 3) met.erase(met.begin() + 1);
    return met;
  }
};
struct visits_backwards : locked_set {
  std::vector<number> visit(number lo, number hi) override {
    const auto met = locked_set::visit(lo, hi);
    return {met.rbegin(), met.rend()};
  }
};
struct walks_past_the_last : locked_set {
  std::vector<number> walk() override {
    auto met = locked_set::walk();
    if (!met.empty()) met.pop_back();
    return met;
  }
};

struct flaw {
  std::string name;
  std::function<std::unique_ptr<locked_set>()> make;
};
std::ostream& operator<<(std::ostream& out, const flaw& printed) { return out << printed.name; }
template <class Set>
flaw flaw_of(std::string name) {
  return {std::move(name), [] { return std::make_unique<Set>(); }};
}

constexpr std::size_t near = 5;
std::optional<std::string> broken_by(locked_set& set, const entry_recording& asked) {
  static const stamp_clock clock;
  return broken_promise(record_entries(set, asked, clock), near);
}

class flawed_set : public ::testing::TestWithParam<flaw> {};
INSTANTIATE_TEST_SUITE_P(all, flawed_set,
                         ::testing::Values(flaw_of<misses_one_of_two>("misses_one_of_two"),
                                           flaw_of<finds_the_erased>("finds_the_erased"),
                                           flaw_of<finds_beyond>("finds_beyond"),
                                           flaw_of<invents>("invents"),
                                           flaw_of<loses_inserts>("loses_inserts"),
                                           flaw_of<loses_neighbours>("loses_neighbours"),
                                           flaw_of<erases_the_greatest>("erases_the_greatest"),
                                           flaw_of<erases_twice>("erases_twice"),
                                           flaw_of<erases_none_of_many>("erases_none_of_many"),
                                           flaw_of<erases_far>("erases_far"),
                                           flaw_of<visits_too_few>("visits_too_few"),
                                           flaw_of<visits_backwards>("visits_backwards"),
                                           flaw_of<walks_past_the_last>("walks_past_the_last")),
                         [](const auto& of) { return of.param.name; });

// One thread: what it asks is the same each time.
TEST_P(flawed_set, is_found_out) {
  const auto set = GetParam().make();
  EXPECT_NE(broken_by(*set, {.seed = 1, .threads = 1}), std::nullopt);
}

TEST(sound_set, is_found_to_be) {
  for (const unsigned threads : {1U, 4U}) {
    locked_set set;
    EXPECT_EQ(broken_by(set, {.seed = 1, .threads = threads}), std::nullopt);
  }
}

// Wrong only where threads meet at a marked point.
struct erases_what_it_saw : locked_set {
  std::optional<number> erase(number lo, number hi) override {
    const auto found = first(lo, hi);
    mutex.unlock();
    ASSAY_POINT("erases_what_it_saw_before_erase");
    mutex.lock();
    if (found) held.erase(*found);
    return found;
  }
};
TEST(flawed_set, is_found_out_where_threads_meet) {
  std::optional<std::string> broken;
  for (std::uint64_t seed = 1; !broken && seed <= 20; ++seed) {
    erases_what_it_saw set;
    broken = broken_by(set, {.seed = seed, .keys = 2});
  }
  EXPECT_THAT(broken.value_or("nothing"), HasSubstr("as did erase"));
}

}  // namespace
}  // namespace assay::rig
