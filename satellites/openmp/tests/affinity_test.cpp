#include "assay/openmp/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace assay::omp {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;

std::vector<seat> seats(unsigned threads, unsigned bind, seat master) {
  std::vector<seat> assigned(threads, master);
  assign_seats(assigned, bind);
  return assigned;
}

std::vector<unsigned> place_numbers(const std::vector<seat>& all) {
  std::vector<unsigned> numbers;
  for (const seat& each : all) numbers.push_back(each.place);
  return numbers;
}

TEST(seats, of_primary_are_all_the_master_s) {
  const seat master{.place = 3, .first = 2, .count = 4};
  EXPECT_THAT(seats(5, binding::primary, master), Each(master));
}

TEST(seats, that_are_close_follow_the_master_s_around_the_partition) {
  const seat master{.place = 4, .first = 2, .count = 4};
  EXPECT_THAT(place_numbers(seats(3, binding::close, master)), ElementsAre(4, 5, 2));
  EXPECT_THAT(place_numbers(seats(4, binding::yes, master)), ElementsAre(4, 5, 2, 3));
  EXPECT_THAT(seats(3, binding::close, master), Each(Field(&seat::count, 4)));
  // More threads than places: neighbours share one, as evenly as can be.
  EXPECT_THAT(place_numbers(seats(6, binding::close, master)), ElementsAre(4, 4, 5, 5, 2, 3));
}

TEST(seats, that_are_spread_divide_the_partition) {
  const seat master{.place = 0, .first = 0, .count = 8};
  EXPECT_THAT(seats(3, binding::spread, master),
              ElementsAre(seat{0, 0, 3}, seat{3, 3, 3}, seat{6, 6, 2}));
  // The master stays where it is, in its own part.
  EXPECT_THAT(seats(2, binding::spread, {.place = 5, .first = 0, .count = 8}),
              ElementsAre(seat{5, 4, 4}, seat{0, 0, 4}));
  EXPECT_THAT(seats(3, binding::spread, {.place = 1, .first = 1, .count = 2}),
              ElementsAre(seat{1, 1, 1}, seat{1, 1, 1}, seat{2, 2, 1}));
}

TEST(seats, exist_for_each_team_and_are_inside_of_the_partition) {
  for (unsigned count = 1; count <= 9; ++count) {
    for (unsigned place = 3; place < 3 + count; ++place) {
      for (unsigned threads = 1; threads <= 20; ++threads) {
        for (const unsigned bind :
             {binding::yes, binding::primary, binding::close, binding::spread}) {
          const auto all = seats(threads, bind, {.place = place, .first = 3, .count = count});
          EXPECT_EQ(all.front().place, place);
          for (const seat& each : all) {
            EXPECT_GE(each.first, 3U);
            EXPECT_LE(each.first + each.count, 3 + count);
            EXPECT_GE(each.place, each.first);
            EXPECT_LT(each.place, each.first + each.count);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::omp
