// How bt_map is read: in place, in both directions, from a key on, and by keys of other types.
// Alone against std::map, and among threads that balance the tree meanwhile.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/point.h"
#include "assay/base/sanitizers.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/bt_synchronisation.h"
#include "assay/reclaim/epochs.h"
#include "tests/maps/bt_map_test_small.h"

namespace assay {
namespace {

using number = std::uint64_t;

// Keys and values of a test for each number, in the same order.
template <class T>
T made(number from) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(from);
  } else {
    const std::string digits = std::to_string(from);
    return std::string(20 - digits.size(), '0') + digits;
  }
}

template <class K, class V, class Synchronisation = bt::optimistic, class Compare = std::less<>>
using small = bt_map<K, V, bt_test::small_nodes<K, Synchronisation, Compare>>;

template <class Map>
class bt_map_reading : public testing::Test {};
using maps =
    testing::Types<small<number, number>, small<number, std::string>,
                   small<std::string, std::string>, small<number, number, bt::coarse<std::mutex>>,
                   small<std::string, number, bt::optimistic_replacing>>;
TYPED_TEST_SUITE(bt_map_reading, maps);

// A map, and what it holds.
template <class Map>
struct beside_model {
  using K = typename Map::key_type;
  using V = typename Map::mapped_type;
  using elements = std::vector<std::pair<K, V>>;

  Map map{};
  std::map<K, V, typename Map::key_compare> model{};
  typename Map::handle handle = map.attach();

  void insert(number key) {
    handle.insert(made<K>(key), made<V>(key + 1));
    model.emplace(made<K>(key), made<V>(key + 1));
  }
  void erase(number key) {
    handle.erase(made<K>(key));
    model.erase(made<K>(key));
  }
  // The model's elements from first to last, both included.
  [[nodiscard]] elements between(const K& first, const K& last) const {
    if (last < first) return {};
    return elements(model.lower_bound(first), model.upper_bound(last));
  }
};

template <class Elements>
Elements reversed(Elements elements) {
  std::ranges::reverse(elements);
  return elements;
}

// The elements that a walk visits until it has `most`, and whether the walk came to its end.
template <class Elements, class Walk>
std::pair<Elements, bool> visited(const Walk& walk, std::size_t most = SIZE_MAX) {
  Elements met;
  const bool ended = walk([&](const auto& key, const auto& value) {
    met.emplace_back(key, value);
    return met.size() < most;
  });
  return {met, ended};
}

TYPED_TEST(bt_map_reading, agrees_with_a_map) {
  using both_maps = beside_model<TypeParam>;
  using K = typename both_maps::K;
  using V = typename both_maps::V;
  using elements = typename both_maps::elements;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 draw(seed);
  both_maps both;
  auto& handle = both.handle;
  EXPECT_TRUE(handle.empty());
  constexpr number keys = 150;
  for (int i = 0; i < 600; ++i) {
    const bool grows = i / 200 % 2 == 0;
    if (draw() % 3 < (grows ? 2U : 1U)) {
      both.insert(draw() % keys);
    } else {
      both.erase(draw() % keys);
    }
    const K key = made<K>(draw() % keys);
    const K last = made<K>(draw() % keys);

    const auto held = both.model.find(key);
    std::optional<V> seen;
    const bool was_there = handle.visit(key, [&](const K& met, const V& value) {
      EXPECT_EQ(met, key);
      seen = value;
    });
    ASSERT_EQ(was_there, held != both.model.end());
    ASSERT_EQ(seen.has_value(), was_there);
    if (was_there) {
      ASSERT_EQ(*seen, held->second);
    }

    const elements upto = both.between(made<K>(0), key);
    const auto above = both.model.upper_bound(key);
    using element = std::optional<std::pair<K, V>>;
    const element nothing;
    ASSERT_EQ(handle.floor(key), upto.empty() ? nothing : element(upto.back()));
    ASSERT_EQ(handle.upper_bound(key), above == both.model.end() ? nothing : element(*above));
    const auto from = both.model.lower_bound(key);
    ASSERT_EQ(handle.predecessor(key),
              from == both.model.begin() ? nothing : element(*std::prev(from)));

    const elements range = both.between(key, last);
    ASSERT_EQ(visited<elements>([&](auto visit) { return handle.visit_range(key, last, visit); }),
              std::pair(range, true));
    ASSERT_EQ(visited<elements>(
                  [&](auto visit) { return handle.visit_range_descending(key, last, visit); }),
              std::pair(reversed(range), true));
    ASSERT_EQ(handle.empty(), both.model.empty());
  }
  const elements all(both.model.begin(), both.model.end());
  EXPECT_EQ(visited<elements>([&](auto visit) { return handle.visit_all(visit); }),
            std::pair(all, true));
  EXPECT_EQ(visited<elements>([&](auto visit) { return handle.visit_all_descending(visit); }),
            std::pair(reversed(all), true));
  for (number key = 0; key < keys; ++key) both.erase(key);
  EXPECT_TRUE(handle.empty());
  EXPECT_EQ(handle.floor(made<K>(keys)), std::nullopt);
}

