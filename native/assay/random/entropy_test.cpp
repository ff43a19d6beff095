#include "assay/random/entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <unordered_set>
#include <vector>

namespace assay::random {
namespace {

using ::testing::EndsWith;
using ::testing::ThrowsMessage;

int tried = 0;

bool never(std::uint64_t& number) {
  ++tried;
  number = 0;
  return false;
}
bool at_once(std::uint64_t& number) {
  number = 42;
  return true;
}
bool at_the_third(std::uint64_t& number) {
  number = 3;
  return ++tried == 3;
}

TEST(first_to_answer, asks_again_before_it_asks_another) {
  tried = 0;
  first_to_answer entropy({{"slow", at_the_third, 3}, {"sure", at_once, 1}});
  EXPECT_EQ(entropy.draw(), 3U);
  EXPECT_EQ(tried, 3);
}

TEST(first_to_answer, falls_back_after_as_many_attempts_as_it_was_told) {
  tried = 0;
  first_to_answer entropy({{"broken", never, 100}, {"sure", at_once, 1}});
  EXPECT_EQ(entropy.draw(), 42U);
  EXPECT_EQ(tried, 100);
  EXPECT_EQ(entropy.draw(), 42U);
  EXPECT_EQ(tried, 200);
}

TEST(first_to_answer, says_so_if_there_is_none) {
  first_to_answer entropy({{"broken", never, 2}, {"worse", never, 2}});
  EXPECT_EQ(entropy.source(), "broken, else worse");
  EXPECT_THAT([&] { entropy.draw(); },
              ThrowsMessage<std::runtime_error>(
                  "no source of entropy gave a number in any attempt: broken, else worse"));
}

TEST(system_entropy, ends_in_the_kernel) {
  EXPECT_THAT(system_entropy().source(), EndsWith("getrandom"));
}

TEST(system_entropy, gives_every_thread_numbers_of_its_own) {
  std::vector<std::vector<std::uint64_t>> drawn(4, std::vector<std::uint64_t>(100));
  {
    std::vector<std::jthread> threads;
    for (auto& numbers : drawn) {
      threads.emplace_back([&numbers] {
        for (auto& number : numbers) number = system_entropy().draw();
      });
    }
  }
  std::unordered_set<std::uint64_t> seen;
  for (const auto& numbers : drawn) seen.insert(numbers.begin(), numbers.end());
  EXPECT_EQ(seen.size(), 400U);
}

}  // namespace
}  // namespace assay::random
