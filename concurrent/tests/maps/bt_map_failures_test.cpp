// bt_map when something fails: memory, or the copies and comparisons of the user's types. A call
// that lets an exception pass has changed nothing, and nothing is lost.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "assay/maps/bt_map.h"
#include "assay/reclaim/epochs.h"
#include "tests/maps/bt_map_test_fixture.h"
#include "tests/maps/bt_map_test_subject.h"
#include "tests/maps/trees_test_fixture.h"
#include "tests/maps/trees_test_types.h"
#include "tests/reclaim/reclaim_test_allocations.h"

namespace assay {
namespace {

using bt_test::element;
using bt_test::elements;
using bt_test::number;
using bt_test::variant;
using bt_test::variant_of;
using tests::allocations;
using tests::allocations_fail;
using tests::bytes_in_use;
using trees_test::comparison_failed;
using trees_test::comparisons;
using trees_test::copies;
using trees_test::copy_failed;
using trees_test::in_threads;
using trees_test::moody;
using trees_test::moody_less;
using trees_test::retires_once;
using trees_test::slowdown;
using trees_test::until_it_succeeds;

using small = bt_test::capacities<6, 6>;

// Keys and values are in a record, or a value is in a box.
std::vector<variant> variants() {
  using bt::coarse;
  using bt::optimistic;
  using bt::optimistic_replacing;
  using reclaim::epochs;
  return {
      variant_of<moody, moody, optimistic, small, epochs, moody_less>("moody_moody"),
      variant_of<moody, moody, optimistic, small, retires_once, moody_less>(
          "moody_moody_retired_once"),
      variant_of<moody, std::uint64_t, optimistic_replacing, small, retires_once, moody_less>(
          "moody_uint64_replacing_retired_once"),
      variant_of<moody, moody, coarse<std::mutex>, small, retires_once, moody_less>(
          "moody_moody_coarse_mutex_retired_once"),
      variant_of<std::uint64_t, moody, optimistic, small>("uint64_moody"),
      variant_of<std::uint64_t, moody, coarse<std::mutex>, small>("uint64_moody_coarse_mutex"),
      variant_of<std::uint64_t, moody, optimistic, bt_test::by_digits<6>>("digits_uint64_moody"),
      variant_of<std::string, moody, optimistic, bt_test::by_digits<6>>("digits_string_moody"),
  };
}

// A call, and what it makes of a model.
using model_map = std::map<number, number>;
struct operation {
  const char* name;
  void (*call)(bt_test::subject& map, bt_test::handle& handle, number key);
  void (*change)(model_map& model, number key);
};
constexpr auto ignore = [](number, number) {};
constexpr auto nothing_changes = [](model_map&, number) {};
const std::array<operation, 19> operations{{
    {"insert", [](auto&, auto& handle, number key) { handle.insert(key, key); },
     [](model_map& model, number key) { model.emplace(key, key); }},
    {"insert_or_assign",
     [](auto&, auto& handle, number key) { handle.insert_or_assign(key, key + 1); },
     [](model_map& model, number key) { model[key] = key + 1; }},
    {"update",
     [](auto&, auto& handle, number key) {
       handle.update(key, [](number value) { return value + 1; });
     },
     [](model_map& model, number key) {
       if (const auto found = model.find(key); found != model.end()) ++found->second;
     }},
    {"erase", [](auto&, auto& handle, number key) { handle.erase(key); },
     [](model_map& model, number key) { model.erase(key); }},
    {"find", [](auto&, auto& handle, number key) { handle.find(key); }, nothing_changes},
    {"contains", [](auto&, auto& handle, number key) { handle.contains(key); }, nothing_changes},
    {"find_many",
     [](auto&, auto& handle, number key) {
       handle.find_many({key, key + 1, key + 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
     },
     nothing_changes},
    {"insert_many of one",
     [](auto&, auto& handle, number key) { handle.insert_many({{key, key}}); },
     [](model_map& model, number key) { model.emplace(key, key); }},
    {"erase_many of one", [](auto&, auto& handle, number key) { handle.erase_many({{key, key}}); },
     [](model_map& model, number key) { model.erase(key); }},
    {"range", [](auto&, auto& handle, number key) { handle.range(key, key + 9, ignore); },
     nothing_changes},
    {"iterate", [](auto&, auto& handle, number) { handle.iterate(ignore); }, nothing_changes},
    {"range_snapshot",
     [](auto&, auto& handle, number key) { handle.range_snapshot(key, key + 9, ignore); },
     nothing_changes},
    {"snapshot", [](auto&, auto& handle, number) { handle.snapshot(ignore); }, nothing_changes},
    {"lower_bound", [](auto&, auto& handle, number key) { handle.lower_bound(key); },
     nothing_changes},
    {"upper_bound", [](auto&, auto& handle, number key) { handle.upper_bound(key); },
     nothing_changes},
    {"minimum", [](auto&, auto& handle, number) { handle.minimum(); }, nothing_changes},
    {"maximum", [](auto&, auto& handle, number) { handle.maximum(); }, nothing_changes},
    {"size", [](auto&, auto& handle, number) { handle.size(); }, nothing_changes},
    // By a handle that has never done anything.
    {"attach", [](auto& map, auto&, number key) { map.attach()->insert(key, key); },
     [](model_map& model, number key) { model.emplace(key, key); }},
}};

class bt_map_that_fails : public bt_test::fixture {
 protected:
  // Lets each operation fail at each step, on maps of various sizes.
  template <class Failure>
  static void expect_unchanged(tests::countdown& steps) {
    std::uint64_t all_failures = 0;
    std::mt19937_64 draw(1);
    const auto map = GetParam().make();
    const auto handle = map->attach();
    model_map model;
    const number keys = slowdown > 1 ? 80 : 160;
    for (const bool grows : {true, false}) {
      for (number i = 0; i < keys; ++i) {
        for (int twice = 0; twice < 2; ++twice) {
          // All of them in turn, and in between those that make it grow or shrink.
          const operation& of =
              twice == 0 ? operations[i % operations.size()] : operations[grows ? 0 : 3];
          const number key = twice == 0 ? draw() % keys : i * 7 % keys;
          const auto alive = moody::alive.load();
          std::uint64_t failures = 0;
          until_it_succeeds<Failure>(
              steps, failures,
              [&] {
                of.call(*map, *handle, key);
                return true;
              },
              [&] {
                // What was removed before may be freed now.
                EXPECT_LE(moody::alive, alive) << of.name;
                if (!GetParam().frees_at_clear) {
                  EXPECT_EQ(moody::alive, alive) << of.name;
                }
                expect_sound(*map, model);
              });
          all_failures += failures;
          of.change(model, key);
          expect_sound(*map, model);
          if (HasFailure()) return;
        }
      }
    }
    EXPECT_GT(all_failures, 200U);
  }

  void TearDown() override {
    copies.never_fail();
    comparisons.never_fail();
    allocations.never_fail();
    fixture::TearDown();
  }
};
INSTANTIATE_TEST_SUITE_P(all, bt_map_that_fails, testing::ValuesIn(variants()), bt_test::name_of);

TEST_P(bt_map_that_fails, is_unchanged_without_memory) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  expect_unchanged<std::bad_alloc>(allocations);
}
TEST_P(bt_map_that_fails, is_unchanged_by_a_copy_that_throws) {
  expect_unchanged<copy_failed>(copies);
}
TEST_P(bt_map_that_fails, is_unchanged_by_a_comparison_that_throws) {
  if (!GetParam().fails_to_compare) GTEST_SKIP() << "these keys can be compared";
  expect_unchanged<comparison_failed>(comparisons);
}

// Filling an empty map, and emptying it.
template <class Failure>
void load_and_clear(bt_test::subject& map, tests::countdown& steps, number least_failures) {
  elements sorted;
  for (number key = 0; key < 150; ++key) sorted.emplace_back(key, key);
  const auto alive = moody::alive.load();
  std::uint64_t failures = 0;
  const auto expect_empty = [&] {
    EXPECT_EQ(moody::alive, alive);
    EXPECT_EQ(map.contents(), elements());
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  };
  until_it_succeeds<Failure>(
      steps, failures,
      [&] {
        map.load_sorted(sorted);
        return true;
      },
      expect_empty);
  EXPECT_GE(failures, least_failures);
  EXPECT_EQ(map.contents(), sorted);
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
  const auto expect_full = [&] { EXPECT_EQ(map.contents(), sorted); };
  until_it_succeeds<Failure>(
      steps, failures,
      [&] {
        map.clear();
        return true;
      },
      expect_full);
  expect_empty();
}
TEST_P(bt_map_that_fails, loads_all_or_nothing) {
  const auto map = GetParam().make();
  if (allocations_fail) load_and_clear<std::bad_alloc>(*map, allocations, 30);
  load_and_clear<copy_failed>(*map, copies, 150);
  if (GetParam().fails_to_compare) load_and_clear<comparison_failed>(*map, comparisons, 149);
}

// Balancing after it is put off, for ever if need be: then some leaves are empty, which all calls
// pass by.
TEST_P(bt_map_that_fails, erases_also_where_it_cannot_balance) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  const auto map = GetParam().make();
  const auto handle = map->attach();
  constexpr number keys = 200;
  model_map model;
  for (number key = 0; key < keys; ++key) {
    handle->insert(key, key);
    model.emplace(key, key);
  }
  handle->size();  // has memory for all leaves from now on
  const auto erase_all_but = [&](number first, number last) {
    for (number key = 0; key < keys; ++key) {
      if (first <= key && key <= last) continue;
      allocations.fail_after(0);
      bool erased = false;
      try {
        erased = handle->erase(key);
      } catch (const std::bad_alloc&) {  // reclamation asked for memory before it began
        allocations.never_fail();
        erased = handle->erase(key);
      }
      allocations.never_fail();
      EXPECT_EQ(erased, model.erase(key) == 1);
    }
    expect_sound(*map, model);
    EXPECT_EQ(handle->size(), model.size());
  };
  erase_all_but(90, 110);
  EXPECT_EQ(handle->minimum(), element(90, 90));
  EXPECT_EQ(handle->maximum(), element(110, 110));
  EXPECT_EQ(handle->lower_bound(3), element(90, 90));
  EXPECT_EQ(handle->upper_bound(110), std::nullopt);
  elements met;
  handle->range(0, keys, [&](number key, number value) { met.emplace_back(key, value); });
  EXPECT_EQ(met, elements(model.begin(), model.end()));
  erase_all_but(1, 0);
  EXPECT_EQ(handle->minimum(), std::nullopt);
  EXPECT_EQ(handle->maximum(), std::nullopt);
  EXPECT_EQ(handle->lower_bound(0), std::nullopt);
  EXPECT_EQ(handle->approximate_size(), 0U);
  // What comes next finds room, and balances again.
  for (number key = 0; key < keys; ++key) EXPECT_TRUE(handle->insert(key, key));
  for (number key = 0; key < keys; ++key) EXPECT_TRUE(handle->erase(key));
  expect_sound(*map, {});
}

TEST_P(bt_map_that_fails, keeps_its_word_among_threads) {
  constexpr unsigned threads = 4;
  const int calls = 6000 / slowdown;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::atomic<std::uint64_t> failures{0};
  for (const number keys : {number{2}, number{16}, number{200}}) {
    const auto map = GetParam().make();
    std::vector<std::atomic<int>> net(keys);
    in_threads(threads, [&](unsigned self) {
      std::mt19937_64 draw(seed + self);
      const auto handle = map->attach();
      for (int i = 0; i < calls; ++i) {
        const number key = draw() % keys;
        const auto what = draw() % 8;
        const auto kind = draw() % 6;
        if (what == 0) copies.fail_after(draw() % 3);
        if (what == 1 || what == 2) comparisons.fail_after(draw() % 16);
        if (what == 3) allocations.fail_after(draw() % 3);
        try {
          if (kind < 2) {
            if (kind == 0 ? handle->insert(key, key) : handle->insert_or_assign(key, key)) {
              ++net[key];
            }
          } else if (kind < 4) {
            if (handle->erase(key)) --net[key];
          } else if (kind == 4) {
            handle->update(key, [](number value) { return value; });
          } else if (const auto found = handle->find(key)) {
            EXPECT_EQ(*found, key);
          }
        } catch (const copy_failed&) {
          ++failures;
        } catch (const comparison_failed&) {
          ++failures;
        } catch (const std::bad_alloc&) {
          ++failures;
        }
        copies.never_fail();
        comparisons.never_fail();
        allocations.never_fail();
      }
    });
    model_map expected;
    for (number key = 0; key < keys; ++key) {
      ASSERT_TRUE(net[key] == 0 || net[key] == 1) << key;
      if (net[key] == 1) expected.emplace(key, key);
    }
    expect_sound(*map, expected);
    const auto handle = map->attach();
    for (number key = 0; key < keys; ++key) EXPECT_EQ(handle->erase(key), expected.contains(key));
    expect_sound(*map, {});
  }
  EXPECT_GT(failures, 0U);
}

TEST_P(bt_map_that_fails, is_back_where_it_began_after_clear) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  const auto before = bytes_in_use.load();
  {
    const auto map = GetParam().make();
    const auto handle = map->attach();
    const auto alive = moody::alive.load();
    std::mt19937_64 draw(1);
    for (int i = 0; i < 20'000 / slowdown; ++i) {
      const number key = draw() % 300;
      if (draw() % 2 == 0) {
        handle->insert_or_assign(key, key);
      } else {
        handle->erase(key);
      }
    }
    map->clear();
    expect_nothing_waits(*map);
    if (GetParam().frees_at_clear) {
      EXPECT_EQ(moody::alive, alive);
    }
  }
  EXPECT_EQ(bytes_in_use, before);
}

// --- a walk that holds locks --------------------------------------------------------------------

// Disturbs the first walks, so that the next takes locks, and lets a comparison of that fail.
using map_of_moody =
    bt_map<moody, moody,
           bt_test::policies<moody, bt::optimistic, small, reclaim::epochs, moody_less>>;
thread_local map_of_moody::handle* disturbs = nullptr;
thread_local unsigned walk_steps = 0;
thread_local std::uint64_t fails_after = 0;

TEST(a_walk_of_bt_map_that_holds_locks, gives_them_back_when_a_comparison_throws) {
  constexpr unsigned undisturbed_attempts = 8;
  const auto alive = moody::alive.load();
  {
    map_of_moody map;
    auto handle = map.attach();
    auto other = map.attach();
    for (number key = 0; key < 40; ++key) handle.insert(moody(key), moody(key));
    sync::at_points = [](const char* point) {
      if (disturbs == nullptr || std::string_view(point) != "bt_map_walk_step") return;
      if (walk_steps < undisturbed_attempts) {
        // In the first leaf, so that each walk ends there.
        map_of_moody::handle* const by = std::exchange(disturbs, nullptr);
        by->insert_or_assign(moody(0), moody(0));
        disturbs = by;
      } else if (walk_steps == undisturbed_attempts) {
        comparisons.fail_after(fails_after);
      }
      ++walk_steps;
    };
    unsigned thrown = 0;
    for (fails_after = 0;; ++fails_after) {
      walk_steps = 0;
      disturbs = &other;
      number seen = 0;
      try {
        handle.snapshot([&](const moody&, const moody&) { ++seen; });
      } catch (const comparison_failed&) {
        ++thrown;
      }
      comparisons.never_fail();
      disturbs = nullptr;
      ASSERT_GT(walk_steps, undisturbed_attempts);
      ASSERT_EQ(map.broken_invariant(), std::nullopt);
      if (seen > 0) break;
    }
    sync::at_points = nullptr;
    EXPECT_GT(thrown, 40U);
    for (number key = 0; key < 40; ++key) EXPECT_TRUE(other.erase(moody(key)));
  }
  EXPECT_EQ(moody::alive, alive);
}

// --- many keys at once --------------------------------------------------------------------------

// Lets one call about many keys fail at each step: the map holds what the answers say.
template <class Failure, class Map>
void many_say_what_they_did(tests::countdown& steps) {
  constexpr std::size_t size = 40;
  std::vector<typename Map::key_type> keys;
  std::vector<moody> values;
  keys.reserve(size);
  values.reserve(size);
  for (number key = 0; key < size; ++key) {
    keys.emplace_back(key);
    values.emplace_back(key);
  }
  for (const bool erases : {false, true}) {
    const auto was_there = [erases](std::size_t key) { return (key % 3 == 0) != erases; };
    bool has_failed = true;
    std::uint64_t steps_done = 0;
    for (; has_failed; ++steps_done) {
      Map map;
      auto handle = map.attach();
      for (std::size_t key = 0; key < size; ++key) {
        if (was_there(key)) handle.insert(keys[key], values[key]);
      }
      std::array<bool, size> done;
      done.fill(true);
      has_failed = false;
      steps.fail_after(steps_done);
      try {
        erases ? handle.erase_many(keys, done) : handle.insert_many(keys, values, done);
      } catch (const Failure&) {
        has_failed = true;
      }
      steps.never_fail();
      for (std::size_t key = 0; key < size; ++key) {
        const bool is_there = handle.contains(keys[key]);
        ASSERT_EQ(is_there != was_there(key), done[key]) << key << " after " << steps_done;
        ASSERT_TRUE(has_failed || is_there != erases) << key;
      }
      ASSERT_EQ(map.broken_invariant(), std::nullopt);
    }
    EXPECT_TRUE(erases || steps_done > 1);  // an erase may have no step that fails
  }
}
template <class Map>
void many_say_what_they_did() {
  many_say_what_they_did<copy_failed, Map>(copies);
  if (allocations_fail) many_say_what_they_did<std::bad_alloc, Map>(allocations);
}
TEST(many_keys_of_bt_map, are_done_as_far_as_the_answers_say) {
  using bt::optimistic;
  many_say_what_they_did<map_of_moody>();
  many_say_what_they_did<comparison_failed, map_of_moody>(comparisons);
  many_say_what_they_did<
      bt_map<number, moody, bt_test::policies<number, bt::coarse<std::mutex>, small>>>();
  many_say_what_they_did<
      bt_map<number, moody, bt_test::policies<number, optimistic, bt_test::by_digits<6>>>>();
}

// --- critical sections --------------------------------------------------------------------------

// Counts the critical sections in which memory is asked for or given back. For one thread.
class witness_lock {
 public:
  void lock() {
    made_ = tests::allocations_made;
    bytes_ = bytes_in_use;
  }
  void unlock() {
    ++sections;
    if (tests::allocations_made != made_ || bytes_in_use != bytes_) ++with_memory;
  }