TYPED_TEST(bt_map_reading, ends_when_told_to) {
  using both_maps = beside_model<TypeParam>;
  using K = typename both_maps::K;
  using elements = typename both_maps::elements;
  both_maps both;
  for (number key = 0; key < 100; ++key) both.insert(key);
  const elements all(both.model.begin(), both.model.end());
  for (const std::size_t most : {1U, 5U, 30U}) {
    const auto count = static_cast<std::ptrdiff_t>(most);
    const elements first(all.begin(), all.begin() + count);
    const elements last(all.rbegin(), all.rbegin() + count);
    auto& handle = both.handle;
    EXPECT_EQ(visited<elements>([&](auto visit) { return handle.visit_all(visit); }, most),
              std::pair(first, false));
    EXPECT_EQ(
        visited<elements>([&](auto visit) { return handle.visit_all_descending(visit); }, most),
        std::pair(last, false));
    const auto range = [&](auto visit) {
      return handle.visit_range(made<K>(0), made<K>(99), visit);
    };
    EXPECT_EQ(visited<elements>(range, most), std::pair(first, false));
    const auto descending = [&](auto visit) {
      return handle.visit_range_descending(made<K>(0), made<K>(99), visit);
    };
    EXPECT_EQ(visited<elements>(descending, most), std::pair(last, false));
  }
}

// A function that returns nothing, or no bool, sees all; range() and iterate() never end early.
TYPED_TEST(bt_map_reading, sees_all_unless_told_to_end) {
  using K = typename TypeParam::key_type;
  using V = typename TypeParam::mapped_type;
  beside_model<TypeParam> both;
  for (number key = 0; key < 50; ++key) both.insert(key);
  auto& handle = both.handle;
  int met = 0;
  EXPECT_TRUE(handle.visit_all([&](const K&, const V&) { ++met; }));
  EXPECT_TRUE(handle.visit_all_descending([&](const K&, const V&) { return ++met * 0; }));
  EXPECT_EQ(met, 100);
  const auto refuse = [&](const K&, const V&) {
    ++met;
    return false;
  };
  handle.iterate(refuse);
  handle.range(made<K>(0), made<K>(49), refuse);
  EXPECT_EQ(met, 200);
}

// Counts how often it was copied.
struct counted {
  explicit counted(number of) : is(of) {}
  counted(const counted& other) : is(other.is) { ++copies; }
  counted& operator=(const counted&) = delete;
  ~counted() = default;

  number is;
  static inline int copies = 0;
};

