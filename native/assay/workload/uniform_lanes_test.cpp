#include "assay/workload/uniform_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::workload {
namespace {

using host::instruction_set;

class uniform_lanes_with : public ::testing::TestWithParam<instruction_set> {
 protected:
  void SetUp() override {
    if (GetParam() > host::best_instruction_set()) {
      GTEST_SKIP() << "this processor does not have them";
    }
  }
};

// Every operation from its number, by 128-bit products and comparisons of points.
TEST_P(uniform_lanes_with, draws_what_the_numbers_say) {
  constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;
  for (const std::uint64_t range :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{20'000}, two_to_32 - 1, two_to_32,
        two_to_32 + 1, 1000 * two_to_32 + 12345, (std::uint64_t{1} << 62) + 1}) {
    for (const mix& mix : {workload::mix{20, 10, 70},
                           {50, 50, 0},
                           {0, 50, 50},
                           {50, 0, 50},
                           {0.001, 0.001, 99.998},
                           {100, 0, 0},
                           {0, 100, 0},
                           {0, 0, 100}}) {
      const key_space space(range, range % 2 == 0 ? key_layout::dense : key_layout::sparse, 5);
      uniform_lanes next(space, mix, 17, GetParam());
      random::xoshiro256pp_lanes engine(17);
      const uniform draw(range);
      const operation_chooser choose(mix);
      operation_batch batch;
      for (const std::size_t size : {512U, 511U, 1U, 2U, 8U, 9U, 64U, 65U, 100U, 0U, 333U, 512U}) {
        next.fill(batch, size);
        ASSERT_EQ(batch.size, size);
        for (std::size_t i = 0; i < size; ++i) {
          const drawn parts = draw(engine());
          ASSERT_EQ(batch.keys[i], space.key(parts.index)) << range << ", operation " << i;
          ASSERT_EQ(batch.kinds[i], choose.at(parts.fraction >> operation_chooser::fine_shift))
              << range << ", operation " << i;
        }
      }
    }
  }
}

// Beyond the batch's size stands what stood there.
TEST_P(uniform_lanes_with, writes_nothing_after_the_last_operation) {
  uniform_lanes next({1000, key_layout::dense, 0}, {20, 10, 70}, 1, GetParam());
  operation_batch batch;
  for (std::size_t size = 0; size <= 130; ++size) {
    batch.keys.fill(0);
    batch.kinds.fill(operation::iterate);
    next.fill(batch, size);
    EXPECT_EQ(std::ranges::count(batch.keys, std::uint64_t{0}), 512 - size);
    EXPECT_EQ(std::ranges::count(batch.kinds, operation::iterate), 512 - size);
  }
}

INSTANTIATE_TEST_SUITE_P(instructions, uniform_lanes_with,
                         ::testing::Values(instruction_set::scalar, instruction_set::avx2,
                                           instruction_set::avx512),
                         [](const auto& tested) {
                           return std::string(
                               host::instruction_set_names[static_cast<std::size_t>(tested.param)]);
                         });

// What `make_generator` uses in its place, when told to draw one kind more, which is never drawn.
TEST(uniform_lanes, draws_what_the_general_way_draws) {
  const key_space space(20'000, key_layout::sparse, 5);
  const options few{.mix = {20, 10, 70}};
  const options many{.mix = {20, 10, 70 - 1e-15, 1e-15}};
  ASSERT_TRUE(uniform_lanes::draws(few));
  ASSERT_FALSE(uniform_lanes::draws(many));
  const auto one = make_generator(space, few, 3);
  const auto other = make_generator(space, many, 3);
  operation_batch ones, others;
  for (int i = 0; i < 20; ++i) {
    one->fill(ones, 512);
    other->fill(others, 512);
    EXPECT_EQ(ones.keys, others.keys);
    EXPECT_EQ(ones.kinds, others.kinds);
  }
}

}  // namespace
}  // namespace assay::workload
