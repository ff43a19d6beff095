#include "assay/measure/crew.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace assay::measure {
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
  threads.run([&](unsigned i) {
    if (i == 0) ++calls;  // the other writes nothing
  });
  EXPECT_EQ(calls, 1);
}

// The system numbers threads upwards as they are made, and begins anew after the highest number, as
// it may have done in between: once around, the numbers fall exactly once.
TEST(crew, makes_threads_in_the_order_asked_for) {
  const std::vector<std::vector<unsigned>> orders{
      {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 0, 5, 1, 3, 4}};
  for (const auto& order : orders) {
    std::vector<pid_t> numbers(order.size());
    crew(6, {.order = order}).run([&](unsigned i) { numbers[i] = gettid(); });
    int falls = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      falls += numbers[order[(i + 1) % order.size()]] < numbers[order[i]];
    }
    EXPECT_EQ(falls, 1);
  }
}

// How far below the highest address of its thread's stack a phase runs.
std::uintptr_t depth_in_a_crew(std::size_t stack_bytes) {
  std::uintptr_t depth = 0;
  crew(1, {.stack_bytes = stack_bytes}).run([&](unsigned) {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    std::size_t size = 0;
    ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    ASSERT_EQ(pthread_attr_getstack(&attributes, &lowest, &size), 0);
    pthread_attr_destroy(&attributes);
    depth = reinterpret_cast<std::uintptr_t>(lowest) + size -
            reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  });
  return depth;
}

TEST(crew, works_deeper_in_its_stack_by_the_bytes_asked_for) {
  const std::uintptr_t depth = depth_in_a_crew(0);
  for (const std::size_t bytes : {16U, 4096U, 65'520U}) {
    const std::uintptr_t deeper = depth_in_a_crew(bytes) - depth;
    EXPECT_GE(deeper, bytes);
    EXPECT_LE(deeper, bytes + 256);  // sanitizers put guards around
  }
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
}  // namespace assay::measure