TEST(bt_map_visit, copies_nothing) {
  small<std::string, counted> records;
  small<number, counted> boxes;
  auto of_records = records.attach();
  auto of_boxes = boxes.attach();
  of_records.insert("a", counted(1));
  of_boxes.insert(1, counted(2));
  counted::copies = 0;
  number sum = 0;
  const auto add = [&](const auto& /*key*/, const counted& value) { sum += value.is; };
  EXPECT_TRUE(of_records.visit("a", add));
  EXPECT_TRUE(of_records.visit(std::string_view("a"), add));
  EXPECT_TRUE(of_boxes.visit(1, add));
  EXPECT_FALSE(of_boxes.visit(2, add));
  of_records.visit_all(add);
  of_boxes.visit_range_descending(0, 9, add);
  EXPECT_EQ(sum, 1U + 1 + 2 + 1 + 2);
  EXPECT_EQ(counted::copies, 0);
  EXPECT_FALSE(of_records.empty());
  EXPECT_EQ(counted::copies, 0);
}

// Through another handle, also what is visited; which stays as it was until the visit ends.
TYPED_TEST(bt_map_reading, may_be_changed_by_what_visits_it) {
  using K = typename TypeParam::key_type;
  using V = typename TypeParam::mapped_type;
  beside_model<TypeParam> both;
  auto other = both.map.attach();
  for (number key = 0; key < 60; ++key) both.insert(key);
  const K visited_key = made<K>(30);
  EXPECT_TRUE(both.handle.visit(visited_key, [&](const K& key, const V& value) {
    EXPECT_TRUE(other.insert_or_assign(key, made<V>(7)) == false);
    EXPECT_EQ(other.find(visited_key), made<V>(7));
    EXPECT_TRUE(other.erase(visited_key));
    for (number next = 100; next < 400; ++next) other.insert(made<K>(next), made<V>(next));
    for (number next = 100; next < 400; ++next) other.erase(made<K>(next));
    EXPECT_EQ(key, visited_key);
    EXPECT_EQ(value, made<V>(31));
  }));
  EXPECT_FALSE(both.handle.contains(visited_key));

  std::vector<K> erased;
  both.handle.visit_all_descending([&](const K& key, const V& value) {
    EXPECT_TRUE(other.erase(key));
    erased.push_back(key);
    EXPECT_EQ(other.visit(key, [](const K&, const V&) {}), false);
    EXPECT_NE(value, V());
  });
  EXPECT_EQ(erased.size(), 59U);
  EXPECT_TRUE(std::ranges::is_sorted(erased, std::greater<>()));
  EXPECT_TRUE(both.handle.empty());
  EXPECT_EQ(both.map.broken_invariant(), std::nullopt);
}

TYPED_TEST(bt_map_reading, passes_on_what_a_visit_throws) {
  using K = typename TypeParam::key_type;
  using V = typename TypeParam::mapped_type;
  beside_model<TypeParam> both;
  for (number key = 0; key < 40; ++key) both.insert(key);
  const auto fail = [](const K&, const V&) { throw std::runtime_error("of the visit"); };
  EXPECT_THROW(both.handle.visit(made<K>(1), fail), std::runtime_error);
  EXPECT_THROW(both.handle.visit_all(fail), std::runtime_error);
  EXPECT_THROW(both.handle.visit_range_descending(made<K>(1), made<K>(9), fail),
               std::runtime_error);
  EXPECT_EQ(both.handle.size(), 40U);
  EXPECT_TRUE(both.handle.erase(made<K>(1)));
}

TEST(bt_map_visit_death, refuses_the_handle_that_visits) {
  if constexpr (misuse::checks) {
    small<number, number> map;
    auto handle = map.attach();
    handle.insert(1, 1);
    const auto nested = [&] {
      handle.visit(1, [&](number key, number) { static_cast<void>(handle.contains(key)); });
    };
    EXPECT_DEATH(nested(), "called from within a call to it");
  }
}

static_assert(std::is_same_v<small<number, std::string>::key_type, number>);
static_assert(std::is_same_v<small<number, std::string>::mapped_type, std::string>);
static_assert(
    std::is_same_v<small<number, std::string>::value_type, std::pair<const number, std::string>>);
