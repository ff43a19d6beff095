// A trial of a map that is wrong ends as invalid, or not at all, and says why.

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "assay/base/point.h"
#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/subject/subject.h"
#include "assay/trial/request.h"
#include "assay/trial/run.h"
#include "assay/workload/operations.h"
#include "subjects/natarajan_mittal_bst_as_published.h"
#include "tests/maps/trees_test_stops.h"
#include "tests/maps/trees_test_types.h"

namespace assay::trial {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;
using trees_test::moody;

template <class K, class V>
using natarajan_leaks = subjects::natarajan_mittal_bst_as_published<K, V>;

result trial_of(const std::string& name, unsigned threads, const workload::mix& mix = {40, 40, 20},
                const subject::type_spec& value = {}, std::uint64_t keys = 10'000,
                std::uint64_t seed = 1) {
  const request request{
      .subject = name,
      .seed = seed,
      .pinning = {},
      .key_range = keys,  // many, so that some of what goes wrong is still there at the end
      .keys = workload::key_layout::dense,
      .roles = one_role(threads, mix),
      .duration = std::chrono::milliseconds(20),
      .interval = std::chrono::milliseconds(10),
      .value = value};
  return run(request, subject::find_subject(name));
}

// The first of up to 100 trials in which something went wrong while it was measured: that lasts 20
// ms, in which threads without a processor do little, and two may never meet.
template <class WentWrong>
result first_trial_where(const WentWrong& went_wrong, const std::string& name, unsigned threads,
                         const workload::mix& mix, std::uint64_t keys, std::uint64_t seed = 1) {
  for (std::uint64_t trials = 0; trials < 100; ++trials) {
    result found = trial_of(name, threads, mix, {}, keys, seed + 1000 * trials);
    if (went_wrong(found.contents_check.value())) return found;
  }
  throw std::runtime_error("nothing went wrong in 100 trials of " + name);
}

class flawed_map : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(threads, flawed_map, ::testing::Values(1U, 2U));

TEST_P(flawed_map, that_loses_inserts_holds_too_few_keys) {
  const result found = trial_of("loses_inserts", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_LT(check.found.size, check.expected.size);
  EXPECT_FALSE(found.problems.empty());
}

TEST_P(flawed_map, that_inserts_twice_holds_too_many_keys) {
  const result found = trial_of("inserts_twice", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_GT(check.found.size, check.expected.size);
  EXPECT_FALSE(found.problems.empty());
}

TEST_P(flawed_map, that_forgets_erases_holds_too_many_keys) {
  const result found = trial_of("forgets_erases", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_GT(check.found.size, check.expected.size);
  EXPECT_FALSE(found.problems.empty());
}

TEST_P(flawed_map, that_swaps_values_has_the_right_keys_but_wrong_values) {
  const result found = trial_of("swaps_values", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_EQ(check.found.size, check.expected.size);
  EXPECT_EQ(check.found.key_sum, check.expected.key_sum);
  EXPECT_NE(check.found.pair_sum, check.expected.pair_sum);
  EXPECT_GT(check.wrong_values.number, 0);
  EXPECT_FALSE(found.problems.empty());
}

// Those whose values are of the right keys, but of an earlier time.

TEST_P(flawed_map, that_revives_old_values_is_found_out_by_what_threads_saw) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const result found =
        first_trial_where([](const auto& check) { return check.stale_values.number > 0; },
                          "stale_revived", GetParam(), {40, 40, 20}, 1000, seed);
    EXPECT_THAT(found.problems, ElementsAre(HasSubstr("had been seen to be gone"))) << seed;
  }
}

class flawed_for_threads : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, flawed_for_threads,
                         ::testing::Values("stale_cache", "stale_late_write"));

TEST_P(flawed_for_threads, is_found_out) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const result found = first_trial_where(
        [](const auto& check) {
          return check.stale_values.number + check.differing_searches.number > 0;
        },
        GetParam(), 2, {25, 25, 50}, 300, seed);
    EXPECT_FALSE(found.problems.empty()) << seed;
  }
}

TEST_P(flawed_for_threads, is_sound_for_one_thread) {
  EXPECT_THAT(trial_of(GetParam(), 1, {25, 25, 50}, {}, 300).problems, IsEmpty());
}

