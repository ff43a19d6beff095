// Each map that answers rightly and does not get on is found by the check that is meant to find it,
// in seconds.

#include "assay/rig/progress.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/rig/interfere/preemption.h"
#include "assay/rig/memory.h"
#include "assay/rig/recorder.h"
#include "assay/rig/stress.h"
#include "assay/subject/subject.h"

namespace assay::rig {
namespace {

using subject::find_subject;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::string lines(const std::vector<std::string>& all) { return ::testing::PrintToString(all); }

// What is printed by a process that runs `act`, which must end with status 3. This process has no
// other thread.
std::string told_at_the_end_of(const std::function<void()>& act) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    act();
    std::_Exit(0);
  }
  close(ends[1]);
  std::string report;
  std::array<char, 4096> some{};
  for (ssize_t n = 0; (n = read(ends[0], some.data(), some.size())) > 0;) {
    report.append(some.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << report;
  return report;
}

TEST(no_progress, a_lock_that_a_thread_leaves_with) {
  EXPECT_THAT(told_at_the_end_of(
                  [] { static_cast<void>(stress(find_subject("leaves_locked"), {.seed = 1})); }),
              ContainsRegex("a thread has left the map and kept a lock\n"
                            "(.*\n)*  thread [0-9]+ is inside .*, asleep: it waits for a lock of a "
                            "thread that has (left the map|ended)"));
}

// Those who come to the lock are at the end of their history, or still in it.
TEST(no_progress, a_lock_that_a_thread_leaves_a_history_with) {
  const auto none = [](const history&) {};
  EXPECT_THAT(
      told_at_the_end_of([&] {
        record(find_subject("leaves_locked"),
               {.seed = 1, .histories = 50, .patience = std::chrono::seconds(2)}, none);
      }),
      AnyOf(ContainsRegex("linearizability of leaves_locked, seed 1: .*a thread has left the map "
                          "and kept a lock\n  thread [0-9]+ is inside for_each\\(\\), asleep"),
            ContainsRegex("history [0-9]+ of seed 1 did not end within 2000 ms")));
}

TEST(no_progress, a_lock_that_sleeps_behind_a_claim_of_none) {
  if (!interruption::possible()) GTEST_SKIP() << "threads are suspended at marks only";
  const auto found = check_progress(find_subject("hides_lock"), 1);
  EXPECT_FALSE(found.passed);
  EXPECT_THAT(found.lines, Contains(ContainsRegex("anywhere, .* waits for the suspended thread, "
                                                  "which is inside .*asleep.*lock-free")));
}

TEST(no_progress, a_lock_that_spins_behind_a_claim_of_none) {
  if (!interruption::possible()) GTEST_SKIP() << "threads are suspended at marks only";
  const auto found = check_progress(find_subject("hides_spin"), 1);
  EXPECT_FALSE(found.passed);
  EXPECT_THAT(found.lines, Contains(ContainsRegex("anywhere, .* waits for the suspended thread, "
                                                  "which is inside .*(busy|in vain).*lock-free")));
}

// That the others go on meanwhile is told, and nothing is wrong with it.
TEST(no_progress, a_lock_without_a_claim_is_only_told) {
  if (!interruption::possible()) GTEST_SKIP() << "threads are suspended at marks only";
  const auto found = check_progress(find_subject("keeps_erased"), 1);
  EXPECT_TRUE(found.passed && found.any_suspended) << lines(found.lines);
}

// By lock_order.h; without, chance alone makes them meet.
constexpr bool locks_are_watched = ASSAY_ADDRESS_SANITIZER + ASSAY_THREAD_SANITIZER == 0;

// A machine that is too busy for a million calls within a trial has further ones. The rig's
// patience may end before two threads that spin have had 0.3 s of a processor each.
void expect_deadlock(const char* map, std::uint64_t last_seed) {
  for (std::uint64_t first = 1; first <= last_seed; ++first) {
    EXPECT_THAT(
        told_at_the_end_of([&] {
          for (std::uint64_t seed = first;; seed += 3) {
            static_cast<void>(stress(find_subject(map), {.seed = seed, .duration = 100ms}));
          }
        }),
        AnyOf(ContainsRegex("deadlock: 2 threads wait for each other's locks\n"
                            "  thread 1 is inside .*: it waits for a lock that thread 2 holds\n"
                            "  thread 2 is inside .*: it waits for a lock that thread 1 holds\n"),
              HasSubstr("deadlock: all threads inside the map are asleep")));
  }
}

TEST(no_progress, two_locks_in_opposite_orders_once_in_a_million_calls) {
  expect_deadlock("opposite_locks", locks_are_watched ? 3 : 1);
}

TEST(no_progress, two_shared_locks_in_opposite_orders_once_in_a_million_calls) {
  if (!locks_are_watched) GTEST_SKIP() << "sanitizers watch them themselves";
  expect_deadlock("opposite_shared_locks", 3);
}

// Nothing tells the rig of them: they meet by chance, so they are taken in the other order more
// often.
TEST(no_progress, two_locks_that_say_nothing_in_opposite_orders_once_in_100_calls) {
  if (!locks_are_watched) GTEST_SKIP() << "yields are the C library's own";
  for (const auto* map : {"opposite_unmarked_locks", "opposite_busy_locks"}) {
    EXPECT_THAT(told_at_the_end_of([&] {
                  for (std::uint64_t seed = 1;; ++seed) {
                    static_cast<void>(stress(find_subject(map), {.seed = seed, .duration = 100ms}));
                  }
                }),
                ContainsRegex("(no operation has ended while .* threads were busy|nothing has "
                              "happened for 10 s).*wait in spin "
                              "locks\n  thread 1 is inside .*, busy all the time"));
  }
}

TEST(no_progress, two_spin_locks_in_opposite_orders_once_in_a_million_calls) {
  expect_deadlock("opposite_spin_locks", locks_are_watched ? 3 : 1);
}

// Which takes as long as it takes to be sure, and again if the machine is too busy for that.
TEST(no_progress, a_thread_that_starves) {
  std::vector<std::string> problems;
  for (std::uint64_t seed = 1; problems.empty(); ++seed) {
    problems = stress(find_subject("starves"), {.seed = seed, .duration = 100ms}).problems;
  }
  EXPECT_THAT(problems, Contains(ContainsRegex("a thread starves: .* inside insert\\([0-9]+\\)")));
}

TEST(no_progress, memory_that_is_kept_until_the_end) {
  EXPECT_THAT(memory_kept(find_subject("keeps_erased"), {.seed = 1}).problem,
              HasSubstr("keeps what was erased"));
}

}  // namespace
}  // namespace assay::rig