static_assert(std::is_same_v<small<number, std::string>::key_compare, std::less<>>);

// Keys of other types.

TEST(bt_map_other_keys, finds_strings_by_their_characters) {
  beside_model<small<std::string, number>> both;
  auto& handle = both.handle;
  for (number key = 0; key < 100; key += 2) both.insert(key);
  for (number key = 0; key < 100; ++key) {
    const auto text = made<std::string>(key);
    const std::string_view view = text;
    const char* const characters = text.c_str();
    ASSERT_EQ(handle.find(view), handle.find(text));
    ASSERT_EQ(handle.find(characters), handle.find(text));
    ASSERT_EQ(handle.contains(view), key % 2 == 0);
    ASSERT_EQ(handle.visit(view, [&](const std::string& met, number) { EXPECT_EQ(met, text); }),
              key % 2 == 0);
    ASSERT_EQ(handle.lower_bound(view), handle.lower_bound(text));
    ASSERT_EQ(handle.upper_bound(view), handle.upper_bound(text));
    ASSERT_EQ(handle.floor(view), handle.floor(text));
    ASSERT_EQ(handle.predecessor(view), handle.predecessor(text));
    const auto end = made<std::string>(70);
    using elements = std::vector<std::pair<std::string, number>>;
    ASSERT_EQ(
        visited<elements>([&](auto visit) { return handle.visit_range(view, end.c_str(), visit); }),
        std::pair(both.between(text, end), true));
    ASSERT_EQ(visited<elements>([&](auto visit) {
                return handle.visit_range_descending(view, std::string_view(end), visit);
              }),
              std::pair(reversed(both.between(text, end)), true));
  }
  for (number key = 0; key < 100; ++key) {
    ASSERT_EQ(handle.erase(std::string_view(made<std::string>(key))), key % 2 == 0);
  }
  EXPECT_TRUE(handle.empty());
  EXPECT_TRUE(handle.insert("literal", 1));
  EXPECT_TRUE(handle.contains("literal"));
  EXPECT_TRUE(handle.erase("literal"));
  EXPECT_EQ(both.map.broken_invariant(), std::nullopt);
}

// A key and what is compared with it: nobody can make the one of the other.
struct account {
  std::string holder;
  number id;
};
struct by_id {
  using is_transparent = void;
  bool operator()(const account& one, const account& other) const { return one.id < other.id; }
  bool operator()(const account& one, number other) const { return one.id < other; }
  bool operator()(number one, const account& other) const { return one < other.id; }
};

TEST(bt_map_other_keys, are_compared) {
  small<account, int, bt::optimistic, by_id> map;
  auto handle = map.attach();
  for (number id = 0; id < 200; id += 2) handle.insert({"somebody", id}, static_cast<int>(id));
  for (number id = 1; id < 199; ++id) {
    const bool is_there = id % 2 == 0;
    ASSERT_EQ(handle.contains(id), is_there);
    ASSERT_EQ(handle.find(id), is_there ? std::optional(static_cast<int>(id)) : std::nullopt);
    ASSERT_EQ(handle.floor(id)->first.id, id - (is_there ? 0 : 1));
    ASSERT_EQ(handle.predecessor(id)->first.id, id - (is_there ? 2 : 1));
    ASSERT_EQ(handle.upper_bound(id - 1)->first.id, is_there ? id : id + 1);
  }
  for (number id = 0; id < 200; ++id) ASSERT_EQ(handle.erase(id), id % 2 == 0);
  EXPECT_TRUE(handle.empty());
}

// A class that becomes a view of characters need not be compared as one.
struct backwards {
  std::string_view text;
  // NOLINTNEXTLINE(google-explicit-constructor): what is tested
  explicit(false) operator std::string_view() const { return "something else"; }
  friend bool operator<(const backwards& one, const std::string& other) { return one.text < other; }
  friend bool operator<(const std::string& one, const backwards& other) { return one < other.text; }
};