TEST_P(flawed_map, whose_errors_keep_size_and_key_sum_is_found_out_by_its_pairs) {
  const result found = trial_of("compensating_errors", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_EQ(check.found.size, check.expected.size);
  EXPECT_EQ(check.found.key_sum, check.expected.key_sum);
  EXPECT_NE(check.found.pair_sum, check.expected.pair_sum);
  EXPECT_FALSE(found.problems.empty());
}

// The three that hold what their answers imply.

TEST_P(flawed_map, that_lets_both_of_two_inserts_succeed_holds_keys_twice) {
  const result found = trial_of("both_insert", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_EQ(check.found, check.expected);
  EXPECT_GT(check.duplicate_keys.number, 0U);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("whose key it had met before")));
}

TEST_P(flawed_map, that_never_finds_misses_what_it_holds) {
  const result found = trial_of("never_finds", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_EQ(check.found, check.expected);
  EXPECT_EQ(check.missed_searches.number, check.found.size);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("found nothing")));
}

TEST_P(flawed_map, that_finds_erased_keys_finds_what_it_does_not_hold) {
  const result found = trial_of("finds_erased", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_EQ(check.found, check.expected);
  EXPECT_GT(check.phantom_searches.number, 0U);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("that the map does not hold")));
}

TEST_P(flawed_map, that_never_fills_does_not_converge) {
  EXPECT_THAT(trial_of("never_fills", GetParam()).problems,
              ElementsAre(HasSubstr("prefill did not converge")));
}

TEST_P(flawed_map, with_an_endless_walk_is_left) {
  EXPECT_THAT(trial_of("endless_walk", GetParam()).problems, ElementsAre(HasSubstr("did not end")));
}

TEST_P(flawed_map, that_throws_ends_the_trial) {
  EXPECT_THAT([] { trial_of("throws", GetParam()); },
              ThrowsMessage<std::runtime_error>("insert failed on purpose"));
}

// Those whose contents and searches are right, and which answer wrongly to more than searches.

const workload::mix with_ranges{40, 40, 10, 10};

TEST_P(flawed_map, that_visits_a_range_out_of_order_is_seen_to) {
  const result found =
      first_trial_where([](const auto& check) { return check.wrong_visits.number > 0; },
                        "range_out_of_order", GetParam(), with_ranges, 10'000);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("out of their order")));
}

TEST_P(flawed_map, that_misses_a_key_of_a_range_differs_from_the_walk) {
  const result found = trial_of("range_misses_key", GetParam(), with_ranges);
  EXPECT_EQ(found.contents_check.value().wrong_visits.number, 0U);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("a range of the map at rest came to")));
}

TEST_P(flawed_map, that_leaves_out_the_ends_of_ranges_differs_in_parts) {
  const result found = trial_of("range_without_last", GetParam(), with_ranges);
  EXPECT_EQ(found.contents_check.value().wrong_parts, 100U);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("100 of 100 visits of parts")));
}

TEST_P(flawed_map, that_counts_one_more_differs_from_the_walk) {
  EXPECT_THAT(trial_of("size_off_by_one", GetParam(), {40, 40, 10, 0, 10}).problems,
              ElementsAre(HasSubstr("a size of the map at rest came to")));
}

TEST_P(flawed_map, that_visits_one_element_twice_differs_from_the_walk) {
  EXPECT_THAT(trial_of("snapshot_visits_twice", GetParam(), {45, 45, 9.9, 0, 0, 0.1}).problems,
              ElementsAre(HasSubstr("as many elements as the walk, but different ones")));
}

// The same of operations by name.
workload::mix with(std::string_view name, double share) {
  workload::mix mix{40, 40, 20 - share};
  mix.share(workload::operation_named(name).value()) = share;
  return mix;
}

TEST_P(flawed_map, that_does_not_find_the_last_of_many_differs_in_parts) {
  const result found = trial_of("find_many_without_last", GetParam(), with("find_many", 10));
  EXPECT_GT(found.contents_check.value().wrong_parts, 0U);  // where the map holds the last
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr(" of 100 visits of parts")));
}

TEST_P(flawed_map, that_leaves_a_key_out_of_a_clone_differs_from_the_walk) {
  EXPECT_THAT(trial_of("clone_misses_key", GetParam(), with("clone", 0.1)).problems,
              ElementsAre(HasSubstr("a clone of the map at rest came to")));
}

TEST_P(flawed_map, that_cuts_strings_short_has_the_right_keys_but_wrong_values) {
  const result found = trial_of("truncates_values", GetParam(), {40, 40, 20},
                                {.type = subject::type_spec::kind::bytes, .least = 9, .most = 100});
  const auto check = found.contents_check.value();
  EXPECT_EQ(check.found.size, check.expected.size);
  EXPECT_EQ(check.found.key_sum, check.expected.key_sum);
  EXPECT_NE(check.found.pair_sum, check.expected.pair_sum);
  EXPECT_GT(check.wrong_values.number, 0U);
}

