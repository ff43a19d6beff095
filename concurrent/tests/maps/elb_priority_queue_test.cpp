// The queue: its order, equal elements, and what it holds when threads push and pop.

#include "assay/maps/elb_priority_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/maps/elb_entry.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"

namespace assay {

// A type of a program's own: later ones are less.
struct minute {
  std::uint32_t since_start;
  friend bool operator==(const minute&, const minute&) = default;
};
template <>
struct elb::packing<minute> {
  static constexpr unsigned bits = 24;
  static std::uint64_t pack(minute from) { return 0xff'ffff - from.since_start; }
  static minute unpack(std::uint64_t from) {
    return {static_cast<std::uint32_t>(0xff'ffff - from)};
  }
};

namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr unsigned slowdown = ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER ? 8 : 1;

// Nodes of 6 are balanced all the time.
template <class T, class Compare = std::less<T>>
using small_queue = elb_priority_queue<T, Compare, reclaim::hazard_pointers, elb_nodes<6>>;

template <class Handle>
auto popped_all(Handle& handle) {
  std::vector<typename decltype(handle.try_pop())::value_type> all;
  while (const auto popped = handle.try_pop()) all.push_back(*popped);
  return all;
}

// Random elements, many of them equal and some at the ends, against std::multiset.
template <class T, class Compare>
void expect_is_a_multiset(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 draw(seed);
  small_queue<T, Compare> queue;
  auto handle = queue.attach();
  std::multiset<T, Compare> model;
  using limits = std::numeric_limits<T>;
  for (unsigned i = 0; i < 4000 / slowdown; ++i) {
    if (draw() % 8 < (i / 500 % 2 == 0 ? 6U : 2U)) {
      const auto kind = draw() % 16;
      T element = static_cast<T>(draw() % 20);
      if (kind == 0) element = limits::min();
      if (kind == 1) element = limits::max();
      handle.push(element);
      model.insert(element);
    } else {
      const auto popped = handle.try_pop();
      ASSERT_EQ(popped.has_value(), !model.empty());
      if (!popped) continue;
      ASSERT_EQ(*popped, *model.begin());
      model.erase(model.begin());
    }
    ASSERT_EQ(handle.empty(), model.empty());
  }
  EXPECT_EQ(queue.size(), model.size());
  std::vector<T> walked;
  queue.for_each([&](T element) { walked.push_back(element); });
  EXPECT_THAT(walked, ElementsAreArray(model));
  EXPECT_EQ(queue.broken_invariant(), std::nullopt);
  EXPECT_THAT(popped_all(handle), ElementsAreArray(model));
  EXPECT_TRUE(queue.empty());
}

TEST(elb_priority_queue, pops_what_a_multiset_has_first) {
  const auto seed = std::random_device{}();
  expect_is_a_multiset<std::uint32_t, std::less<>>(seed);
  expect_is_a_multiset<std::uint32_t, std::greater<>>(seed);
  expect_is_a_multiset<std::int8_t, std::less<std::int8_t>>(seed);
  expect_is_a_multiset<std::int64_t, std::greater<std::int64_t>>(seed);
  expect_is_a_multiset<std::uint64_t, std::less<>>(seed);
}

TEST(elb_priority_queue, takes_keys_with_values_and_types_of_ones_own) {
  using entry = elb::element<std::int32_t, std::uint32_t>;
  small_queue<entry> entries;
  auto in_entries = entries.attach();
  for (const entry& each : {entry{3, 1}, {-3, 2}, {3, 0}, {3, 1}}) in_entries.push(each);
  EXPECT_THAT(popped_all(in_entries),
              ElementsAre(entry{-3, 2}, entry{3, 0}, entry{3, 1}, entry{3, 1}));

  small_queue<minute> minutes;
  auto in_minutes = minutes.attach();
  for (const std::uint32_t each : {5U, 0U, 7U, 5U}) in_minutes.push({each});
  EXPECT_THAT(popped_all(in_minutes), ElementsAre(minute{7}, minute{5}, minute{5}, minute{0}));
}

TEST(elb_priority_queue, pushes_and_pops_many) {
  small_queue<std::uint32_t> queue;
  auto handle = queue.attach();
  const std::vector<std::uint32_t> pushed{7, 3, 9, 3};
  handle.push_range(pushed.begin(), pushed.end());
  std::vector<std::uint32_t> popped;
  EXPECT_EQ(handle.try_pop_n(0, std::back_inserter(popped)), 0U);
  EXPECT_EQ(handle.try_pop_n(3, std::back_inserter(popped)), 3U);
  EXPECT_THAT(popped, ElementsAre(3, 3, 7));
  EXPECT_EQ(handle.try_pop_n(3, std::back_inserter(popped)), 1U);
  EXPECT_EQ(handle.try_pop_n(3, std::back_inserter(popped)), 0U);
  EXPECT_TRUE(handle.empty());
}

TEST(elb_priority_queue, is_cleared_and_used_again) {
  small_queue<std::uint32_t> queue;
  auto handle = queue.attach();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{500}}) {
    for (std::size_t i = 0; i < size; ++i) handle.push(5);
    EXPECT_EQ(queue.size(), size);
    queue.clear();
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(handle.try_pop(), std::nullopt);
    EXPECT_EQ(queue.broken_invariant(), std::nullopt);
  }
}

struct two_tie_bits : elb_nodes<6> {
  static constexpr unsigned tie_bits = 2;
};
TEST(elb_priority_queue, holds_as_many_equal_elements_as_it_tells_apart) {
  elb_priority_queue<std::uint64_t, std::less<>, reclaim::epochs, two_tie_bits> queue;
  auto handle = queue.attach();
  auto other = queue.attach();
  // Which ties are free is found out each time, for ever.
  for (int round = 0; round < 1000; ++round) {
    handle.push(8);
    other.push(8);
    handle.push(8);
    handle.push(1);
    EXPECT_THROW(other.push(8), std::length_error);
    EXPECT_EQ(queue.size(), 4U);
    EXPECT_THAT(popped_all(other), ElementsAre(1, 8, 8, 8));
  }
}

struct no_tie_bits : elb_nodes<6> {
  static constexpr unsigned tie_bits = 0;
};
TEST(elb_priority_queue, needs_no_tie_bits_for_elements_that_all_differ) {
  using entry = elb::element<std::uint32_t, std::uint32_t, 31, 32>;
  elb_priority_queue<entry, std::less<>, reclaim::hazard_pointers, no_tie_bits> queue;
  auto handle = queue.attach();
  handle.push({0x7fff'ffff, 0});
  handle.push({3, 0xffff'ffff});
  EXPECT_THROW(handle.push({0x7fff'ffff, 0xffff'ffff}), std::out_of_range);
  EXPECT_THROW(handle.push({0x8000'0000, 0}), std::out_of_range);
  EXPECT_THAT(popped_all(handle), ElementsAre(entry{3, 0xffff'ffff}, entry{0x7fff'ffff, 0}));
}

// As far up as a leaf has places, and not always the lowest.
TEST(elb_priority_queue, pops_near_the_lowest) {
  small_queue<std::uint32_t> queue;
  auto handle = queue.attach();
  EXPECT_EQ(handle.try_pop_near(), std::nullopt);
  std::set<std::uint32_t> held;
  for (std::uint32_t i = 0; i < 500; ++i) {
    handle.push(i * 37 % 500);
    held.insert(i);
  }
  bool ever_another = false;
  while (!held.empty()) {
    const auto popped = handle.try_pop_near();
    ASSERT_TRUE(popped.has_value());
    const auto lower = std::distance(held.begin(), held.find(*popped));
    ASSERT_LT(lower, 6);
    ever_another = ever_another || lower > 0;
    ASSERT_EQ(held.erase(*popped), 1U);
  }
  EXPECT_TRUE(ever_another);
  EXPECT_EQ(handle.try_pop_near(), std::nullopt);
}

// Threads push few different elements and pop some; what was pushed is popped or left, as often.
template <class Queue>
void expect_adds_up() {
  constexpr unsigned threads = 4;
  constexpr std::size_t kinds = 5;
  Queue queue;
  std::vector<std::vector<int>> net(threads, std::vector<int>(kinds));
  {
    std::vector<std::jthread> all;
    for (unsigned self = 0; self < threads; ++self) {
      all.emplace_back([&queue, &mine = net[self], self] {
        auto handle = queue.attach();
        std::mt19937_64 draw(self);
        for (unsigned i = 0; i < 20'000 / slowdown; ++i) {
          const auto kind = draw() % kinds;
          if (draw() % 2 == 0) {
            handle.push(static_cast<typename Queue::value_type>(kind));
            ++mine[kind];
          } else if (const auto popped =
                         draw() % 2 == 0 ? handle.try_pop() : handle.try_pop_near()) {
            --mine[static_cast<std::size_t>(*popped)];
          }
        }
      });
    }
  }
  std::vector<int> left(kinds);
  for (const auto& part : net) {
    for (std::size_t kind = 0; kind < kinds; ++kind) left[kind] += part[kind];
  }
  std::vector<int> walked(kinds);
  queue.for_each([&](auto element) { ++walked[static_cast<std::size_t>(element)]; });
  EXPECT_EQ(walked, left);
  EXPECT_EQ(queue.broken_invariant(), std::nullopt);
}

TEST(elb_priority_queue, adds_up_among_threads) {
  expect_adds_up<small_queue<std::uint32_t>>();
  expect_adds_up<small_queue<std::uint64_t, std::greater<>>>();
}

}  // namespace
}  // namespace assay
