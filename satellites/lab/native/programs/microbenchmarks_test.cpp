// What a trace of a processor does not show of the microbenchmarks; tests/microbenchmarks_test.py
// has the rest.

#include "microbenchmarks.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::microbenchmarks {
namespace {

// 1,024 places and 1,000 reads of a run, two of which skip a place if what they read counts.
std::vector<char> with_two_longer_steps() {
  std::vector<char> bytes(1024 * stride, 1);
  bytes[10 * stride] = 2;
  bytes[20 * stride] = 2;
  return bytes;
}

TEST(reads, the_next_place_is_what_was_read_where_reads_depend_on_each_other) {
  reads<true> dependent(with_two_longer_steps());
  dependent.run();
  EXPECT_EQ(dependent.at(), (units + 2) * stride);
}

TEST(reads, the_next_place_is_known_before_where_they_do_not) {
  reads<false> independent(with_two_longer_steps());
  independent.run();
  EXPECT_EQ(independent.at(), units * stride);
}

TEST(reads, begin_again_at_the_end) {
  reads<true> dependent(std::vector<char>(8 * stride, 1));
  dependent.run();
  EXPECT_EQ(dependent.at(), units % 8 * stride);
}

TEST(reads, need_a_place) {
  EXPECT_THROW(reads<true>(std::vector<char>(stride - 1)), std::invalid_argument);
}

TEST(volatile_counter, counts_each_unit) {
  volatile_counter counter;
  counter.run();
  counter.run();
  EXPECT_EQ(counter.counter(), 2 * units);
}

TEST(branches, regular_ones_are_taken_by_turns_and_random_ones_half_of_the_time) {
  const fixture::setup given;
  branches<false> regular(given);
  regular.run();
  EXPECT_EQ(regular.taken(), units / 2);
  branches<true> random(given);
  random.run();
  EXPECT_GT(random.taken(), units / 3);
  EXPECT_LT(random.taken(), 2 * units / 3);
}

}  // namespace
}  // namespace assay::microbenchmarks