  static inline std::uint64_t sections = 0;
  static inline std::uint64_t with_memory = 0;

 private:
  std::uint64_t made_ = 0;
  std::int64_t bytes_ = 0;
};

// Strings are long enough to be allocated. Some records are freed as soon as they are retired.
std::vector<variant> witnessed_variants() {
  using coarse = bt::coarse<witness_lock>;
  using std::string;
  using std::uint64_t;
  return {
      variant_of<uint64_t, uint64_t, coarse, small>("uint64_uint64"),
      variant_of<uint64_t, string, coarse, small>("uint64_string"),
      variant_of<string, uint64_t, coarse, small>("string_uint64"),
      variant_of<moody, moody, coarse, small, retires_once, moody_less>("moody_moody_retired_once"),
  };
}

class bt_map_in_critical_sections : public bt_test::fixture {};
INSTANTIATE_TEST_SUITE_P(all, bt_map_in_critical_sections, testing::ValuesIn(witnessed_variants()),
                         bt_test::name_of);

TEST_P(bt_map_in_critical_sections, neither_asks_for_memory_nor_gives_it_back) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  const auto map = GetParam().make();
  const auto handle = map->attach();
  const auto other = map->attach();
  std::mt19937_64 draw(1);
  const auto expect_untouched = [&](const char* name, const auto& call) {
    witness_lock::sections = 0;
    witness_lock::with_memory = 0;
    call();
    EXPECT_GT(witness_lock::sections, 0U) << name;
    EXPECT_EQ(witness_lock::with_memory, 0U) << name;
  };
  // All of them while it grows, which splits nodes, and while it shrinks, which joins them.
  constexpr number keys = 300;
  for (const bool grows : {true, false}) {
    for (number i = 0; i < keys; ++i) {
      const operation& grow_or_shrink = operations[grows ? 0 : 3];
      for (const auto& [of, key] :
           {std::pair(&grow_or_shrink, i * 7 % keys),
            std::pair(&operations[i % operations.size()], number{draw() % keys})}) {
        expect_untouched(of->name, [&] { of->call(*map, *handle, key); });
      }
      expect_untouched("approximate_size", [&] { handle->approximate_size(); });
      // One that meets a change by another, and begins again.
      const number key = draw() % keys;
      bool is_changed = false;
      expect_untouched("update", [&] {
        handle->update(key, [&](number value) {
          if (!std::exchange(is_changed, true)) {
            grows ? other->insert_or_assign(key, value + 1) : other->erase(key);
          }
          return value;
        });
      });
    }
  }
}

