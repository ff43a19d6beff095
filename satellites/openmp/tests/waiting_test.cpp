#include "assay/openmp/waiting.h"

#include <gtest/gtest.h>

namespace assay::omp {
namespace {

// Looks in vain until it would sleep, and returns how often it looked.
unsigned looks_in_vain(const void* at) {
  patience patience(at);
  unsigned looked = 0;
  while (patience.look_again()) ++looked;
  return looked;
}

// A wait that ends after so many looks. False if it would have slept before.
bool ends_after(const void* at, unsigned looks) {
  patience patience(at);
  while (looks > 0 && patience.look_again()) --looks;
  return looks == 0;
}

// How many of `waits` look for as long as they may, if all are in vain.
unsigned long_looks(const void* at, unsigned waits) {
  unsigned is_long = 0;
  for (unsigned i = 0; i < waits; ++i) is_long += looks_in_vain(at) == patience::looks ? 1U : 0U;
  return is_long;
}

TEST(patience, ends_sooner_where_looking_was_in_vain_and_is_asked_again) {
  static const char here = 0;
  EXPECT_EQ(long_looks(&here, 4), 4U);
  EXPECT_EQ(looks_in_vain(&here), patience::short_look);
  EXPECT_EQ(long_looks(&here, 320), 10U);
}

TEST(patience, comes_back_when_a_wait_ends_while_the_thread_looks) {
  static const char here = 0;
  static_cast<void>(long_looks(&here, 6));
  while (!ends_after(&here, patience::short_look + 1)) continue;
  EXPECT_EQ(long_looks(&here, 3), 3U);
}

TEST(patience, does_not_remember_short_waits) {
  static const char here = 0;
  static_cast<void>(long_looks(&here, 4));
  for (unsigned i = 0; i < 100; ++i) EXPECT_TRUE(ends_after(&here, patience::short_look));
  EXPECT_EQ(looks_in_vain(&here), patience::short_look);
}

TEST(patience, is_the_same_at_places_that_are_not_known) {
  EXPECT_EQ(long_looks(nullptr, 40), 40U);
}

}  // namespace
}  // namespace assay::omp
