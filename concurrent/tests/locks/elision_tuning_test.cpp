// How often a lock tries transactions, by what sections were seen to cost.

#include "assay/locks/elision_tuning.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

namespace assay::sync {
namespace {

// Under a clock that is moved by hand.
struct timed {
  elision_tuning tuning;
  std::uint64_t now = 1;

  // Some windows in which a section takes as long as `ns_of` says of the number of attempts.
  // Returns how often each number was chosen.
  template <class Cost>
  std::map<unsigned, unsigned> chosen(unsigned windows, const Cost& ns_of) {
    std::map<unsigned, unsigned> times;
    for (unsigned n = 0; n < windows; ++n) {
      const unsigned attempts = tuning.attempts();
      ++times[attempts];
      for (unsigned i = 0; i <= elision_tuning::window; ++i) {
        now += std::uint64_t{10} * ns_of(attempts);
        tuning.record(10, now);
      }
    }
    return times;
  }
};

TEST(elision_tuning, begins_with_three_attempts_and_tries_every_choice_twice) {
  timed lock;
  EXPECT_EQ(lock.tuning.attempts(), 3U);
  const auto times = lock.chosen(8, [](unsigned) { return 100U; });
  EXPECT_EQ(times, (std::map<unsigned, unsigned>{{0, 2}, {1, 2}, {3, 2}, {8, 2}}));
}

TEST(elision_tuning, chooses_what_costs_least) {
  for (const unsigned best : elision_tuning::choices) {
    timed lock;
    const auto times = lock.chosen(200, [&](unsigned n) { return n == best ? 90U : 100U; });
    EXPECT_GE(times.at(best), 200 - 6 - 200 / elision_tuning::windows_a_look) << best;
  }
}

TEST(elision_tuning, sees_that_another_choice_has_become_better) {
  timed lock;
  lock.chosen(50, [](unsigned n) { return n == 0 ? 100U : 200U; });
  EXPECT_EQ(lock.tuning.attempts(), 0U);
  lock.chosen(180, [](unsigned n) { return n == 8 ? 50U : 100U; });
  const auto times = lock.chosen(32, [](unsigned n) { return n == 8 ? 50U : 100U; });
  EXPECT_GE(times.at(8), 30U);
}

TEST(elision_tuning, is_not_impressed_by_a_window_in_which_a_thread_was_away) {
  timed lock;
  lock.chosen(50, [](unsigned n) { return n == 1 ? 50U : 100U; });
  EXPECT_EQ(lock.tuning.attempts(), 1U);
  lock.chosen(1, [](unsigned) { return 1'000'000U; });
  EXPECT_EQ(lock.tuning.attempts(), 1U);
}

TEST(elision_tuning, leaves_what_has_become_worse) {
  timed lock;
  lock.chosen(50, [](unsigned n) { return n == 1 ? 50U : 100U; });
  lock.chosen(2, [](unsigned n) { return n == 1 ? 150U : 100U; });
  EXPECT_NE(lock.tuning.attempts(), 1U);
}

TEST(elision_tuning, of_a_lock_that_is_taken_inside_of_another_always_pays) {
  timed lock;
  lock.chosen(50, [](unsigned n) { return n == 0 ? 50U : 100U; });
  EXPECT_FALSE(lock.tuning.pays());
  lock.tuning.taken_inside();
  EXPECT_TRUE(lock.tuning.pays());
  EXPECT_EQ(lock.tuning.attempts(), 0U);
}

}  // namespace
}  // namespace assay::sync
