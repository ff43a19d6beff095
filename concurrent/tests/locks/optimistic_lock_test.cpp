#include "assay/locks/optimistic_lock.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace assay::sync {
namespace {

static_assert(sizeof(optimistic_lock) == 8);

TEST(optimistic_lock, is_free_at_first) {
  const optimistic_lock lock;
  const auto seen = lock.read();
  EXPECT_TRUE(optimistic_lock::is_free(seen));
  EXPECT_FALSE(optimistic_lock::is_locked(seen));
  EXPECT_FALSE(optimistic_lock::is_obsolete(seen));
  EXPECT_TRUE(lock.validate(seen));
}

TEST(optimistic_lock, is_taken_once) {
  optimistic_lock lock;
  const auto seen = lock.read();
  ASSERT_TRUE(lock.try_lock(seen));
  EXPECT_FALSE(lock.try_lock(seen));
  EXPECT_FALSE(lock.validate(seen));
  EXPECT_TRUE(optimistic_lock::is_locked(lock.read()));
  EXPECT_FALSE(optimistic_lock::is_free(lock.read()));
}

TEST(optimistic_lock, is_free_at_a_new_version_after_a_change) {
  optimistic_lock lock;
  const auto seen = lock.read();
  ASSERT_TRUE(lock.try_lock(seen));
  lock.unlock();
  EXPECT_TRUE(optimistic_lock::is_free(lock.read()));
  EXPECT_FALSE(lock.validate(seen));
  EXPECT_FALSE(lock.try_lock(seen));
  EXPECT_TRUE(lock.try_lock(lock.read()));
}

TEST(optimistic_lock, is_as_it_was_when_nothing_was_changed) {
  optimistic_lock lock;
  const auto seen = lock.read();
  ASSERT_TRUE(lock.try_lock(seen));
  lock.unlock_unchanged();
  EXPECT_TRUE(lock.validate(seen));
  EXPECT_TRUE(lock.try_lock(seen));
}

TEST(optimistic_lock, is_obsolete_for_ever) {
  optimistic_lock lock;
  const auto seen = lock.read();
  ASSERT_TRUE(lock.try_lock(seen));
  lock.unlock_obsolete();
  EXPECT_TRUE(optimistic_lock::is_obsolete(lock.read()));
  EXPECT_FALSE(optimistic_lock::is_locked(lock.read()));
  EXPECT_FALSE(optimistic_lock::is_free(lock.read()));
  EXPECT_FALSE(lock.validate(seen));
  EXPECT_FALSE(lock.try_lock(seen));
}

// Two threads change words that the others read: what is valid is one state.
TEST(optimistic_lock, vouches_for_what_was_read_together) {
  constexpr std::uint64_t changes = 20'000;  // of each
  optimistic_lock lock;
  std::array<std::atomic<std::uint64_t>, 8> words{};
  std::atomic<unsigned> writing{2};
  std::atomic<std::uint64_t> torn{0};

  const auto write = [&] {
    for (std::uint64_t i = 0; i < changes;) {
      const auto seen = lock.read();
      const std::uint64_t next = words[0].load(std::memory_order_relaxed) + 1;
      if (!optimistic_lock::is_free(seen) || !lock.try_lock(seen)) continue;
      for (auto& word : words) word.store(next, std::memory_order_relaxed);
      lock.unlock();
      ++i;
    }
    --writing;
  };
  const auto read = [&] {
    while (writing != 0) {
      const auto seen = lock.read();
      if (!optimistic_lock::is_free(seen)) continue;
      std::array<std::uint64_t, words.size()> found{};
      for (std::size_t i = 0; i < words.size(); ++i) {
        found[i] = words[i].load(std::memory_order_relaxed);
      }
      if (!lock.validate(seen)) continue;
      for (const std::uint64_t word : found) torn += word != found[0] ? 1U : 0U;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back(write);
      threads.emplace_back(read);
    }
  }
  EXPECT_EQ(torn, 0U);
  EXPECT_EQ(words[0], 2 * changes);
}

}  // namespace
}  // namespace assay::sync