TEST(bt_map_other_keys, that_become_strings_are_compared_as_they_are) {
  small<std::string, int> map;
  auto handle = map.attach();
  handle.insert("a", 1);
  EXPECT_TRUE(handle.contains(backwards{"a"}));
  EXPECT_FALSE(handle.contains(backwards{"something else"}));
}

TEST(bt_map_other_keys, of_numbers_are_converted) {
  small<number, int> map;
  auto handle = map.attach();
  handle.insert(UINT64_MAX, 1);
  EXPECT_TRUE(handle.contains(static_cast<number>(-1)));
  EXPECT_TRUE(handle.contains(UINT64_MAX));
  EXPECT_FALSE(handle.contains(1U));
}

// Among threads. Even keys stay, odd ones come and go.

#if ASSAY_THREAD_SANITIZER || ASSAY_ADDRESS_SANITIZER
constexpr int updates = 300;
#else
constexpr int updates = 1500;
#endif

template <class Map>
class among_threads {
 public:
  using K = typename Map::key_type;
  using V = typename Map::mapped_type;
  static constexpr number keys = 80;

  among_threads() {
    // Marked points, at which threads now and then let others go on.
    sync::at_points = [](const char*) {
      thread_local std::minstd_rand draw(
          static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id())));
      if (draw() % 64 == 0) std::this_thread::yield();
    };
    auto handle = map.attach();
    for (number key = 0; key < keys; key += 2) handle.insert(made<K>(key), made<V>(key));
  }
  among_threads(const among_threads&) = delete;
  among_threads& operator=(const among_threads&) = delete;
  ~among_threads() { sync::at_points = nullptr; }

  // Calls look(handle) as long as `updaters` threads update.
  template <class Update, class Look>
  void run(unsigned updaters, const Update& update, const Look& look) {
    std::atomic<unsigned> left{updaters};
    {
      std::vector<std::jthread> threads;
      for (unsigned self = 0; self < updaters; ++self) {
        threads.emplace_back([&, self] {
          std::mt19937_64 draw(self);  // NOLINT(misc-const-correctness): it changes as it draws
          auto handle = map.attach();
          for (int i = 0; i < updates; ++i) update(handle, draw);
          --left;
        });
      }
      auto handle = map.attach();
      do {
        look(handle);
      } while (left > 0 && !testing::Test::HasFailure());
    }
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
  static void update_odd(typename Map::handle& handle, std::mt19937_64& draw) {
    const number key = draw() % keys | 1U;
    if (draw() % 2 == 0) {
      handle.insert_or_assign(made<K>(key), made<V>(key));
    } else {
      handle.erase(made<K>(key));
    }
  }

  Map map;
};

TYPED_TEST(bt_map_reading, meets_once_what_stays) {
  using threads = among_threads<TypeParam>;
  using K = typename threads::K;
  using V = typename threads::V;
  threads test;
  test.run(2, threads::update_odd, [](auto& handle) {
    for (const bool descends : {false, true}) {
      std::vector<K> met;
      const auto visit = [&](const K& key, const V& value) {
        met.push_back(key);
        if constexpr (std::is_same_v<K, V>) {
          EXPECT_EQ(key, value);
        } else {
          EXPECT_NE(value, made<V>(threads::keys));
        }
      };
      const K first = made<K>(9);
      const K last = made<K>(61);
      EXPECT_TRUE(descends ? handle.visit_range_descending(first, last, visit)
                           : handle.visit_range(first, last, visit));
      if (descends) std::ranges::reverse(met);
      EXPECT_TRUE(std::ranges::is_sorted(met, std::less_equal<>()) || met.empty());
      EXPECT_EQ(std::ranges::adjacent_find(met), met.end()) << "nothing twice";
      for (number key = 10; key <= 60; key += 2) {
        EXPECT_TRUE(std::ranges::binary_search(met, made<K>(key))) << key;
      }
      EXPECT_LE(met.size(), 53U);
      EXPECT_FALSE(met.front() < first || last < met.back());
    }
    EXPECT_FALSE(handle.empty());
  });
}

