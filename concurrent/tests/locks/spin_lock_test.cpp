#include "assay/locks/spin_lock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::sync {
namespace {

static_assert(sizeof(spin_lock) == 1);

TEST(spin_lock, is_held_by_one) {
  spin_lock lock;
  const std::unique_lock held(lock);
  EXPECT_FALSE(std::unique_lock(lock, std::try_to_lock).owns_lock());
}

TEST(spin_lock, is_free_again_after_its_holder) {
  spin_lock lock;
  {
    const std::scoped_lock held(lock);
  }
  EXPECT_TRUE(std::unique_lock(lock, std::try_to_lock).owns_lock());
}

TEST(spin_lock, orders_what_its_holders_do) {
  constexpr std::uint64_t rounds = 20'000;
  constexpr std::uint64_t threads = 4;
  spin_lock lock;
  std::uint64_t count = 0;  // not atomic
  {
    std::vector<std::jthread> crew;
    for (std::uint64_t i = 0; i < threads; ++i) {
      crew.emplace_back([&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
          const std::scoped_lock held(lock);
          ++count;
        }
      });
    }
  }
  EXPECT_EQ(count, threads * rounds);
}

}  // namespace
}  // namespace assay::sync
