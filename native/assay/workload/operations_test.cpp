#include "assay/workload/operations.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace assay::workload {
namespace {

TEST(operations, have_numbers_by_their_names) {
  EXPECT_EQ(operation_named("insert"), operation::insert);
  EXPECT_EQ(operation_named("iterate"), operation::iterate);
  EXPECT_EQ(operation_named("test_touch"), std::nullopt);
  const operation touch = add_operation({.name = "test_touch", .rare = false, .spans = true});
  EXPECT_GT(touch, operation::iterate);
  EXPECT_EQ(operation_named("test_touch"), touch);
  EXPECT_EQ(facts_of(touch).name, "test_touch");
  EXPECT_EQ(add_operation({.name = "test_touch", .rare = false, .spans = true}), touch);
  EXPECT_FALSE(is_rare(touch));
  EXPECT_TRUE(is_rare(operation::size));

  mix asked{50, 50, 0};
  EXPECT_FALSE(any_spans(asked));
  asked.share(touch) = 10;
  EXPECT_TRUE(any_spans(asked));
  EXPECT_FALSE(any_rare(asked));
  EXPECT_TRUE(any_rare({0, 0, 50, 0, 50}));
}

TEST(operations, are_known_in_one_way_by_one_name) {
  add_operation({.name = "test_known", .rare = false, .spans = false});
  EXPECT_THROW(add_operation({.name = "test_known", .rare = true, .spans = false}),
               std::logic_error);
  for (const auto* name : {"", "Scan", "1st", "find many"}) {
    EXPECT_THROW(add_operation({.name = name, .rare = false, .spans = false}), std::logic_error)
        << name;
  }
}

}  // namespace
}  // namespace assay::workload