TYPED_TEST(bt_map_reading, finds_neighbours_that_stay) {
  using threads = among_threads<TypeParam>;
  using K = typename threads::K;
  threads test;
  number key = 0;
  test.run(2, threads::update_odd, [&key](auto& handle) {
    key = (key + 7) % (threads::keys - 6) + 2;
    const number even = key - key % 2;
    const K at = made<K>(key);
    const auto expect_one_of = [](const auto& found, number one, number other) {
      ASSERT_TRUE(found);
      EXPECT_TRUE(found->first == made<K>(one) || found->first == made<K>(other)) << one;
    };
    expect_one_of(handle.floor(at), key, even);
    expect_one_of(handle.predecessor(at), key - 1, key % 2 == 0 ? key - 2 : key - 1);
    expect_one_of(handle.upper_bound(at), key + 1, key + 2 - key % 2);
    EXPECT_EQ(handle.visit(made<K>(even), [](const auto&, const auto&) {}), true);
  });
}

// One of two keys is always there, at first the lower one, and between them come and go others. All
// that is read from one to the other is of one moment: who misses both saw the one before it came,
// and the other after it went.
TYPED_TEST(bt_map_reading, reads_leaves_of_one_moment) {
  using threads = among_threads<TypeParam>;
  using K = typename threads::K;
  using V = typename threads::V;
  constexpr number lower = 40;
  constexpr number upper = 60;
  threads test;
  {
    auto handle = test.map.attach();
    for (number key = lower + 1; key <= upper; ++key) handle.erase(made<K>(key));
  }
  bool is_lower = true;
  test.run(
      1,
      [&is_lower](auto& handle, auto& draw) {
        const number key = lower + 1 + draw() % (upper - lower - 1);
        switch (draw() % 4) {
          case 0:
            handle.insert(made<K>(key), made<V>(1));
            break;
          case 1:
          case 2:
            handle.erase(made<K>(key));
            break;
          default:
            EXPECT_TRUE(handle.insert(made<K>(is_lower ? upper : lower), made<V>(1)));
            EXPECT_TRUE(handle.erase(made<K>(is_lower ? lower : upper)));
            is_lower = !is_lower;
        }
      },
      [](auto& handle) {
        const auto is_between = [](const auto& found) {
          return found && found->first >= made<K>(lower) && found->first <= made<K>(upper);
        };
        EXPECT_TRUE(is_between(handle.floor(made<K>(upper))));
        EXPECT_TRUE(is_between(handle.predecessor(made<K>(upper + 1))));
        EXPECT_TRUE(is_between(handle.upper_bound(made<K>(lower - 1))));
        EXPECT_TRUE(is_between(handle.lower_bound(made<K>(lower))));
      });
}

// What the thread does at the second leaf that it reads, when it has read the first one.
class at_second_leaf {
 public:
  explicit at_second_leaf(std::function<void()> act) {
    act_ = std::move(act);
    passed_ = 0;
    sync::at_points = [](const char* point) {
      if (std::string_view(point) == "bt_map_walk_step" && ++passed_ == 2) act_();
    };
  }
  at_second_leaf(const at_second_leaf&) = delete;
  at_second_leaf& operator=(const at_second_leaf&) = delete;
  ~at_second_leaf() { sync::at_points = nullptr; }

 private:
  static inline std::function<void()> act_;
  static inline int passed_ = 0;
};

