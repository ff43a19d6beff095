// What the tests of bt_map share: what is asked of every variant.

#ifndef TESTS_MAPS_BT_MAP_TEST_FIXTURE_H_
#define TESTS_MAPS_BT_MAP_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/maps/bt_map_test_subject.h"
#include "tests/maps/trees_test_types.h"

namespace assay::bt_test {

// Variants with more capacities: for tests by one thread, which have the time.
std::vector<variant> variants_of_capacities();

inline void PrintTo(const variant& printed, std::ostream* to) { *to << printed.name; }
inline std::string name_of(const testing::TestParamInfo<variant>& of) { return of.param.name; }

class fixture : public testing::TestWithParam<variant> {
 protected:
  static void expect_sound(const subject& map, const std::map<number, number>& model) {
    EXPECT_EQ(map.contents(), elements(model.begin(), model.end()));
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
  // After clear().
  static void expect_nothing_waits(const subject& map) {
    if (GetParam().frees_at_clear) {
      EXPECT_EQ(map.unfreed(), 0U);
    }
  }

  void TearDown() override { EXPECT_EQ(trees_test::moody::alive, alive_); }

 private:
  const std::int64_t alive_ = trees_test::moody::alive;
};

}  // namespace assay::bt_test

#endif  // TESTS_MAPS_BT_MAP_TEST_FIXTURE_H_
