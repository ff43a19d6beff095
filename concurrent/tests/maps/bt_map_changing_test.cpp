// The operations of bt_map that change one element or a range: what they answer, what they leave,
// and what they promise among threads. And what all operations do when something fails.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/maps/bt_map.h"
#include "assay/maps/cursor.h"
#include "assay/reclaim/epochs.h"
#include "tests/maps/bt_map_test_small.h"
#include "tests/reclaim/reclaim_test_allocations.h"

namespace assay {
namespace {

using tests::allocations;
using tests::allocations_fail;
using tests::countdown;
using number = std::uint64_t;
using model_map = std::map<number, number>;

thread_local countdown copies;
thread_local countdown comparisons;

struct copy_failed : std::runtime_error {
  copy_failed() : std::runtime_error("a copy failed") {}
};
struct comparison_failed : std::runtime_error {
  comparison_failed() : std::runtime_error("a comparison failed") {}
};

// A number that counts its kind, is moved or copied, and whose copies fail on demand.
class fragile {
 public:
  explicit fragile(number held) : held_(held) { ++alive; }
  fragile(const fragile& other) : held_(other.held_) {
    if (copies.fails_now()) throw copy_failed();
    ++alive;
  }
  fragile(fragile&& other) noexcept : held_(other.held_) {
    other.held_ = moved;
    ++alive;
  }
  fragile& operator=(const fragile&) = delete;
  ~fragile() { --alive; }

  explicit operator number() const { return held_; }

  static constexpr number moved = ~number{0};
  static inline std::atomic<std::int64_t> alive{0};

 private:
  number held_;
};

// A number that can neither be copied nor made of nothing.
class movable {
 public:
  explicit movable(number held) : held_(std::make_unique<number>(held)) {}
  explicit operator number() const { return *held_; }
  [[nodiscard]] bool was_moved() const { return held_ == nullptr; }

