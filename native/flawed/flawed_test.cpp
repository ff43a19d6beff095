// A trial of a map that is wrong ends as invalid, or not at all, and says why.

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>

#include "assay/trial/request.h"
#include "assay/trial/run.h"
#include "assay/trial/subject.h"

namespace assay::trial {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

result trial_of(const std::string& name, unsigned threads) {
  const request request{
      .subject = name,
      .seed = 1,
      .pinning = {},
      .key_range = 10'000,  // so that some of what goes wrong is still there at the end
      .keys = workload::key_layout::dense,
      .roles = one_role(threads, {40, 40, 20}),
      .duration = std::chrono::milliseconds(20),
      .interval = std::chrono::milliseconds(10)};
  return run(request, find_subject(name));
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
  EXPECT_GT(check.wrong_values, 0);
  EXPECT_FALSE(found.problems.empty());
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
  EXPECT_GT(check.duplicate_keys, 0U);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("whose key it had met before")));
}

TEST_P(flawed_map, that_never_finds_misses_what_it_holds) {
  const result found = trial_of("never_finds", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_EQ(check.found, check.expected);
  EXPECT_EQ(check.missed_searches, check.found.size);
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("found nothing")));
}

TEST_P(flawed_map, that_finds_erased_keys_finds_what_it_does_not_hold) {
  const result found = trial_of("finds_erased", GetParam());
  const auto check = found.contents_check.value();
  EXPECT_EQ(check.found, check.expected);
  EXPECT_GT(check.phantom_searches, 0U);
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
TEST_P(flawed_map_death, by_the_time_limit_after_a_deadlock) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(1);
        trial_of("deadlocks", GetParam());
      },
      ::testing::KilledBySignal(SIGALRM), "");
}

TEST_P(flawed_map_death, by_the_time_limit_while_leaking) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(1);
        trial_of("leaks", GetParam());
      },
      ::testing::KilledBySignal(SIGALRM), "");
}

}  // namespace
}  // namespace assay::trial