// What docs/guide/bt_map.md says of it, and some more for the map and its handle themselves.
TEST(memory_of_bt_map, is_what_fuller_leaves_need) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  constexpr number keys = 30'000;
  std::vector<number> order(keys);
  std::iota(order.begin(), order.end(), 0);
  const auto grown = [&](std::size_t erased_of_6) {
    const std::int64_t before = bytes_in_use;
    bt_map<number, number, bt_test::policies<number>> map;
    auto handle = map.attach();
    for (const number key : order) handle.insert(key, key);
    for (const number key : order) {
      if (key % 6 < erased_of_6) handle.erase(key);
    }
    // Replaced nodes, nearly all of them leaves, that are not freed yet.
    const auto unfreed = static_cast<double>(map.unfreed() * 768);
    return (static_cast<double>(bytes_in_use - before) - unfreed) /
           static_cast<double>(handle.size());
  };
  EXPECT_LT(grown(0), 22) << "ascending";
  std::ranges::reverse(order);
  EXPECT_LT(grown(0), 22) << "descending";
  std::ranges::shuffle(order, std::mt19937_64(1));
  EXPECT_LT(grown(0), 30);
  EXPECT_LT(grown(5), 80);
}

// --- its shape -----------------------------------------------------------------------------------

TEST(bt_map_shape, of_known_maps) {
  bt_map<std::uint64_t, std::uint64_t> map;
  EXPECT_EQ(map.shape().nodes, 1U);
  EXPECT_EQ(map.shape().bytes, 768U);
  EXPECT_EQ(map.shape().mean_depth, std::nullopt);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (std::uint64_t key = 1; key <= 1000; ++key) pairs.emplace_back(key, key);
  map.load_sorted(pairs.begin(), pairs.end());
  const shape found = map.shape();
  // Leaves hold 44, and are made nearly full; internal nodes have 23 children.
  ASSERT_GE(found.nodes, 1000 / 44 + 3U);
  EXPECT_LE(found.nodes, 1000 / 35 + 3U);
  EXPECT_EQ(found.max_depth, 3U);
  EXPECT_EQ(found.mean_depth, 3.0);
  EXPECT_EQ(found.bytes, (*found.nodes - 3) * 768 + std::uint64_t{3} * 384);
}