// The flawed versions of the lock-free search tree go wrong only where threads meet: on few keys.
// On very few, whoever comes upon the mark of the erase that is about to go wrong carries it out
// first.

TEST(flawed_tree, that_loses_updates_holds_other_keys_than_the_answers_imply) {
  const result found = first_trial_where(
      [](const auto& check) { return check.found.pair_sum != check.expected.pair_sum; },
      "natarajan_lost_update", 2, {50, 50, 0}, 300);
  EXPECT_FALSE(found.problems.empty());
}

TEST(flawed_tree, that_loses_updates_is_sound_for_one_thread) {
  EXPECT_THAT(trial_of("natarajan_lost_update", 1, {50, 50, 0}, {}, 300).problems, IsEmpty());
}

TEST(flawed_tree, that_leaks_answers_rightly) {
  EXPECT_THAT(trial_of("natarajan_leaks", 2, {50, 50, 0}, {}, 16).problems, IsEmpty());
}

// How many keys and values are lost for good when this many erases of neighbours are done by one
// swing; `retired` nodes of them were retired, or own what was not.
template <class Map>
std::int64_t lost_by_a_chain_of(std::uint64_t length, std::uint64_t retired) {
  const std::int64_t before = moody::alive;
  {
    Map map;
    sync::at_points = &trees_test::stop_if_planned;
    const auto seen = trees_test::remove_chain(map, length);
    sync::at_points = nullptr;
    EXPECT_TRUE(seen.all_succeeded);
    EXPECT_EQ(seen.fault_after_first, std::nullopt);
    EXPECT_EQ(seen.unfreed_after_first, retired);
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
  return moody::alive - before;
}

TEST(flawed_tree, that_leaks_loses_what_one_erase_removed_for_others_and_nothing_else) {
  for (const std::uint64_t length : {1U, 2U, 3U, 20U}) {
    SCOPED_TRACE(length);
    // Each other erase loses its leaf, with a key and a value, and an internal node, with a key.
    EXPECT_EQ((lost_by_a_chain_of<natarajan_leaks<moody, moody>>(length, 2)), 3 * (length - 1));
    EXPECT_EQ((lost_by_a_chain_of<natarajan_mittal_bst<moody, moody>>(length, 2 * length)), 0);
  }
}

TEST(flawed_tree, that_leaks_loses_nothing_in_one_thread) {
  const std::int64_t before = moody::alive;
  {
    natarajan_leaks<moody, moody> map;
    auto handle = map.attach();
    std::mt19937_64 draw(1);
    for (int i = 0; i < 20'000; ++i) {
      const moody key(draw() % 50);
      if (draw() % 2 == 0) {
        handle.insert(key, key);
      } else {
        handle.erase(key);
      }
    }
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
  EXPECT_EQ(moody::alive, before);
}

// What is not asked for is not held against a map.
TEST_P(flawed_map, is_sound_where_its_flaw_is_not_used) {
  for (const auto* name : {"range_out_of_order", "range_without_last", "range_misses_key",
                           "size_off_by_one", "snapshot_visits_twice", "find_many_without_last",
                           "clone_misses_key", "truncates_values"}) {
    EXPECT_THAT(trial_of(name, GetParam()).problems, IsEmpty()) << name;
  }
}

using flawed_map_death = flawed_map;
INSTANTIATE_TEST_SUITE_P(threads, flawed_map_death, ::testing::Values(1U, 2U));

TEST_P(flawed_map_death, by_a_segmentation_fault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, SIG_DFL);  // NOLINT(cert-err33-c): not the handler of a sanitizer
        trial_of("crashes", GetParam());
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

// The alarm stands for the runner's time limit.
void expect_death_by_the_time_limit(const std::string& name, unsigned threads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(1);
        trial_of(name, threads);
      },
      ::testing::KilledBySignal(SIGALRM), "");
}

TEST_P(flawed_map_death, by_the_time_limit_after_a_deadlock) {
  expect_death_by_the_time_limit("deadlocks", GetParam());
}

TEST_P(flawed_map_death, by_the_time_limit_while_leaking) {
  expect_death_by_the_time_limit("leaks", GetParam());
}

}  // namespace
}  // namespace assay::trial
