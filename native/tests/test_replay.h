// A trial and its replay, for tests: what a replay must repeat.

#ifndef TESTS_TEST_REPLAY_H_
#define TESTS_TEST_REPLAY_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "assay/subject/subject.h"
#include "assay/trial/request.h"
#include "assay/trial/result.h"
#include "assay/trial/run.h"

namespace assay::trial {

// The request whose trial repeats what the trial of `request` performed.
inline request replay_of(request request, const result& first) {
  request.operations.clear();
  for (const auto& thread : first.threads) {
    request.operations.push_back({thread.warmed_up, thread.operations.operations()});
  }
  return request;
}

// With one thread, all results of its operations; with several, what each attempted.
inline void expect_repeated(const result& first, const result& again) {
  const bool alone = first.threads.size() == 1;
  ASSERT_EQ(first.threads.size(), again.threads.size());
  for (std::size_t i = 0; i < first.threads.size(); ++i) {
    const auto& [before, after] = std::pair(first.threads[i], again.threads[i]);
    EXPECT_EQ(before.seed, after.seed);
    EXPECT_EQ(before.warmed_up, after.warmed_up);
    EXPECT_EQ(before.operations.attempted, after.operations.attempted);
    EXPECT_FALSE(after.unfinished);
    if (!alone) continue;
    EXPECT_EQ(before.operations.succeeded, after.operations.succeeded);
    EXPECT_EQ(before.operations.implied_contents(), after.operations.implied_contents());
    EXPECT_EQ(before.operations.visited, after.operations.visited);
    EXPECT_EQ(before.operations.folded, after.operations.folded);
  }
  if (!alone) return;
  EXPECT_EQ(first.prefill.method, again.prefill.method);
  EXPECT_EQ(first.prefill.operations, again.prefill.operations);
  EXPECT_EQ(first.prefill.size, again.prefill.size);
  ASSERT_EQ(first.contents_check.has_value(), again.contents_check.has_value());
  if (!first.contents_check) return;
  EXPECT_EQ(first.contents_check->expected, again.contents_check->expected);
  EXPECT_EQ(first.contents_check->found, again.contents_check->found);
}

// Runs a trial that time ends, and its replay.
inline void expect_replay(const request& request, const subject::subject_entry& subject) {
  const result first = run(request, subject);
  EXPECT_TRUE(first.problems.empty()) << first.problems.front();
  const result again = run(replay_of(request, first), subject);
  EXPECT_TRUE(again.problems.empty()) << again.problems.front();
  expect_repeated(first, again);
}

}  // namespace assay::trial

#endif  // TESTS_TEST_REPLAY_H_