 private:
  std::unique_ptr<number> held_;
};

// Orders keys as the numbers that they are.
struct by_number {
  template <class K>
  bool operator()(const K& a, const K& b) const {
    if constexpr (!std::is_arithmetic_v<K>) {
      if (comparisons.fails_now()) throw comparison_failed();
    }
    return static_cast<number>(a) < static_cast<number>(b);
  }
};

template <class K, class V, class Synchronisation = bt::optimistic>
using small_map = bt_map<
    K, V,
    bt_test::small_nodes<K, Synchronisation,
                         std::conditional_t<std::is_arithmetic_v<K>, std::less<K>, by_number>>>;

template <class Map>
struct of_map;
template <class K, class V, class... Others>
struct of_map<bt_map<K, V, Others...>> {
  using key = K;
  using value = V;
};

template <class Map>
model_map contents(const Map& map) {
  model_map met;
  map.for_each([&](const auto& key, const auto& value) {
    EXPECT_TRUE(met.emplace(static_cast<number>(key), static_cast<number>(value)).second);
  });
  return met;
}
template <class Map>
void expect_sound(const Map& map, const model_map& model) {
  EXPECT_EQ(contents(map), model);
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

// Values are `made` if they have no other type.
template <class V>
std::optional<number> in_numbers(const std::optional<V>& value) {
  return value ? std::optional(static_cast<number>(*value)) : std::nullopt;
}

// What a walk met, in its order, as one number.
class walk {
 public:
  void operator()(const auto& key, const auto& value) {
    met_ = 31 * met_ + 7 * static_cast<number>(key) + static_cast<number>(value);
  }
  void operator()(const auto& element) { (*this)(element.first, element.second); }
  [[nodiscard]] std::optional<number> met() const { return met_; }

 private:
  number met_ = 1;
};
template <class Iterator>
std::optional<number> met_between(Iterator first, const Iterator& last) {
  walk seen;  // NOLINT(misc-const-correctness): each element changes it
  for (; first != last; ++first) seen(*first);
  return seen.met();
}
template <class Element>
std::optional<number> met_at(const std::optional<Element>& found) {
  return found ? met_between(&*found, &*found + 1) : std::nullopt;
}
std::optional<number> met_at(const model_map& model, model_map::const_iterator at) {
  return at == model.end() ? std::nullopt : met_between(at, std::next(at));
}
model_map::const_iterator before(const model_map& model, model_map::const_iterator at) {
  return at == model.begin() ? model.end() : std::prev(at);
}

// --- against a model -----------------------------------------------------------------------------

// An operation, which answers in numbers, and what it makes of a model.
template <class Map>
struct operation {
  const char* name;
  std::optional<number> (*call)(typename Map::handle& handle, number key, number value);
  std::optional<number> (*change)(model_map& model, number key, number value);
};

constexpr bool is_removable(number value) { return value % 2 == 0; }

template <class Map>
auto operations() {
  using K = typename of_map<Map>::key;
  using V = typename of_map<Map>::value;
  using handle = typename Map::handle;
  using answer = std::optional<number>;
  constexpr auto add = [](model_map& model, number key, number value) -> answer {
    return model.emplace(key, value).second;
  };
  constexpr auto add_or_get = [](model_map& model, number key, number value) -> answer {
    const auto [at, is_added] = model.emplace(key, value);
    return 2 * at->second + (is_added ? 1 : 0);
  };
  return std::vector<operation<Map>>{
      {"insert",
       [](handle& map, number key, number value) -> answer { return map.insert(K(key), V(value)); },
       add},
      {"try_emplace",
       [](handle& map, number key, number value) -> answer {
         const K named(key);
         return map.try_emplace(named, value);
       },
       add},
      {"emplace",
       [](handle& map, number key, number value) -> answer { return map.emplace(K(key), value); },
       add},
      {"get_or_emplace",
       [](handle& map, number key, number value) -> answer {
         const auto [now, is_added] = map.get_or_emplace(K(key), value);
         return 2 * static_cast<number>(now) + (is_added ? 1 : 0);
       },
       add_or_get},
      {"emplace_and_visit",
       [](handle& map, number key, number value) -> answer {
         number now = 0;
         const bool is_added = map.emplace_and_visit(
             K(key), [&](const K&, const V& met) { now = static_cast<number>(met); }, value);
         return 2 * now + (is_added ? 1 : 0);
       },
       add_or_get},
      {"insert_or_assign",
       [](handle& map, number key, number value) -> answer {
         return map.insert_or_assign(K(key), V(value));
       },
       [](model_map& model, number key, number value) -> answer {
         return model.insert_or_assign(key, value).second;
       }},
      {"exchange",
       [](handle& map, number key, number value) -> answer {
         return in_numbers(map.exchange(K(key), V(value)));
       },
       [](model_map& model, number key, number value) -> answer {
         const auto [at, is_added] = model.emplace(key, value);
         return is_added ? std::nullopt : answer(std::exchange(at->second, value));
       }},
      {"update",
       [](handle& map, number key, number) -> answer {
         return map.update(K(key),
                           [](const V& value) { return V(static_cast<number>(value) + 1); });
       },
       [](model_map& model, number key, number) -> answer {
         const auto at = model.find(key);
         if (at != model.end()) ++at->second;
         return at != model.end();
       }},
      {"upsert",
       [](handle& map, number key, number value) -> answer {
         return map.upsert(
             K(key), [&] { return V(value); },
             [](const V& held) { return V(static_cast<number>(held) + 1); });
       },
       [](model_map& model, number key, number value) -> answer {
         const auto [at, is_added] = model.emplace(key, value);
         if (!is_added) ++at->second;
         return is_added;
       }},
      {"extract",
       [](handle& map, number key, number) -> answer { return in_numbers(map.extract(K(key))); },
       [](model_map& model, number key, number) -> answer {
         const auto node = model.extract(key);
         return node.empty() ? std::nullopt : answer(node.mapped());
       }},
      {"erase_if",
       [](handle& map, number key, number) -> answer {
         return map.erase_if(
             K(key), [](const V& value) { return is_removable(static_cast<number>(value)); });
       },
       [](model_map& model, number key, number) -> answer {
         const auto at = model.find(key);
         if (at == model.end() || !is_removable(at->second)) return false;
         model.erase(at);
         return true;
       }},
      {"erase", [](handle& map, number key, number) -> answer { return map.erase(K(key)); },
       [](model_map& model, number key, number) -> answer { return model.erase(key); }},
  };
}

constexpr number width_of_ranges = 20;

// Those that change nothing.
template <class Map>
auto reading_operations() {
  using K = typename of_map<Map>::key;
  using V = typename of_map<Map>::value;
  using handle = typename Map::handle;
  using answer = std::optional<number>;
  constexpr auto find = [](model_map& model, number key, number) -> answer {
    const auto at = model.find(key);
    return at == model.end() ? std::nullopt : answer(at->second);
  };
  constexpr auto all = [](model_map& model, number, number) {
    return met_between(model.begin(), model.end());
  };
  constexpr auto all_descending = [](model_map& model, number, number) {
    return met_between(model.rbegin(), model.rend());
  };
  constexpr auto between = [](model_map& model, number key, number) {
    return met_between(model.lower_bound(key), model.upper_bound(key + width_of_ranges));
  };
  return std::vector<operation<Map>>{
      {"find", [](handle& map, number key, number) { return in_numbers(map.find(K(key))); }, find},
      {"find_many",
       [](handle& map, number key, number) {
         std::vector<K> keys;
         keys.reserve(18);  // more than are searched at once
         for (number i = 0; i < 18; ++i) keys.emplace_back(key + i);
         std::vector<std::optional<V>> found(keys.size());
         map.find_many(keys, found);
         return in_numbers(found.front());
       },
       find},
      {"visit",
       [](handle& map, number key, number) -> answer {
         answer found;
         map.visit(K(key), [&](const K&, const V& held) { found = static_cast<number>(held); });
         return found;
       },
       find},
      {"contains", [](handle& map, number key, number) -> answer { return map.contains(K(key)); },
       [](model_map& model, number key, number) -> answer { return model.contains(key); }},
      {"empty", [](handle& map, number, number) -> answer { return map.empty(); },
       [](model_map& model, number, number) -> answer { return model.empty(); }},
      {"size", [](handle& map, number, number) -> answer { return map.size(); },
       [](model_map& model, number, number) -> answer { return model.size(); }},
      {"minimum", [](handle& map, number, number) { return met_at(map.minimum()); },
       [](model_map& model, number, number) { return met_at(model, model.begin()); }},
      {"maximum", [](handle& map, number, number) { return met_at(map.maximum()); },
       [](model_map& model, number, number) { return met_at(model, before(model, model.end())); }},
      {"lower_bound",
       [](handle& map, number key, number) { return met_at(map.lower_bound(K(key))); },
       [](model_map& model, number key, number) { return met_at(model, model.lower_bound(key)); }},
      {"upper_bound",
       [](handle& map, number key, number) { return met_at(map.upper_bound(K(key))); },
       [](model_map& model, number key, number) { return met_at(model, model.upper_bound(key)); }},
      {"floor", [](handle& map, number key, number) { return met_at(map.floor(K(key))); },
       [](model_map& model, number key, number) {
         return met_at(model, before(model, model.upper_bound(key)));
       }},
      {"predecessor",
       [](handle& map, number key, number) { return met_at(map.predecessor(K(key))); },
       [](model_map& model, number key, number) {
         return met_at(model, before(model, model.lower_bound(key)));
       }},
      {"range",
       [](handle& map, number key, number) {
         walk seen;
         map.range(K(key), K(key + width_of_ranges), std::ref(seen));
         return seen.met();
       },
       between},
      {"visit_range",
       [](handle& map, number key, number) {
         walk seen;
         map.visit_range(K(key), K(key + width_of_ranges), seen);
         return seen.met();
       },
       between},
      {"range_snapshot",
       [](handle& map, number key, number) {
         walk seen;
         map.range_snapshot(K(key), K(key + width_of_ranges), std::ref(seen));
         return seen.met();
       },
       between},
      {"visit_range_descending",
       [](handle& map, number key, number) {
         walk seen;
         map.visit_range_descending(K(key), K(key + width_of_ranges), seen);
         return seen.met();
       },
       [](model_map& model, number key, number) {
         return met_between(std::reverse_iterator(model.upper_bound(key + width_of_ranges)),
                            std::reverse_iterator(model.lower_bound(key)));
       }},
      {"iterate",
       [](handle& map, number, number) {
         walk seen;
         map.iterate(std::ref(seen));
         return seen.met();
       },
       all},
      {"visit_all",
       [](handle& map, number, number) {
         walk seen;
         map.visit_all(seen);
         return seen.met();
       },
       all},
      {"snapshot",
       [](handle& map, number, number) {
         walk seen;
         map.snapshot(std::ref(seen));
         return seen.met();
       },
       all},
      {"clone",
       [](handle& map, number, number) {
         walk seen;
         map.clone()->for_each(seen);
         return seen.met();
       },
       all},
      {"cursor",
       [](handle& map, number, number) {
         walk seen;  // NOLINT(misc-const-correctness): likewise
         cursor at(map);
         for (at.first(); at.valid(); at.next()) seen(*at);
         return seen.met();
       },
       all},
      {"cursor, descending",
       [](handle& map, number, number) {
         walk seen;  // NOLINT(misc-const-correctness): likewise
         cursor at(map);
         for (at.last(); at.valid(); at.previous()) seen(*at);
         return seen.met();
       },
       all_descending},
      {"visit_all_descending",
       [](handle& map, number, number) {
         walk seen;
         map.visit_all_descending(seen);
         return seen.met();
       },
       all_descending},
  };
}

template <class Map>
class bt_map_changing : public testing::Test {
 protected:
  void TearDown() override {
    copies.never_fail();
    comparisons.never_fail();
    allocations.never_fail();
    EXPECT_EQ(fragile::alive, alive_);
  }

  // Lets each operation fail at each step, on maps of various sizes.
  template <class Failure>
  static std::uint64_t failures(countdown& steps) {
    std::uint64_t failures = 0;
    Map map;
    auto handle = map.attach();
    model_map model;  // NOLINT(misc-const-correctness): operations change it
    const auto changing = operations<Map>();
    const auto reading = reading_operations<Map>();
    std::mt19937_64 draw(1);
    constexpr number keys = 60;
    for (std::size_t i = 0; i < 24 * changing.size(); ++i) {
      // All that change it, each of them often, and in between those that do not.
      const auto& of =
          i % 2 == 0 ? changing[i / 2 % changing.size()] : reading[i / 2 % reading.size()];
      const number key = draw() % keys;
      const number value = draw() % 100;
      for (number after = 0;; ++after) {
        steps.fail_after(after);
        std::optional<number> answer;
        bool has_failed = false;
        try {
          answer = of.call(handle, key, value);
        } catch (const Failure&) {
          has_failed = true;
        }
        steps.never_fail();
        if (!has_failed) {
          EXPECT_EQ(answer, of.change(model, key, value)) << of.name;
          break;
        }
        ++failures;
        expect_sound(map, model);
        if (testing::Test::HasFailure()) return failures;
      }
      expect_sound(map, model);
    }
    return failures;
  }

 private:
  const std::int64_t alive_ = fragile::alive;
};

using maps = testing::Types<small_map<number, number>, small_map<number, fragile>,
                            small_map<fragile, number>, small_map<fragile, fragile>,
                            small_map<fragile, fragile, bt::coarse<std::mutex>>>;
TYPED_TEST_SUITE(bt_map_changing, maps, );

TYPED_TEST(bt_map_changing, answers_and_leaves_what_a_model_does) {
  TypeParam map;
  auto handle = map.attach();
  model_map model;  // NOLINT(misc-const-correctness): operations change it
  auto all = operations<TypeParam>();
  const auto reading = reading_operations<TypeParam>();
  all.insert(all.end(), reading.begin(), reading.end());
  std::mt19937_64 draw(1);
  for (int i = 0; i < 6000; ++i) {
    const auto& of = all[draw() % all.size()];
    const number key = draw() % 200;
    const number value = draw() % 100;
    ASSERT_EQ(of.call(handle, key, value), of.change(model, key, value)) << of.name;
    if (i % 100 == 0) expect_sound(map, model);
  }
  expect_sound(map, model);
}

TYPED_TEST(bt_map_changing, erases_ranges) {
  using K = typename of_map<TypeParam>::key;
  TypeParam map;
  auto handle = map.attach();
  model_map model;
  std::mt19937_64 draw(1);
  constexpr number keys = 300;
  for (int i = 0; i < 60; ++i) {
    for (int added = 0; added < 40; ++added) {
      const number key = draw() % keys;
      handle.try_emplace(K(key), key);
      model.emplace(key, key);
    }
    const number first = draw() % keys;
    const number last = i % 10 == 0 ? draw() % keys : first + draw() % 40;
    const std::size_t before = model.size();
    if (first <= last) model.erase(model.lower_bound(first), model.upper_bound(last));
    EXPECT_EQ(handle.erase_range(K(first), K(last)), before - model.size());
    expect_sound(map, model);
  }
  EXPECT_EQ(handle.erase_range(K(0), K(keys)), model.size());
  expect_sound(map, {});
}

TYPED_TEST(bt_map_changing, is_unchanged_without_memory) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  EXPECT_GT(this->template failures<std::bad_alloc>(allocations), 20U);
}
TYPED_TEST(bt_map_changing, is_unchanged_by_a_copy_that_throws) {
  if constexpr (!std::is_arithmetic_v<typename of_map<TypeParam>::value>) {
    EXPECT_GT(this->template failures<copy_failed>(copies), 20U);
  }
}
TYPED_TEST(bt_map_changing, is_unchanged_by_a_comparison_that_throws) {
  if constexpr (!std::is_arithmetic_v<typename of_map<TypeParam>::key>) {
    EXPECT_GT(this->template failures<comparison_failed>(comparisons), 100U);
  }
}
TYPED_TEST(bt_map_changing, is_unchanged_by_a_function_that_throws) {
  using K = typename of_map<TypeParam>::key;
  using V = typename of_map<TypeParam>::value;
  TypeParam map;
  auto handle = map.attach();
  handle.try_emplace(K(1), 1U);
  const auto fails = [](const V&) -> V { throw copy_failed(); };
  const auto makes_none = []() -> V { throw copy_failed(); };
  EXPECT_THROW(handle.update(K(1), fails), copy_failed);
  EXPECT_THROW(handle.upsert(K(1), [] { return V(2); }, fails), copy_failed);
  EXPECT_THROW(handle.upsert(K(2), makes_none, [](const V&) { return V(2); }), copy_failed);
  EXPECT_THROW(handle.erase_if(K(1), [](const V&) -> bool { throw copy_failed(); }), copy_failed);
  expect_sound(map, {{1, 1}});
}

// Leaf after leaf loses all that is in the range, until something fails. A second call removes the
// rest.
template <class Map, class Failure>
void interrupt_erase_range(countdown& steps, number stride) {
  using K = typename of_map<Map>::key;
  constexpr number keys = 60;
  bool is_whole = false;
  for (number after = 0; !is_whole; after += stride) {
    Map map;
    auto handle = map.attach();
    for (number key = 0; key < keys; ++key) handle.try_emplace(K(key), key);
    const K first(5);
    const K last(50);
    steps.fail_after(after);
    try {
      handle.erase_range(first, last);
      is_whole = true;
    } catch (const Failure&) {
      EXPECT_EQ(map.broken_invariant(), std::nullopt);
    }
    steps.never_fail();
    const model_map left = contents(map);
    for (number key = 0; key < keys; ++key) {
      EXPECT_TRUE((5 <= key && key <= 50) || left.contains(key)) << key;
    }
    EXPECT_EQ(handle.erase_range(first, last), left.size() - 14);
    EXPECT_EQ(contents(map).size(), 14U);
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
}
TYPED_TEST(bt_map_changing, may_be_interrupted_while_it_erases_a_range) {
  if (allocations_fail) interrupt_erase_range<TypeParam, std::bad_alloc>(allocations, 1);
  if constexpr (!std::is_arithmetic_v<typename of_map<TypeParam>::key>) {
    interrupt_erase_range<TypeParam, copy_failed>(copies, 1);
    interrupt_erase_range<TypeParam, comparison_failed>(comparisons, 7);
  }
}

// --- what can only be moved ----------------------------------------------------------------------

template <class Map>
class bt_map_of_movables : public testing::Test {};
using maps_of_movables = testing::Types<small_map<number, movable>, small_map<movable, number>,
                                        small_map<movable, movable>,
                                        small_map<movable, movable, bt::coarse<std::mutex>>>;
TYPED_TEST_SUITE(bt_map_of_movables, maps_of_movables, );

TYPED_TEST(bt_map_of_movables, takes_them_in_and_gives_them_back) {
  using K = typename of_map<TypeParam>::key;
  using V = typename of_map<TypeParam>::value;
  TypeParam map;
  auto handle = map.attach();
  model_map model;
  std::mt19937_64 draw(1);
  for (int i = 0; i < 2000; ++i) {
    const number key = draw() % 100;
    const number value = draw() % 100;
    switch (draw() % 6) {
      case 0:
        ASSERT_EQ(handle.insert(K(key), V(value)), model.emplace(key, value).second);
        break;
      case 1:
        ASSERT_EQ(handle.try_emplace(K(key), value), model.emplace(key, value).second);
        break;
      case 2:
        ASSERT_EQ(handle.insert_or_assign(K(key), V(value)),
                  model.insert_or_assign(key, value).second);
        break;
      case 3: {
        const auto at = model.find(key);
        const bool is_removed = at != model.end() && is_removable(at->second);
        if (is_removed) model.erase(at);
        ASSERT_EQ(
            handle.erase_if(K(key),
                            [](const V& held) { return is_removable(static_cast<number>(held)); }),
            is_removed);
        break;
      }
      case 4:
        ASSERT_EQ(handle.erase(K(key)), model.erase(key) == 1);
        break;
      default:
        ASSERT_EQ(handle.contains(K(key)), model.contains(key));
    }
    if (i % 100 == 0) expect_sound(map, model);
  }
  expect_sound(map, model);
  model_map met;
  handle.snapshot([&](const K& key, const V& value) {
    met.emplace(static_cast<number>(key), static_cast<number>(value));
  });
  EXPECT_EQ(met, model);
  for (const auto& [key, value] : model) {
    number seen = 0;
    const auto see = [&](const K&, const V& held) { seen = static_cast<number>(held); };
    EXPECT_TRUE(handle.visit(K(key), see));
    EXPECT_EQ(seen, value);
    EXPECT_FALSE(handle.emplace_and_visit(K(key), see, 200U));
    EXPECT_EQ(seen, value);
  }
  EXPECT_EQ(handle.erase_range(K(20), K(79)), static_cast<std::uint64_t>(std::distance(
                                                  model.lower_bound(20), model.upper_bound(79))));
}

TEST(values_that_can_only_be_moved, are_replaced_by_what_a_function_makes_of_them) {
  small_map<number, movable> map;
  auto handle = map.attach();
  const auto next = [](const movable& held) { return movable(static_cast<number>(held) + 1); };
  EXPECT_FALSE(handle.update(1, next));
  EXPECT_TRUE(handle.upsert(1, [] { return movable(5); }, next));
  EXPECT_FALSE(handle.upsert(1, [] { return movable(5); }, next));
  EXPECT_TRUE(handle.update(1, next));
  number seen = 0;
  const auto see = [&](number, const movable& held) { seen = static_cast<number>(held); };
  EXPECT_FALSE(handle.emplace_and_visit(1, see, 9U));
  EXPECT_EQ(seen, 7U);
  EXPECT_TRUE(handle.emplace_and_visit(2, see, 9U));
  EXPECT_EQ(seen, 9U);
}

TEST(values_that_can_only_be_moved, stay_with_the_caller_if_the_key_is_there) {
  small_map<movable, movable> map;
  auto handle = map.attach();
  movable key(1);
  movable value(1);
  EXPECT_TRUE(handle.try_emplace(std::move(key), std::move(value)));
  // NOLINTBEGIN(bugprone-use-after-move): they are not
  EXPECT_TRUE(key.was_moved() && value.was_moved());
  movable same(1);
  movable other(2);
  EXPECT_FALSE(handle.try_emplace(std::move(same), std::move(other)));
  EXPECT_FALSE(handle.insert(std::move(same), std::move(other)));
  EXPECT_FALSE(same.was_moved() || other.was_moved());
  // NOLINTEND(bugprone-use-after-move)
}

// A value that can neither be copied nor moved.
TEST(values_that_cannot_be_moved, are_made_where_they_stay) {
  small_map<number, std::atomic<number>> map;
  auto handle = map.attach();
  EXPECT_TRUE(handle.try_emplace(1, 5U));
  EXPECT_FALSE(handle.try_emplace(1, 6U));
  EXPECT_EQ(contents(map), (model_map{{1, 5}}));
}

TEST(a_new_value, is_made_of_any_number_of_arguments) {
  bt_map<std::string, std::string> map;
  auto handle = map.attach();
  EXPECT_TRUE(handle.try_emplace("nothing"));
  EXPECT_TRUE(handle.emplace("dots", 3U, '.'));
  EXPECT_EQ(handle.find("nothing"), "");
  EXPECT_EQ(handle.find("dots"), "...");
  bt_map<number, number> numbers;
  EXPECT_EQ(numbers.attach().get_or_emplace(1), std::pair(number{0}, true));
}

// --- whole maps ----------------------------------------------------------------------------------

TYPED_TEST(bt_map_changing, moves_and_swaps_with_handles_attached) {
  using K = typename of_map<TypeParam>::key;
  TypeParam map;
  auto handle = map.attach();
  model_map model;
  for (number key = 0; key < 100; ++key) {
    handle.try_emplace(K(key), key);
    model.emplace(key, key);
    if (key % 3 == 0 && handle.erase(K(key))) model.erase(key);
  }
  TypeParam taken(std::move(map));
  expect_sound(taken, model);
  // NOLINTBEGIN(bugprone-use-after-move): it is empty
  expect_sound(map, {});
  EXPECT_TRUE(handle.try_emplace(K(7), 7U)) << "the handle is of the map that was moved from";
  expect_sound(map, {{7, 7}});
  swap(map, taken);
  expect_sound(map, model);
  expect_sound(taken, {{7, 7}});
  EXPECT_EQ(handle.size(), model.size());
  EXPECT_EQ(handle.erase_range(K(0), K(99)), model.size());
  swap(map, map);
  expect_sound(map, {});
  map = std::move(taken);
  expect_sound(map, {{7, 7}});
  expect_sound(taken, {});
  TypeParam& same = map;
  map = std::move(same);
  expect_sound(map, {{7, 7}});
  // NOLINTEND(bugprone-use-after-move)
}
TEST(a_map_that_is_moved, takes_its_order_along) {
  using order = bool (*)(const number&, const number&);
  const auto map_of = [](order less) {
    return bt_map<number, number, bt_test::small_nodes<number, bt::optimistic, order>>(less);
  };
  auto falling = map_of([](const number& a, const number& b) { return a > b; });
  auto rising = map_of([](const number& a, const number& b) { return a < b; });
  rising.attach().insert(1, 1);
  rising.attach().insert(2, 2);
  falling = std::move(rising);
  EXPECT_EQ(falling.attach().minimum(), std::pair(number{1}, number{1}));
}
TYPED_TEST(bt_map_changing, is_not_moved_without_memory) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  using K = typename of_map<TypeParam>::key;
  TypeParam map;
  map.attach().try_emplace(K(1), 1U);
  TypeParam other;
  allocations.fail_after(0);
  EXPECT_THROW(TypeParam(std::move(map)), std::bad_alloc);
  allocations.fail_after(0);
  EXPECT_THROW(other = std::move(map), std::bad_alloc);  // NOLINT(bugprone-use-after-move)
  allocations.never_fail();
  expect_sound(map, {{1, 1}});  // NOLINT(bugprone-use-after-move)
}

// --- among threads -------------------------------------------------------------------------------

constexpr unsigned threads = 4;

template <class Work>
void in_threads(const Work& work) {
  std::vector<std::jthread> all;
  for (unsigned self = 0; self < threads; ++self) all.emplace_back([&work, self] { work(self); });
}

template <class Map>
class bt_map_changed_by_threads : public testing::Test {};
using maps_for_threads =
    testing::Types<small_map<number, number>, small_map<number, fragile>,
                   small_map<fragile, fragile>, small_map<fragile, number, bt::coarse<std::mutex>>>;
TYPED_TEST_SUITE(bt_map_changed_by_threads, maps_for_threads, );

TYPED_TEST(bt_map_changed_by_threads, loses_no_upsert) {
  using K = typename of_map<TypeParam>::key;
  using V = typename of_map<TypeParam>::value;
  constexpr number keys = 20;
  constexpr number calls = 2000;
  TypeParam map;
  std::array<std::atomic<unsigned>, keys> added{};
  std::array<std::atomic<number>, keys> removed{};
  in_threads([&](unsigned self) {
    std::mt19937_64 draw(self);
    auto handle = map.attach();
    for (number i = 0; i < calls; ++i) {
      const number key = i % keys;
      const bool is_added = handle.upsert(
          K(key), [] { return V(1); },
          [](const V& held) { return V(static_cast<number>(held) + 1); });
      if (is_added) ++added[key];
      // What is removed is counted, too.
      const number of = draw() % keys;
      if (draw() % 64 == 0) {
        if (const auto count = in_numbers(handle.extract(K(of)))) {
          --added[of];
          removed[of] += *count;
        }
      }
    }
  });
  const model_map left = contents(map);
  for (number key = 0; key < keys; ++key) {
    EXPECT_EQ(added[key], left.count(key));
    EXPECT_EQ(removed[key] + (left.contains(key) ? left.at(key) : 0), threads * calls / keys);
  }
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

TYPED_TEST(bt_map_changed_by_threads, adds_each_key_for_one_of_them) {
  using K = typename of_map<TypeParam>::key;
  using V = typename of_map<TypeParam>::value;
  constexpr number keys = 1000;
  TypeParam map;
  std::vector<std::atomic<unsigned>> added(keys);
  std::vector<std::atomic<number>> winner(keys);
  std::array<std::vector<number>, threads> seen;
  in_threads([&](unsigned self) {
    auto handle = map.attach();
    for (number key = 0; key < keys; ++key) {
      number now = self;
      bool is_added = false;
      switch (key % 3) {
        case 0:
          is_added = handle.try_emplace(K(key), self);
          break;
        case 1: {
          const auto got = handle.get_or_emplace(K(key), self);
          is_added = got.second;
          now = static_cast<number>(got.first);
          break;
        }
        default:
          is_added = handle.emplace_and_visit(
              K(key), [&](const K&, const V& held) { now = static_cast<number>(held); }, self);
      }
      if (is_added) {
        ++added[key];
        winner[key] = self;
        EXPECT_EQ(now, self);
      }
      seen[self].push_back(now);
    }
  });
  const model_map left = contents(map);
  for (number key = 0; key < keys; ++key) {
    EXPECT_EQ(added[key], 1U);
    EXPECT_EQ(left.at(key), winner[key]);
    if (key % 3 == 0) continue;
    for (const auto& one : seen) EXPECT_EQ(one[key], winner[key]);
  }
}

TYPED_TEST(bt_map_changed_by_threads, hands_out_each_element_once) {
  using K = typename of_map<TypeParam>::key;
  using V = typename of_map<TypeParam>::value;
  constexpr number keys = 600;
  TypeParam map;
  {
    auto handle = map.attach();
    for (number key = 0; key < keys; ++key) handle.try_emplace(K(key), key);
  }
  std::vector<std::atomic<unsigned>> taken(keys);
  std::atomic<std::uint64_t> in_ranges{0};
  in_threads([&](unsigned self) {
    auto handle = map.attach();
    for (number i = 0; i < keys; ++i) {
      const number key = self % 2 == 0 ? i : keys - 1 - i;
      if (key % 3 == 0) {
        if (const auto value = in_numbers(handle.extract(K(key)))) {
          EXPECT_EQ(*value, key);
          ++taken[key];
        }
      } else if (key % 3 == 1) {
        if (handle.erase_if(K(key),
                            [&](const V& held) { return static_cast<number>(held) == key; }))
          ++taken[key];
      } else {
        in_ranges += handle.erase_range(K(key), K(key + 2));
      }
    }
  });
  std::uint64_t by_key = 0;
  for (const auto& times : taken) {
    EXPECT_LE(times, 1U);
    by_key += times;
  }
  EXPECT_EQ(by_key + in_ranges, keys);
  expect_sound(map, {});
}

// Keys and values of which a thread gives its own away.
TEST(bt_map_of_movables_among_threads, keeps_one_of_each_key) {
  constexpr number keys = 500;
  small_map<movable, movable> map;
  std::atomic<number> added{0};
  in_threads([&](unsigned self) {
    auto handle = map.attach();
    for (number key = 0; key < keys; ++key) {
      if (handle.insert(movable(key), movable(self))) ++added;
    }
  });
  EXPECT_EQ(added, keys);
  EXPECT_EQ(contents(map).size(), keys);
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

}  // namespace
}  // namespace assay
