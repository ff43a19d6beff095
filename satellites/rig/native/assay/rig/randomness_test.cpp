#include "assay/rig/randomness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace assay::rig {
namespace {

using namespace std::chrono_literals;

TEST(a_habit, follows_from_its_seed) {
  EXPECT_EQ(draw_habit(7, 5).probability, draw_habit(7, 5).probability);
  EXPECT_EQ(draw_habit(7, 5).length, draw_habit(7, 5).length);
  EXPECT_NE(draw_habit(7, 5).probability, draw_habit(8, 5).probability);
}

TEST(a_habit, without_noise_is_a_short_stop_now_and_then) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(draw_habit(seed, 0).probability, 1.0 / 64);
    EXPECT_EQ(draw_habit(seed, 0).length, 1us);
    EXPECT_EQ(draw_stop(seed, 0), 1us);
  }
}

// For seeds below 10,000; a share is known to within 0.02.
TEST(a_habit, of_very_high_randomness_has_long_tails) {
  double always = 0;
  double hardly_ever = 0;
  double milliseconds = 0;
  double longest = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    const habit drawn = draw_habit(seed, 5);
    EXPECT_LE(drawn.length, longest_stop);
    EXPECT_LE(drawn.probability, 1);
    always += drawn.probability == 1;
    hardly_ever += drawn.probability < 1e-4;
    milliseconds += drawn.length >= 1ms;
    longest += draw_stop(seed, 5) == longest_stop;
  }
  EXPECT_NEAR(always / 10'000, 0.203, 0.02);       // Z above ln 64 / 5
  EXPECT_NEAR(hardly_ever / 10'000, 0.156, 0.02);  // below ln 0.0064 / 5
  EXPECT_NEAR(milliseconds / 10'000, 0.084, 0.02);
  EXPECT_NEAR(longest / 10'000, 0.024, 0.01);
}

TEST(a_stopper, leaves_its_thread_most_of_the_time) {
  const auto begin = std::chrono::steady_clock::now();
  stopper stops;
  auto stopped = 0ms;
  for (int i = 0; i < 1000; ++i) {
    if (stops.stop_for(5ms)) stopped += 5ms;
  }
  EXPECT_GE(stopped, 5ms);
  EXPECT_LE(stopped, longest_stop + (std::chrono::steady_clock::now() - begin) / 8);
}

TEST(randomness, is_refused_out_of_its_range) {
  for (const double c : {-1.0, 10.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(set_randomness(c), std::invalid_argument);
    EXPECT_EQ(randomness(), 0);
  }
}

}  // namespace
}  // namespace assay::rig
