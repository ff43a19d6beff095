// Both search trees, with every policy that is sound for them, when something fails: memory, or the
// copies and comparisons of the user's types. And whether all memory comes back.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "assay/base/point.h"
#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"
#include "assay/reclaim/retired.h"
#include "tests/maps/trees_test_fixture.h"
#include "tests/maps/trees_test_stops.h"
#include "tests/maps/trees_test_types.h"
#include "tests/reclaim/reclaim_test_allocations.h"

namespace assay {
namespace {

using tests::allocations;
using tests::allocations_fail;
using tests::bytes_in_use;
using trees_test::comparison_failed;
using trees_test::comparisons;
using trees_test::copies;
using trees_test::copy_failed;
using trees_test::in_threads;
using trees_test::lock_free;
using trees_test::made_of;
using trees_test::moody;
using trees_test::moody_less;
using trees_test::number_of;
using trees_test::planned_stop;
using trees_test::retires_once;
using trees_test::slowdown;
using trees_test::ticket;
using trees_test::until_it_succeeds;
using trees_test::variant;

// --- memory that is refused ---------------------------------------------------------------------

template <class Variant>
class search_tree_without_memory : public trees_test::fixture<Variant> {};
using all_variants = ::testing::Types<
    variant<lock_free, std::uint64_t, reclaim::epochs>,
    variant<lock_free, std::string, reclaim::epochs>,
    variant<lock_free, std::uint64_t, reclaim::none>, variant<lock_free, moody, retires_once>,
    variant<ticket, std::uint64_t, reclaim::epochs>,
    variant<ticket, std::string, reclaim::hazard_pointers>,
    variant<ticket, std::uint64_t, reclaim::none>, variant<ticket, moody, retires_once>>;
TYPED_TEST_SUITE(search_tree_without_memory, all_variants);

TYPED_TEST(search_tree_without_memory, is_unchanged) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  using K = typename TypeParam::K;
  typename TypeParam::map map;
  std::map<std::uint64_t, std::uint64_t> model;
  std::uint64_t failures = 0;
  const auto until_there_is_memory = [&](const auto& call) {
    return until_it_succeeds<std::bad_alloc>(allocations, failures, call,
                                             [&] { this->expect_sound(map, model); });
  };

  // Records of participants are allocated several at a time, and aligned.
  std::vector<typename TypeParam::map::handle> handles;
  handles.reserve(20);
  std::uint64_t refused = 0;
  for (int i = 0; i < 20; ++i) {
    until_there_is_memory([&] {
      handles.push_back(map.attach());
      return true;
    });
    refused += failures;
  }
  EXPECT_EQ(refused > 0, (!std::is_same_v<typename TypeParam::Reclaim, retires_once>));

