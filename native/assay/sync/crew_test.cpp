#include "assay/sync/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace assay::sync {
namespace {

TEST(crew, runs_each_phase_once_in_every_thread_and_in_the_same_threads) {
  crew threads(3);
  std::vector<std::thread::id> first(3), second(3);
  threads.run([&](unsigned i) { first[i] = std::this_thread::get_id(); });
  threads.run([&](unsigned i) { second[i] = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
  EXPECT_NE(first[0], std::this_thread::get_id());
}

TEST(crew, ends_a_phase_only_when_all_threads_have) {
  crew threads(4);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> ended = 0;
    threads.run([&](unsigned) { ++ended; });
    EXPECT_EQ(ended, 4);
  }
}

TEST(crew, leaves_its_owner_free_between_start_and_wait) {
  crew threads(2);
  std::atomic<bool> go = false;
  std::atomic<int> ended = 0;
  threads.start([&](unsigned) {
    go.wait(false);
    ++ended;
  });
  EXPECT_EQ(ended, 0);
  go = true;
  go.notify_all();
  threads.wait();
  EXPECT_EQ(ended, 2);
}

TEST(crew, hands_on_an_exception_and_is_fit_for_the_next_phase) {
  crew threads(2);
  EXPECT_THROW(threads.run([](unsigned i) {
    if (i == 1) throw std::runtime_error("one of them");
  }),
               std::runtime_error);
  int calls = 0;
  threads.run([&](unsigned i) { calls += i == 0; });
  EXPECT_EQ(calls, 1);
}

TEST(crew, of_no_use_is_joined) { const crew threads(8); }

TEST(crew, of_many_threads_serves_and_ends) {
  std::atomic<int> ended = 0;
  {
    crew threads(512);
    threads.run([&](unsigned) { ++ended; });
  }
  EXPECT_EQ(ended, 512);
}

}  // namespace
}  // namespace assay::sync