// Where the way to the left leads to a second leaf, the element goes to the first one meanwhile.
TEST(bt_map_floor, is_of_one_moment) {
  constexpr number keys = 100;
  for (const bool below : {false, true}) {
    small<number, number> map;
    auto handle = map.attach();
    auto other = map.attach();
    for (number key = 1; key <= keys; ++key) handle.insert(key * 10, 1);
    number moved = 0;
    for (number key = 20; key < keys * 10; key += 10) {
      const number after = key + 8;
      const at_second_leaf moving([&] {
        EXPECT_TRUE(other.insert(after, 1));
        EXPECT_TRUE(other.erase(key));
        ++moved;
      });
      const number moved_before = moved;
      const auto found = below ? handle.predecessor(after + 1) : handle.floor(after);
      ASSERT_TRUE(found);
      ASSERT_EQ(found->first, moved == moved_before ? key : after);
    }
    EXPECT_GT(moved, 5U);
  }
}

// What others replace meanwhile is freed before a call about many keys ends.
TEST(bt_map_find_many, holds_up_no_reclamation) {
  using map_type = small<number, std::string>;
  static std::function<void()> at_each_leaf;
  map_type map;
  auto handle = map.attach();
  auto other = map.attach();
  std::vector<number> keys(60'000);
  for (number i = 0; i < keys.size(); ++i) {
    keys[i] = i % 100;
    handle.insert(keys[i], "");
  }
  number replaced = 0;
  number most = 0;
  at_each_leaf = [&] {
    if (!other.insert_or_assign(++replaced % 100, "")) most = std::max(most, map.unfreed());
  };
  sync::at_points = [](const char* point) {
    if (std::string_view(point) == "bt_map_group_place_found") at_each_leaf();
  };
  std::vector<std::optional<std::string>> found(keys.size());
  handle.find_many(keys, found);
  sync::at_points = nullptr;
  EXPECT_TRUE(std::ranges::all_of(found, [](const auto& each) { return each.has_value(); }));
  EXPECT_GT(replaced, keys.size() / 2);
  EXPECT_LT(most, replaced / 2);
}

// A walk in either direction, in the middle of which leaves are split and joined.
TEST(bt_map_visits, go_on_where_they_were_when_leaves_change) {
  for (const bool descends : {false, true}) {
    small<number, number> map;
    auto handle = map.attach();
    auto other = map.attach();
    constexpr number keys = 200;
    for (number key = 0; key < keys; ++key) handle.insert(key * 10, 1);
    std::vector<number> met;
    const auto change = [&](number key, number) {
      if (key % 10 == 0) met.push_back(key);
      const number around = key - key % 10;
      const bool splits = around / 100 % 2 == 0;
      for (number at = around < 30 ? 0 : around - 30; at < around + 30; ++at) {
        if (at % 10 == 0) continue;
        if (splits) {
          other.insert(at, 1);
        } else {
          other.erase(at);
        }
      }
      for (number at = 0; at < keys; at += 7) {
        if (splits) {
          other.insert(at * 10 + 5, 1);
        } else {
          other.erase(at * 10 + 5);
        }
      }
    };
    EXPECT_TRUE(descends ? handle.visit_all_descending(change) : handle.visit_all(change));
    if (descends) std::ranges::reverse(met);
    ASSERT_EQ(met.size(), keys);
    for (number key = 0; key < keys; ++key) EXPECT_EQ(met[key], key * 10);
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
}

// Keys of another type, whose element is erased, or replaced by one that is equal, meanwhile.
TEST(bt_map_other_keys, are_erased_once) {
  using map_type = small<std::string, number>;
  map_type map;
  std::atomic<int> net{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned self = 0; self < 3; ++self) {
      threads.emplace_back([&, self] {
        std::mt19937_64 draw(self);
        auto handle = map.attach();
        for (int i = 0; i < updates; ++i) {
          const auto key = made<std::string>(draw() % 20);
          if (draw() % 2 == 0) {
            if (handle.insert(key, 1)) ++net;
          } else {
            if (handle.erase(std::string_view(key))) --net;
          }
        }
      });
    }
  }
  EXPECT_EQ(map.attach().size(), static_cast<number>(net));
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

}  // namespace
}  // namespace assay
