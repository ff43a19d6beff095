// Calls to bt_map without a handle: what threads and maps may do, in which order they may end, and
// that nothing is left of either.

#include "assay/maps/implicit_handle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "assay/maps/bt_map.h"
#include "assay/reclaim/epochs.h"
#include "tests/maps/bt_map_test_small.h"

namespace assay {
namespace {

using number = std::uint64_t;
using numbers = bt_map<number, number>;
using words = bt_map<std::string, std::string, bt_test::small_nodes<std::string>>;
using element = std::pair<number, number>;

// Each call does what the handle's does.
TEST(implicit_handles, have_all_operations) {
  numbers map;
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(map.insert(1, 10));
  EXPECT_FALSE(map.insert(1, 11));
  EXPECT_TRUE(map.insert_or_assign(2, 20));
  EXPECT_TRUE(map.insert(3, 30));
  EXPECT_TRUE(map.update(2, [](number value) { return value + 1; }));
  EXPECT_EQ(map.find(2), 21U);
  EXPECT_TRUE(map.contains(3));
  EXPECT_TRUE(map.erase(3));
  EXPECT_FALSE(map.contains(3));
  number sum = 0;
  const auto add = [&sum](number key, number value) { sum += key + value; };
  EXPECT_TRUE(map.visit(1, add));
  EXPECT_EQ(std::exchange(sum, 0), 11U);
  map.range(1, 9, add);
  map.iterate(add);
  map.range_snapshot(1, 9, add);
  map.snapshot(add);
  EXPECT_TRUE(map.visit_range(1, 9, add));
  EXPECT_TRUE(map.visit_range_descending(1, 9, add));
  EXPECT_TRUE(map.visit_all(add));
  EXPECT_TRUE(map.visit_all_descending(add));
  EXPECT_EQ(sum, 8U * (11 + 23));
  EXPECT_FALSE(map.visit_all([](number, number) { return false; }));
  const std::vector<number> keys{1, 7};
  std::vector<std::optional<number>> found(2);
  map.find_many(keys, found);
  EXPECT_EQ(found, (std::vector<std::optional<number>>{10, std::nullopt}));
  EXPECT_EQ(map.clone()->size(), 2U);
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(map.approximate_size(), 2U);
  EXPECT_EQ(map.lower_bound(1), element(1, 10));
  EXPECT_EQ(map.upper_bound(1), element(2, 21));
  EXPECT_EQ(map.floor(9), element(2, 21));
  EXPECT_EQ(map.predecessor(2), element(1, 10));
  EXPECT_EQ(map.minimum(), element(1, 10));
  EXPECT_EQ(map.maximum(), element(2, 21));
  EXPECT_FALSE(map.empty());
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(map.insert(1, 10));
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

TEST(implicit_handles, have_all_that_change_elements) {
  words map;
  const std::string key("a");
  std::string moved("value");
  EXPECT_TRUE(map.insert(key, std::move(moved)));
  EXPECT_FALSE(map.insert(std::string("a"), std::string("other")));
  EXPECT_FALSE(map.insert_or_assign(key, std::string("b")));
  EXPECT_FALSE(map.insert_or_assign(std::string("a"), std::string("c")));
  EXPECT_TRUE(map.try_emplace("e", 3U, 'x'));
  EXPECT_FALSE(map.try_emplace(key, 3U, 'x'));
  EXPECT_TRUE(map.emplace("f", "y"));
  EXPECT_EQ(map.get_or_emplace(key, "z"), std::pair(std::string("c"), false));
  const auto ignore = [](const std::string& /*key*/, const std::string& /*value*/) {};
  EXPECT_TRUE(map.emplace_and_visit("g", ignore, "z"));
  EXPECT_EQ(map.exchange(key, "d"), "c");
  EXPECT_TRUE(map.upsert(
      "h", [] { return std::string("made"); }, [](const std::string& value) { return value; }));
  EXPECT_EQ(map.extract("h"), "made");
  EXPECT_TRUE(map.erase_if(key, [](const std::string& value) { return value == "d"; }));
  EXPECT_EQ(map.erase_range("e", "f"), 2U);
  EXPECT_EQ(map.size(), 1U);
}

TEST(implicit_handles, take_keys_of_other_types) {
  words map;
  for (const char* word : {"a", "b", "c"}) map.insert(word, word);
  const std::string_view key("b");
  EXPECT_EQ(map.find(key), "b");
  EXPECT_TRUE(map.contains(key));
  int met = 0;
  const auto count = [&met](const std::string&, const std::string&) { ++met; };
  EXPECT_TRUE(map.visit(key, count));
  EXPECT_TRUE(map.visit_range(key, "c", count));
  EXPECT_TRUE(map.visit_range_descending("a", key, count));
  EXPECT_EQ(met, 5);
  EXPECT_EQ(map.lower_bound(key)->first, "b");
  EXPECT_EQ(map.upper_bound(key)->first, "c");
  EXPECT_EQ(map.floor(key)->first, "b");
  EXPECT_EQ(map.predecessor(key)->first, "a");
  map.range("a", key, count);
  map.range_snapshot("a", key, count);
  map.range("c", key, count);
  map.range_snapshot("c", key, count);
  EXPECT_EQ(met, 9);
  EXPECT_TRUE(map.erase(key));
  EXPECT_FALSE(map.erase(key));
  const auto shout = [](const std::string& value) { return value + "!"; };
  EXPECT_FALSE(map.update(key, shout));
  EXPECT_TRUE(map.update(std::string_view("a"), shout));
  const auto is_calm = [](const std::string& value) { return value.back() != '!'; };
  EXPECT_FALSE(map.erase_if(key, is_calm));
  EXPECT_FALSE(map.erase_if(std::string_view("a"), is_calm));
  EXPECT_EQ(map.extract(key), std::nullopt);
  EXPECT_EQ(map.extract(std::string_view("a")), "a!");
  EXPECT_TRUE(map.erase_if(std::string_view("c"), is_calm));
  EXPECT_TRUE(map.empty());
  for (const char* word : {"a", "b", "c", "d"}) map.insert(word, word);
  EXPECT_EQ(map.erase_range("c", key), 0U);
  EXPECT_EQ(map.erase_range(key, "c"), 2U);
  EXPECT_EQ(map.size(), 2U);
}

TEST(implicit_handles, are_as_many_as_calls_within_each_other) {
  words map;
  for (const char* word : {"a", "b", "c"}) map.insert(word, word);
  const std::function<int(int)> nest = [&](int depth) {
    int calls = 1;
    if (depth == 0) return calls;
    map.visit_all([&](const std::string& key, const std::string& value) {
      map.insert_or_assign(key, value + "+");
      EXPECT_EQ(map.find(key), value + "+");
      calls += nest(depth - 1);
      map.update(key, [&](const std::string& now) {
        EXPECT_TRUE(map.contains(key));
        return now;
      });
    });
    return calls;
  };
  EXPECT_EQ(nest(3), 1 + 3 + 9 + 27);
  // What throws gives its handle back.
  const auto fail = [&] {
    map.visit("a", [](const std::string&, const std::string&) { throw 1; });
  };
  for (int i = 0; i < 3; ++i) EXPECT_THROW(fail(), int);
  EXPECT_EQ(map.size(), 3U);
}

TEST(implicit_handles, tell_maps_apart) {
  std::vector<std::unique_ptr<numbers>> maps(20);
  for (int round = 0; round < 3; ++round) {
    for (number i = 0; i < maps.size(); ++i) {
      maps[i] = std::make_unique<numbers>();  // perhaps where another one was
      EXPECT_TRUE(maps[i]->empty());
      EXPECT_TRUE(maps[i]->insert(i, i));
    }
    for (number i = 0; i < maps.size(); ++i) {
      for (number key = 0; key < maps.size(); ++key) EXPECT_EQ(maps[i]->contains(key), i == key);
    }
  }
}

// So many that a thread forgets those that have ended, and more than once.
TEST(implicit_handles, are_of_many_maps) {
  constexpr number most = 1000;
  std::vector<std::unique_ptr<numbers>> maps;
  for (number i = 0; i < most; ++i) {
    maps.push_back(std::make_unique<numbers>());
    EXPECT_TRUE(maps.back()->insert(i, i));
    if (i % 3 != 0) maps[i / 2].reset();
  }
  number alive = 0;
  for (number i = 0; i < most; ++i) {
    if (maps[i] == nullptr) continue;
    ++alive;
    EXPECT_TRUE(maps[i]->visit(i, [&](number key, number value) {
      EXPECT_FALSE(maps[i]->insert(key, value));  // a handle more
    }));
    EXPECT_EQ(maps[i]->size(), 1U);
  }
  EXPECT_GT(alive, most / 3);
}

TEST(implicit_handles, go_on_after_other_handles) {
  numbers map;
  map.insert(1, 1);
  auto handle = map.attach();
  handle.visit(1, [&](number, number) { EXPECT_TRUE(map.erase(1)); });
  EXPECT_FALSE(handle.contains(1));
}

// Threads end while maps live, and maps while threads live; in each round both at once.
TEST(implicit_handles, end_with_their_maps_or_their_threads) {
  constexpr int rounds = 40;
  for (int round = 0; round < rounds; ++round) {
    auto map = std::make_unique<numbers>();
    auto other = std::make_unique<numbers>();
    std::atomic<int> done{0};
    std::vector<std::jthread> threads;
    for (number self = 0; self < 3; ++self) {
      threads.emplace_back([&, self] {
        for (number key = 0; key < 50; ++key) {
          map->insert(3 * key + self, key);
          other->insert(key, key);
          EXPECT_EQ(map->find(3 * key + self), key);
        }
        done.fetch_add(1, std::memory_order_release);
      });
    }
    while (done.load(std::memory_order_acquire) < 3) std::this_thread::yield();
    EXPECT_EQ(map->size(), 150U);
    EXPECT_EQ(map->broken_invariant(), std::nullopt);
    map.reset();  // no call runs, but threads end
    if (round % 2 == 0) threads.clear();
    EXPECT_EQ(other->size(), 50U);
    other.reset();
  }
}

TEST(implicit_handles, of_a_thread_are_used_by_the_next) {
  words map;
  for (number i = 0; i < 30; ++i) {
    std::jthread([&, i] {
      for (int again = 0; again < 20; ++again) {
        map.insert_or_assign(std::to_string(i % 7), std::string(50, 'a'));
      }
    });
  }
  EXPECT_EQ(map.size(), 7U);
  map.clear();
  EXPECT_EQ(map.unfreed(), 0U);
}

// A thread_local object that is destroyed after the thread's handles, as it was there before them.
TEST(implicit_handles, are_made_after_the_thread_has_ended_its_own) {
  struct late {
    numbers* map = nullptr;
    late() = default;
    late(const late&) = delete;
    late& operator=(const late&) = delete;
    ~late() {
      if (map == nullptr) return;
      EXPECT_TRUE(map->insert(2, 2));
      EXPECT_TRUE(map->visit(2, [this](number key, number) { map->insert(key + 1, 3); }));
    }
  };
  numbers map;
  std::jthread([&] {
    thread_local late last;
    last.map = &map;
    map.insert(1, 1);
  }).join();
  EXPECT_EQ(map.size(), 3U);
}

}  // namespace
}  // namespace assay