// What the allocator gave for records and boxes, of which separators keep some for longer than
// pairs do: what the map says, and what glibc adds to each allocation.
template <class K, class V>
void know_their_bytes() {
  bt_map<K, V, bt_test::policies<K, bt::optimistic, small>> map;
  std::vector<std::pair<K, V>> pairs;
  for (int i = 1000; i < 2000; ++i) {
    if constexpr (std::is_same_v<K, std::string>) {
      pairs.emplace_back(std::to_string(i) + std::string(i % 2 == 0 ? 0 : 40, '.'), V(30, '.'));
    } else {
      pairs.emplace_back(i, V(30, '.'));
    }
  }
  const auto before = bytes_in_use.load();
  map.load_sorted(pairs.begin(), pairs.end());
  const auto given = static_cast<std::uint64_t>(bytes_in_use - before) + sizeof(void*);
  shape found = map.shape();
  EXPECT_LE(found.bytes, given + std::uint64_t{3} * 64 * 16);
  EXPECT_LE(given, *found.bytes + 24 * (*found.nodes + 3000));
}

TEST(bt_map_shape, knows_the_bytes_of_records_and_boxes) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  know_their_bytes<std::string, std::string>();
  know_their_bytes<std::uint64_t, std::string>();
}

}  // namespace
}  // namespace assay
