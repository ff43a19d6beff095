// How often a lock tries transactions, by what sections were seen to cost.

#include "assay/sync/elision_tuning.h"

#include <gtest/gtest.h>

#include <map>

namespace assay::sync {
namespace {

// Records until another number of attempts is chosen, or a few windows have passed; each section
// takes as long as `ns_of` says. Returns how often each was chosen.
template <class Cost>
std::map<unsigned, unsigned> chosen(elision_tuning& tuning, unsigned windows, const Cost& ns_of) {
  std::map<unsigned, unsigned> times;
  for (unsigned n = 0; n < windows; ++n) {
    const unsigned attempts = tuning.attempts();
    ++times[attempts];
    for (unsigned i = 0; i < elision_tuning::window; ++i) tuning.record(attempts, ns_of(attempts));
  }
  return times;
}

TEST(elision_tuning, begins_with_three_attempts_and_tries_every_choice) {
  elision_tuning tuning;
  EXPECT_EQ(tuning.attempts(), 3U);
  const auto times = chosen(tuning, 4, [](unsigned) { return 100U; });
  EXPECT_EQ(times, (std::map<unsigned, unsigned>{{0, 1}, {1, 1}, {3, 1}, {8, 1}}));
}

TEST(elision_tuning, chooses_what_costs_least) {
  for (const unsigned best : elision_tuning::choices) {
    elision_tuning tuning;
    const auto times = chosen(tuning, 200, [&](unsigned n) { return n == best ? 90U : 100U; });
    EXPECT_GE(times.at(best), 200 - 3 - 200 / elision_tuning::windows_a_look) << best;
  }
}

TEST(elision_tuning, sees_that_another_choice_has_become_better) {
  elision_tuning tuning;
  chosen(tuning, 50, [](unsigned n) { return n == 0 ? 100U : 200U; });
  EXPECT_EQ(tuning.attempts(), 0U);
  chosen(tuning, 180, [](unsigned n) { return n == 8 ? 50U : 100U; });
  const auto times = chosen(tuning, 32, [](unsigned n) { return n == 8 ? 50U : 100U; });
  EXPECT_GE(times.at(8), 30U);
}

TEST(elision_tuning, is_not_impressed_by_a_thread_that_was_away) {
  elision_tuning tuning;
  for (unsigned i = 0; i < elision_tuning::window; ++i) {
    tuning.record(3, i < 2 ? 1'000'000'000 : 100);
  }
  chosen(tuning, 3, [](unsigned) { return 101U; });
  EXPECT_EQ(tuning.attempts(), 3U);
}

TEST(elision_tuning, ignores_sections_that_began_under_another_number) {
  elision_tuning tuning;
  for (unsigned i = 0; i < 10 * elision_tuning::window; ++i) tuning.record(8, 1);
  EXPECT_EQ(tuning.attempts(), 3U);
}

}  // namespace
}  // namespace assay::sync
