// That threads and trials draw different numbers: from no two seeds alike, and no stream a part of
// another.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "assay/random/engines_test_types.h"
#include "assay/random/splitmix64.h"

namespace assay::random {
namespace {

std::size_t repetitions(std::vector<std::uint64_t> numbers) {
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  return repeated.size();
}

// 4096 threads of 1000 trials with neighbouring seeds: as a trial derives them, a thread's seed
// from the trial's and an engine's seed from the thread's. Four million random numbers of 64 bits
// would repeat one with a probability of 4 in 10 million.
TEST(derive_seed, gives_every_thread_of_every_trial_its_own) {
  std::vector<std::uint64_t> seeds;
  seeds.reserve(std::size_t{1000} * 4096);
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    for (std::uint64_t thread = 0; thread < 4096; ++thread) {
      seeds.push_back(derive_seed(derive_seed(trial, thread), 1));
    }
  }
  EXPECT_EQ(repetitions(std::move(seeds)), 0U);
}

// Every three numbers that follow each other in any of the streams, as one.
constexpr std::size_t window = 3;
void add_windows(std::vector<std::uint64_t>& windows, const std::vector<std::uint64_t>& stream) {
  for (std::size_t i = 0; i + window <= stream.size(); ++i) {
    std::uint64_t hash = 0;
    for (std::size_t j = i; j < i + window; ++j) hash = mix64(hash + golden_gamma + stream[j]);
    windows.push_back(hash);
  }
}

template <class Engine>
std::vector<std::uint64_t> stream_of(std::uint64_t seed, std::size_t length) {
  Engine engine(seed);
  std::vector<std::uint64_t> numbers(length);
  for (auto& number : numbers) number = engine();
  return numbers;
}

template <class Engine>
class streams_of : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!facts_of<Engine>().available) GTEST_SKIP() << "this processor lacks it";
  }
};
TYPED_TEST_SUITE(streams_of, every_engine_as_types, engine_names);

// 256 threads that draw 1000 numbers each. A quarter of a million random windows would repeat one
// with a probability of 2 in 10^9 (of 31-bit numbers no more: a window of them has 93 bits).
TYPED_TEST(streams_of, many_threads_share_no_window) {
  std::vector<std::uint64_t> windows;
  for (std::uint64_t thread = 0; thread < 256; ++thread) {
    add_windows(windows, stream_of<TypeParam>(derive_seed(1, thread), 1000));
  }
  EXPECT_EQ(repetitions(std::move(windows)), 0U);
}

// The measure itself: a stream and the same one some numbers later do share windows.
TYPED_TEST(streams_of, two_that_overlap_are_seen) {
  const auto whole = stream_of<TypeParam>(1, 1500);
  std::vector<std::uint64_t> windows;
  add_windows(windows, {whole.begin(), whole.begin() + 1000});
  add_windows(windows, {whole.begin() + 501, whole.end()});
  EXPECT_EQ(repetitions(std::move(windows)), 1000U - 501U - window + 1);
}

}  // namespace
}  // namespace assay::random