  auto& handle = handles.front();
  // Twice through, because a policy allocates now and then.
  for (std::uint64_t key = 0; key < 300; ++key) {
    const K made = made_of<K>(key * 7 % 100);
    const auto number = number_of(made);
    const auto value = made_of<typename TypeParam::V>(key);
    const bool inserted = until_there_is_memory([&] { return handle.insert(made, value); });
    EXPECT_TRUE(!inserted || failures > 0);
    ASSERT_EQ(inserted, model.emplace(number, key).second);
    ASSERT_TRUE(until_there_is_memory([&] { return handle.find(made).has_value(); }));
    ASSERT_TRUE(until_there_is_memory([&] { return handle.contains(made); }));
    if (key % 3 == 0) {
      ASSERT_TRUE(until_there_is_memory([&] { return handle.erase(made); }));
      model.erase(number);
    }
    this->expect_sound(map, model);
  }
  // At rest.
  EXPECT_EQ(until_there_is_memory([&] { return map.shape().nodes; }), 2 * model.size() - 1);
  EXPECT_GT(failures, 0U);
  std::uint64_t visits = 0;
  until_there_is_memory([&] {
    visits = 0;
    map.for_each([&](const auto&...) { ++visits; });
    return true;
  });
  EXPECT_GT(failures, 0U);
  EXPECT_EQ(visits, model.size());
}

// --- types that throw ---------------------------------------------------------------------------

template <class Variant>
class search_tree_of_types_that_throw : public trees_test::fixture<Variant> {};
using moody_variants = ::testing::Types<
    variant<lock_free, moody, reclaim::epochs>, variant<lock_free, moody, reclaim::none>,
    variant<lock_free, moody, retires_once>, variant<ticket, moody, reclaim::epochs>,
    variant<ticket, moody, reclaim::hazard_pointers>, variant<ticket, moody, reclaim::none>,
    variant<ticket, moody, retires_once>>;
TYPED_TEST_SUITE(search_tree_of_types_that_throw, moody_variants);

TYPED_TEST(search_tree_of_types_that_throw, is_unchanged_by_any_copy_that_does) {
  typename TypeParam::map map;
  auto handle = map.attach();
  std::map<std::uint64_t, std::uint64_t> model;
  for (const std::uint64_t key : {5U, 1U, 9U, 3U, 7U, 4U}) {
    const moody made(key);
    const auto alive = moody::alive.load();
    std::uint64_t failures = 0;
    EXPECT_TRUE(until_it_succeeds<copy_failed>(
        copies, failures, [&] { return handle.insert(made, made); },
        [&] {
          EXPECT_EQ(moody::alive, alive);
          this->expect_sound(map, model);
        }));
    // The leaf's key and value, and if there was another leaf, the key of a fork.
    EXPECT_EQ(failures, model.empty() ? 2U : 3U);
    model.emplace(key, key);
    copies.fail_after(0);
    EXPECT_THROW(static_cast<void>(handle.find(made)), copy_failed);
    copies.fail_after(0);
    EXPECT_TRUE(handle.contains(made));  // copies nothing
    copies.never_fail();
    this->expect_sound(map, model);
  }
  copies.fail_after(0);
  EXPECT_TRUE(handle.erase(moody(5)));  // nor does this
  copies.never_fail();
}

// But an erase of the lock-free tree that others interfere with: see below.
TYPED_TEST(search_tree_of_types_that_throw, is_unchanged_by_any_comparison_that_does) {
  typename TypeParam::map map;
  auto handle = map.attach();
  std::map<std::uint64_t, std::uint64_t> model;
  std::uint64_t failures = 0;
  std::int64_t alive = 0;
  const auto until_it_compares = [&](const auto& call) {
    alive = moody::alive;
    return until_it_succeeds<comparison_failed>(comparisons, failures, call, [&] {
      EXPECT_EQ(moody::alive, alive);
      this->expect_sound(map, model);
    });
  };
  for (std::uint64_t i = 0; i < 40; ++i) {
    const moody key(i * 7 % 40);
    EXPECT_TRUE(until_it_compares([&] { return handle.insert(key, key); }));
    EXPECT_GE(failures, model.empty() ? 0U : 3U);
    model.emplace(key.number(), key.number());
    EXPECT_FALSE(until_it_compares([&] { return handle.insert(key, key); }));
    EXPECT_TRUE(until_it_compares([&] { return handle.find(key).has_value(); }));
    EXPECT_TRUE(until_it_compares([&] { return handle.contains(key); }));
    EXPECT_GE(failures, 2U);
    if (i % 3 == 0) {
      const moody other(i / 3 * 7 % 40);
      const bool erased = until_it_compares([&] { return handle.erase(other); });
      EXPECT_EQ(erased, model.erase(other.number()) == 1);
      EXPECT_GE(failures, 2U);
    }
    this->expect_sound(map, model);
  }
}

// What the trees promise when threads meet: a call that throws has changed nothing, but that an
// erase of the lock-free tree whose comparison throws may have been done, or may be later.
TYPED_TEST(search_tree_of_types_that_throw, keeps_its_word_among_threads) {
  constexpr unsigned threads = 8;
  constexpr bool may_erase_later = std::is_same_v<typename TypeParam::algorithm, lock_free>;
  const int operations = 3000 / slowdown;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::atomic<std::uint64_t> copies_failed{0};
  std::atomic<std::uint64_t> comparisons_failed{0};
  std::atomic<std::uint64_t> allocations_failed{0};
  for (const std::uint64_t keys : {2U, 16U, 200U}) {
    typename TypeParam::map map;
    std::vector<std::atomic<std::int64_t>> inserted(keys);  // less those erased
    std::vector<std::atomic<std::int64_t>> perhaps_erased(keys);
    in_threads(threads, [&](unsigned self) {
      std::mt19937_64 draw(seed + self);
      auto handle = map.attach();
      for (int i = 0; i < operations; ++i) {
        const std::uint64_t number = draw() % keys;
        const moody key(number);
        const std::uint64_t operation = draw() % 3;
        const std::uint64_t what = draw() % 8;
        if (what == 0) copies.fail_after(draw() % 3);
        if (what == 1 || what == 2) comparisons.fail_after(draw() % 16);
        if (what == 3) allocations.fail_after(draw() % 3);
        try {
          if (operation == 0) {
            if (handle.insert(key, key)) ++inserted[number];
          } else if (operation == 1) {
            if (handle.erase(key)) --inserted[number];
          } else if (const auto found = handle.find(key)) {
            EXPECT_EQ(found->number(), number);
          }
        } catch (const copy_failed&) {
          ++copies_failed;
        } catch (const comparison_failed&) {
          ++comparisons_failed;
          if (may_erase_later && operation == 1) ++perhaps_erased[number];
        } catch (const std::bad_alloc&) {
          ++allocations_failed;
        }
        copies.never_fail();
        comparisons.never_fail();
        allocations.never_fail();
      }
    });

    const auto held = this->contents(map);
    for (std::uint64_t key = 0; key < keys; ++key) {
      const auto erased_by_who_threw = inserted[key] - static_cast<std::int64_t>(held.count(key));
      EXPECT_GE(erased_by_who_threw, 0) << key;
      EXPECT_LE(erased_by_who_threw, perhaps_erased[key]) << key;
    }
    if (!may_erase_later) {
      EXPECT_EQ(map.broken_invariant(), std::nullopt);
    }
    // What was left half done is done when others come by.
    auto handle = map.attach();
    for (std::uint64_t key = 0; key < keys; ++key) handle.erase(moody(key));
    this->expect_sound(map, {});
  }
  EXPECT_GT(copies_failed, 0U);
  EXPECT_GT(comparisons_failed, 0U);
  EXPECT_EQ(allocations_failed > 0, allocations_fail);
}

// Stops an erase of the lock-free tree when its leaf is marked, removes a node above, so that it
// must seek again, and lets a comparison of that fail.
using half_erased = natarajan_mittal_bst<moody, moody, reclaim::epochs, moody_less>;
void throw_in_the_middle_of_an_erase(half_erased& map) {
  sync::at_points = &trees_test::stop_if_planned;
  auto handle = map.attach();
  for (const std::uint64_t key : {10U, 20U, 30U, 40U}) handle.insert(moody(key), moody(key));
  trees_test::stop before_swing{.at = "natarajan_mittal_splice_before_swing",
                                .when_let_go = [] { comparisons.fail_after(0); }};
  bool threw = false;
  std::thread eraser([&] {
    auto its_own = map.attach();
    planned_stop = &before_swing;
    try {
      its_own.erase(moody(20));
    } catch (const comparison_failed&) {
      threw = true;
    }
  });
  before_swing.reached.acquire();
  EXPECT_TRUE(handle.erase(moody(10)));
  before_swing.go_on.release();
  eraser.join();
  sync::at_points = nullptr;

  EXPECT_TRUE(threw);
  EXPECT_TRUE(handle.contains(moody(20))) << "still counts as present";
  EXPECT_EQ(map.broken_invariant(), "an edge is still flagged");
}

TEST(an_erase_that_threw_halfway, is_finished_by_an_update_that_comes_to_its_leaf) {
  const auto alive = moody::alive.load();
  {
    half_erased map;
    throw_in_the_middle_of_an_erase(map);
    auto handle = map.attach();
    EXPECT_FALSE(handle.erase(moody(20))) << "it was erased by the one that threw";
    EXPECT_FALSE(handle.contains(moody(20)));
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
  {
    half_erased map;
    throw_in_the_middle_of_an_erase(map);
    auto handle = map.attach();
    EXPECT_FALSE(handle.insert(moody(20), moody(7))) << "still counts as present";
    EXPECT_TRUE(handle.insert(moody(25), moody(25)));
    EXPECT_FALSE(handle.contains(moody(20)));
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
  EXPECT_EQ(moody::alive, alive);
}

TEST(an_erase_that_threw_halfway, is_finished_by_an_erase_beside_it) {
  half_erased map;
  throw_in_the_middle_of_an_erase(map);
  auto handle = map.attach();
  EXPECT_TRUE(handle.erase(moody(30)));
  EXPECT_FALSE(handle.contains(moody(20)));
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

TEST(an_erase_that_threw_halfway, is_cleared_away_with_the_rest) {
  const auto alive = moody::alive.load();
  half_erased map;
  throw_in_the_middle_of_an_erase(map);
  map.clear();
  EXPECT_EQ(moody::alive, alive);
}

// --- memory that comes back ---------------------------------------------------------------------

template <class Variant>
class search_tree_that_frees : public trees_test::fixture<Variant> {};
using freeing_variants = ::testing::Types<
    variant<lock_free, moody, reclaim::epochs>, variant<lock_free, std::string, reclaim::epochs>,
    variant<ticket, moody, reclaim::epochs>, variant<ticket, moody, reclaim::hazard_pointers>,
    variant<ticket, std::string, reclaim::hazard_pointers>>;
TYPED_TEST_SUITE(search_tree_that_frees, freeing_variants);

// Inserts and erases by several threads, most of whose erased nodes still wait when they end.
template <class Map, class K, class V>
void churn(Map& map, std::uint64_t seed) {
  in_threads(4, [&](unsigned self) {
    std::mt19937_64 draw(seed + self);
    auto handle = map.attach();
    for (int i = 0; i < 8000 / slowdown; ++i) {
      const std::uint64_t key = draw() % 500;
      if (draw() % 2 == 0) {
        handle.insert(made_of<K>(key), made_of<V>(key));
      } else {
        handle.erase(made_of<K>(key));
      }
    }
  });
}

TYPED_TEST(search_tree_that_frees, is_back_where_it_began_after_clear) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  using K = typename TypeParam::K;
  using V = typename TypeParam::V;
  const auto alive = moody::alive.load();
  const auto before_map = bytes_in_use.load();
  // A policy keeps some blocks of memory for each of those who took part, five here. Their
  // number is not exact, because blocks of the same size take more or less.
  const auto block = std::make_unique<reclaim::detail::retired_block>();
  const auto bytes_of_block = bytes_in_use - before_map;
  constexpr std::int64_t most_blocks = 20;  // four each
  {
    typename TypeParam::map map;
    auto handle = map.attach();
    const auto before = bytes_in_use.load();
    for (std::uint64_t round = 0; round < 3; ++round) {
      churn<typename TypeParam::map, K, V>(map, seed + 10 * round);
      for (std::uint64_t key = 0; key < 500; ++key) {
        handle.insert(made_of<K>(key), made_of<V>(key));
        handle.erase(made_of<K>(key));
      }
      this->insert(handle, round, round);
      EXPECT_GT(map.unfreed(), 0U);
      map.clear();
      EXPECT_EQ(map.unfreed(), 0U);
      EXPECT_EQ(moody::alive, alive);
      if (allocations_fail) {
        EXPECT_LE((bytes_in_use - before) / bytes_of_block, most_blocks);
      }
      this->expect_sound(map, {});
    }
  }
  EXPECT_EQ(bytes_in_use, before_map + bytes_of_block);
}

TYPED_TEST(search_tree_that_frees, holds_no_more_than_it_says) {
  if constexpr (TypeParam::is_moody) {
    const auto before = moody::alive.load();
    typename TypeParam::map map;
    auto handle = map.attach();
    for (std::uint64_t key = 0; key < 100; ++key) this->insert(handle, key * 37 % 100, key);
    EXPECT_EQ(moody::alive - before, 100 * 2 + 99);
    map.clear();
    EXPECT_EQ(moody::alive, before);
    for (std::uint64_t key = 0; key < 100; ++key) this->insert(handle, key * 37 % 100, key);
    for (std::uint64_t key = 0; key < 99; ++key) EXPECT_TRUE(handle.erase(moody(key)));
    // One leaf is left; whatever else is alive was removed and waits.
    EXPECT_LE(moody::alive - before, 2 + 3 * static_cast<std::int64_t>(map.unfreed()));
    EXPECT_LE(map.unfreed(), 2U * 99);
  }
}

// Keys in ascending order make a list: 2 leads to leaf 1 and to 3, which leads to leaves 2 and 3.
template <class Map>
void tell_the_shape_of_a_list(std::uint64_t bytes_of_internal) {
  Map map;
  EXPECT_EQ(map.shape().nodes, 0U);
  EXPECT_EQ(map.shape().max_depth, std::nullopt);
  EXPECT_EQ(map.shape().bytes, 0U);
  auto handle = map.attach();
  handle.insert(1, 1);
  EXPECT_EQ(map.shape().max_depth, 1U);
  for (const std::uint64_t key : {2U, 3U}) handle.insert(key, key);
  const shape found = map.shape();
  EXPECT_EQ(found.nodes, 5U);
  EXPECT_EQ(found.max_depth, 3U);
  EXPECT_EQ(found.mean_depth, (2 + 3 + 3) / 3.0);
  EXPECT_EQ(found.bytes, std::uint64_t{3} * 16 + 2 * bytes_of_internal);
  for (std::uint64_t key = 1; key <= 3; ++key) handle.erase(key);
  EXPECT_EQ(map.shape().nodes, 0U);
}

TEST(search_trees, tell_their_shape) {
  tell_the_shape_of_a_list<natarajan_mittal_bst<std::uint64_t, std::uint64_t>>(24);
  tell_the_shape_of_a_list<ticket_bst<std::uint64_t, std::uint64_t>>(32);
  // Nobody knows what memory keys of that type have.
  natarajan_mittal_bst<moody, moody, reclaim::epochs, moody_less> unknown;
  unknown.attach().insert(made_of<moody>(1), made_of<moody>(1));
  EXPECT_EQ(unknown.shape().nodes, 1U);
  EXPECT_EQ(unknown.shape().bytes, std::nullopt);
}

// What the allocator gave for elements whose strings are partly within their objects: what the tree
// says, and what glibc adds to each allocation.
TEST(search_trees, know_their_bytes) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  natarajan_mittal_bst<std::string, std::string> map;
  auto handle = map.attach();
  const auto before = bytes_in_use.load();
  for (std::size_t i = 0; i < 500; ++i) {
    const std::string key = std::to_string(i * 7919 % 1000);
    handle.insert(i % 2 == 0 ? key : key + std::string(40, '.'), std::string(i, '.'));
  }
  const auto taken = static_cast<std::uint64_t>(bytes_in_use - before);
  const shape found = map.shape();
  ASSERT_EQ(found.nodes, 999U);
  EXPECT_LE(found.bytes, taken);
  EXPECT_LE(taken, *found.bytes + std::uint64_t{24} * (999 + 500 + 500));
}

}  // namespace
}  // namespace assay
