// A cursor over bt_map: it agrees with a map's iterators, and goes on whatever happens to the map.

#include "assay/maps/cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <ranges>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/maps/bt_map.h"
#include "assay/reclaim/epochs.h"
#include "tests/maps/bt_map_test_small.h"

namespace assay {
namespace {

using number = std::uint64_t;
template <class K, class V, class Compare = std::less<>>
using small = bt_map<K, V, bt_test::small_nodes<K, bt::optimistic, Compare>>;
using numbers = small<number, number>;
using elements_type = std::vector<std::pair<number, number>>;

TEST(cursor, agrees_with_iterators) {
  std::mt19937_64 draw(7);
  numbers map;
  auto handle = map.attach();
  std::map<number, number> model;
  for (number i = 0; i < 200; ++i) {
    const number key = draw() % 500;
    handle.insert_or_assign(key, i);
    model[key] = i;
  }
  cursor at(handle);
  EXPECT_FALSE(at.valid());
  elements_type met;
  for (at.first(); at.valid(); at.next()) met.emplace_back(at.key(), at.value());
  EXPECT_EQ(met, elements_type(model.begin(), model.end()));
  met.clear();
  for (at.last(); at.valid(); at.previous()) met.push_back(*at);
  EXPECT_EQ(met, elements_type(model.rbegin(), model.rend()));
  // Steps in any order.
  at.seek(250);
  for (auto beside = model.lower_bound(250); beside != model.end() && beside != model.begin();) {
    ASSERT_TRUE(at.valid());
    ASSERT_EQ(*at, element_of_handle<numbers::handle>(*beside));
    if (draw() % 3 == 0) {
      at.previous();
      --beside;
    } else {
      at.next();
      ++beside;
    }
  }
}

TEST(cursor, comes_to_both_ends) {
  numbers map;
  auto handle = map.attach();
  cursor at(handle);
  at.next();
  EXPECT_FALSE(at.valid());
  at.previous();
  EXPECT_FALSE(at.valid());
  handle.insert(1, 10);
  handle.insert(2, 20);
  at.next();
  EXPECT_EQ(at.key(), 1U);
  at.previous();
  EXPECT_FALSE(at.valid());
  at.previous();
  EXPECT_EQ(at.value(), 20U);
  at.next();
  EXPECT_FALSE(at.valid());
  at.seek(3);
  EXPECT_FALSE(at.valid());
}

TEST(cursor, goes_on_when_its_element_is_gone) {
  numbers map;
  auto handle = map.attach();
  for (number key = 0; key < 100; ++key) handle.insert(key, key);
  cursor at(handle);
  at.seek(50);
  for (number key = 20; key < 80; ++key) handle.erase(key);
  EXPECT_EQ(*at, std::pair(number{50}, number{50})) << "a copy";
  at.next();
  EXPECT_EQ(at.key(), 80U);
  handle.insert(70, 7);
  at.previous();
  EXPECT_EQ(at.value(), 7U);
  // Erases what it stands at.
  for (at.first(); at.valid(); at.next()) handle.erase(at.key());
  EXPECT_TRUE(handle.empty());
}

// Keys and values that can be copied and not assigned.
struct fixed {
  const number is;
  friend bool operator<(const fixed& one, const fixed& other) { return one.is < other.is; }
};

TEST(cursor, has_any_types_in_any_order) {
  small<fixed, fixed> unassignable;
  auto handle = unassignable.attach();
  for (number key = 0; key < 30; ++key) handle.insert({key}, {key + 1});
  number expected = 0;
  cursor at(handle);
  for (at.first(); at.valid(); at.next()) EXPECT_EQ(at.value().is, ++expected);
  EXPECT_EQ(expected, 30U);

  small<std::string, int, std::greater<>> words;
  auto of_words = words.attach();
  for (const char* word : {"a", "b", "c"}) of_words.insert(word, 1);
  cursor among(of_words);
  among.seek(std::string_view("bb"));
  EXPECT_EQ(among.key(), "b");
  among.next();
  EXPECT_EQ(among.key(), "a");
}

TEST(elements, are_an_input_range) {
  numbers map;
  auto handle = map.attach();
  for (number key = 0; key < 100; ++key) handle.insert(key, 2 * key);
  using range = elements<numbers::handle>;
  static_assert(std::ranges::input_range<range> && std::ranges::view<range>);
  static_assert(!std::ranges::forward_range<range>);
  number expected = 0;
  for (const auto& [key, value] : elements(handle)) {
    EXPECT_EQ(key, expected++);
    EXPECT_EQ(value, 2 * key);
  }
  EXPECT_EQ(expected, 100U);
  elements_type met;
  std::ranges::copy(elements(handle, 90) | std::views::take_while([](const auto& element) {
                      return element.first < 95;
                    }),
                    std::back_inserter(met));
  EXPECT_EQ(met, (elements_type{{90, 180}, {91, 182}, {92, 184}, {93, 186}, {94, 188}}));
  EXPECT_EQ(std::ranges::distance(elements(handle, 1000)), 0);
}

// Even keys stay; odd ones come and go.
TEST(cursor, meets_once_what_stays) {
  constexpr number keys = 80;
#if ASSAY_THREAD_SANITIZER || ASSAY_ADDRESS_SANITIZER
  constexpr int updates = 1000;
#else
  constexpr int updates = 6000;
#endif
  numbers map;
  for (number key = 0; key < keys; key += 2) map.attach().insert(key, key);
  std::atomic<unsigned> left{2};
  std::vector<std::jthread> threads;
  for (unsigned self = 0; self < 2; ++self) {
    threads.emplace_back([&, self] {
      std::mt19937_64 draw(self);
      auto handle = map.attach();
      for (int i = 0; i < updates; ++i) {
        const number key = draw() % keys | 1U;
        if (draw() % 2 == 0) {
          handle.insert(key, key);
        } else {
          handle.erase(key);
        }
      }
      --left;
    });
  }
  auto handle = map.attach();
  cursor at(handle);
  do {
    std::vector<number> up;
    std::vector<number> down;
    for (at.first(); at.valid(); at.next()) up.push_back(at.key());
    for (at.last(); at.valid(); at.previous()) down.push_back(at.key());
    std::ranges::reverse(down);
    for (const auto& met : {up, down}) {
      EXPECT_TRUE(std::ranges::is_sorted(met));
      EXPECT_EQ(std::ranges::adjacent_find(met), met.end());
      EXPECT_EQ(std::ranges::count_if(met, [](number key) { return key % 2 == 0; }), keys / 2);
    }
  } while (left > 0 && !testing::Test::HasFailure());
}

}  // namespace
}  // namespace assay
