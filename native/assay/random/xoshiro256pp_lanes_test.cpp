#include "assay/random/xoshiro256pp_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/instruction_set.h"
#include "assay/random/xoshiro256pp.h"

namespace assay::random {
namespace {

using host::best_instruction_set;
using host::instruction_set;
using host::instruction_set_names;
using ::testing::ElementsAre;

constexpr std::size_t lanes = xoshiro256pp_lanes::lanes;

std::vector<std::uint64_t> numbers_of(xoshiro256pp_lanes engine, std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  engine.fill(numbers);
  return numbers;
}

class lanes_with : public ::testing::TestWithParam<instruction_set> {
 protected:
  void SetUp() override {
    if (GetParam() > best_instruction_set()) GTEST_SKIP() << "this processor does not have them";
  }
};

TEST_P(lanes_with, agrees_with_the_reference_program_in_lane_0) {
  const auto numbers = numbers_of(xoshiro256pp_lanes(xoshiro256pp({1, 2, 3, 4}), GetParam()), 40);
  std::vector<std::uint64_t> lane;
  for (std::size_t i = 0; i < numbers.size(); i += lanes) lane.push_back(numbers[i]);
  EXPECT_THAT(lane, ElementsAre(41943041U, 58720359U, 3588806011781223U, 3591011842654386U,
                                9228616714210784205U));
}

TEST_P(lanes_with, draws_from_engines_that_are_a_jump_apart) {
  const auto numbers = numbers_of(xoshiro256pp_lanes(xoshiro256pp(7), GetParam()), 8000);
  xoshiro256pp first(7);
  for (std::size_t lane = 0; lane < lanes; ++lane, first.jump()) {
    xoshiro256pp engine = first;
    for (std::size_t i = lane; i < numbers.size(); i += lanes) ASSERT_EQ(numbers[i], engine());
  }
}

TEST_P(lanes_with, draws_the_same_numbers_however_they_are_divided_into_calls) {
  const auto expected = numbers_of(xoshiro256pp_lanes(xoshiro256pp(3)), 2000);
  for (const auto& lengths :
       std::vector<std::vector<std::size_t>>{{1}, {7}, {8}, {9}, {0, 13, 512, 1, 1, 64, 3, 15}}) {
    xoshiro256pp_lanes engine(xoshiro256pp(3), GetParam());
    std::vector<std::uint64_t> numbers(expected.size());
    std::size_t filled = 0;
    for (std::size_t i = 0; filled < numbers.size(); ++i) {
      const std::size_t next = std::min(lengths[i % lengths.size()], numbers.size() - filled);
      engine.fill(std::span(numbers).subspan(filled, next));
      filled += next;
      if (filled < numbers.size() && i % 3 == 0) numbers[filled++] = engine();
    }
    EXPECT_EQ(numbers, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(instructions, lanes_with,
                         ::testing::Values(instruction_set::scalar, instruction_set::avx2,
                                           instruction_set::avx512),
                         [](const auto& tested) {
                           return std::string(
                               instruction_set_names[static_cast<std::size_t>(tested.param)]);
                         });

// One step of the engine maps its state linearly over the field of two elements. Squaring the
// matrix of that map 128 times gives the map of 2^128 steps, with which no number of the authors'
// polynomial has anything to do.
TEST(xoshiro256pp, jumps_by_two_to_the_128th) {
  using state = std::array<std::uint64_t, 4>;
  using matrix = std::vector<state>;  // the images of the 256 unit vectors
  const auto image = [](const matrix& of, const state& x) {
    state sum{};
    for (std::size_t i = 0; i < 256; ++i) {
      if ((x[i / 64] >> i % 64 & 1) == 0) continue;
      for (std::size_t word = 0; word < 4; ++word) sum[word] ^= of[i][word];
    }
    return sum;
  };
  matrix steps(256);
  for (std::size_t i = 0; i < 256; ++i) {
    state unit{};
    unit[i / 64] = std::uint64_t{1} << i % 64;
    xoshiro256pp engine(unit);
    engine();
    steps[i] = engine.state();
  }
  for (int doubling = 0; doubling < 128; ++doubling) {
    matrix twice(256);
    for (std::size_t i = 0; i < 256; ++i) twice[i] = image(steps, steps[i]);
    steps = twice;
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    xoshiro256pp jumped(seed);
    jumped.jump();
    EXPECT_EQ(jumped.state(), image(steps, xoshiro256pp(seed).state()));
  }
}

}  // namespace
}  // namespace assay::random
