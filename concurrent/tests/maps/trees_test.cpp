// Both search trees, with every policy that is sound for them: as a map, among threads, and
// misused. Compiled with marked points, so that threads can be stopped in the middle of a call.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "assay/locks/version_locks.h"
#include "assay/maps/concept.h"
#include "assay/maps/external_tree.h"
#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/ticket_bst.h"
#include "assay/probe/recording.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"
#include "assay/subject/probed_trees.h"
#include "tests/maps/trees_test_fixture.h"
#include "tests/maps/trees_test_stops.h"
#include "tests/maps/trees_test_types.h"

namespace assay {
namespace {

using trees_test::allocations;
using trees_test::in_threads;
using trees_test::lock_free;
using trees_test::made_of;
using trees_test::moody;
using trees_test::number_of;
using trees_test::retires_once;
using trees_test::slowdown;
using trees_test::stop_if_planned;
using trees_test::stopped_eraser;
using trees_test::ticket;
using trees_test::variant;

static_assert(concurrent_map<natarajan_mittal_bst<int, std::string>, int, std::string>);
static_assert(concurrent_map<ticket_bst<std::string, int>, std::string, int>);

using variants = ::testing::Types<
    variant<lock_free, std::uint64_t, reclaim::epochs>,
    variant<lock_free, std::uint64_t, reclaim::none>,
    variant<lock_free, std::string, reclaim::epochs>, variant<lock_free, moody, reclaim::epochs>,
    variant<lock_free, moody, retires_once>, variant<ticket, std::uint64_t, reclaim::epochs>,
    variant<ticket, std::uint64_t, reclaim::hazard_pointers>,
    variant<ticket, std::uint64_t, reclaim::none>,
    variant<ticket, std::string, reclaim::hazard_pointers>, variant<ticket, moody, reclaim::epochs>,
    variant<ticket, moody, reclaim::hazard_pointers>, variant<ticket, moody, retires_once>>;

template <class Variant>
class search_tree : public trees_test::fixture<Variant> {};
TYPED_TEST_SUITE(search_tree, variants);

TYPED_TEST(search_tree, does_what_std_map_does) {
  using K = typename TypeParam::K;
  using V = typename TypeParam::V;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 draw(seed);
  for (const std::uint64_t keys : {1U, 2U, 3U, 8U, 200U}) {
    typename TypeParam::map map;
    auto handle = map.attach();
    std::map<std::uint64_t, std::uint64_t> model;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t key = draw() % keys;
      const std::uint64_t value = draw() % 1000;
      switch (draw() % 4) {
        case 0:
          ASSERT_EQ(this->insert(handle, key, value), model.emplace(key, value).second);
          break;
        case 1:
          ASSERT_EQ(handle.erase(made_of<K>(key)), model.erase(key) == 1);
          break;
        case 2: {
          const std::optional<V> found = handle.find(made_of<K>(key));
          const auto held = model.find(key);
          ASSERT_EQ(found.has_value(), held != model.end());
          if (found) {
            ASSERT_EQ(number_of(*found), held->second);
          }
          break;
        }
        default:
          ASSERT_EQ(handle.contains(made_of<K>(key)), model.contains(key));
      }
      if (i % 50 == 0) this->expect_sound(map, model);
    }
    this->expect_sound(map, model);
    map.clear();
    this->expect_sound(map, {});
    EXPECT_TRUE(this->insert(handle, 1, 2));
    this->expect_sound(map, {{1, 2}});
  }
}

// Threads do random operations on keys that they share, or that are each thread's own, and what
// they were answered must add up to what is there in the end.
template <class Map, class K, class V>
void stress(std::uint64_t keys, bool shared, std::map<std::uint64_t, std::int64_t>& balance,
            Map& map) {
  constexpr unsigned threads = 8;
  const int operations = 40'000 / slowdown;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<std::map<std::uint64_t, std::int64_t>> balances(threads);
  in_threads(threads, [&](unsigned self) {
    std::mt19937_64 draw(seed + self);
    auto handle = map.attach();
    for (int i = 0; i < operations; ++i) {
      const std::uint64_t key = shared ? draw() % keys : draw() % keys * threads + self;
      auto& mine = balances[self][key];
      switch (draw() % 5) {
        case 0:
        case 1:
          if (handle.insert(made_of<K>(key), made_of<V>(key))) {
            ++mine;
          } else if (!shared) {
            EXPECT_EQ(mine, 1);
          }
          break;
        case 2:
        case 3:
          if (handle.erase(made_of<K>(key))) {
            --mine;
          } else if (!shared) {
            EXPECT_EQ(mine, 0);
          }
          break;
        default:
          if (const auto found = handle.find(made_of<K>(key))) {
            EXPECT_EQ(number_of(*found), key);
          }
          if (!shared) {
            EXPECT_EQ(handle.contains(made_of<K>(key)), mine == 1);
          }
      }
    }
  });
  for (const auto& each : balances) {
    for (const auto& [key, net] : each) balance[key] += net;
  }
}

TYPED_TEST(search_tree, answers_threads_that_share_keys_as_the_last_walk_says) {
  for (const std::uint64_t keys : {3U, 16U, 1000U}) {
    typename TypeParam::map map;
    std::map<std::uint64_t, std::int64_t> balance;
    stress<typename TypeParam::map, typename TypeParam::K, typename TypeParam::V>(keys, true,
                                                                                  balance, map);
    std::map<std::uint64_t, std::uint64_t> expected;
    for (const auto& [key, net] : balance) {
      ASSERT_TRUE(net == 0 || net == 1) << key;
      if (net == 1) expected.emplace(key, key);
    }
    this->expect_sound(map, expected);
  }
}

TYPED_TEST(search_tree, answers_threads_with_keys_of_their_own_as_if_alone) {
  typename TypeParam::map map;
  std::map<std::uint64_t, std::int64_t> balance;
  stress<typename TypeParam::map, typename TypeParam::K, typename TypeParam::V>(20, false, balance,
                                                                                map);
  std::map<std::uint64_t, std::uint64_t> expected;
  for (const auto& [key, net] : balance) {
    if (net == 1) expected.emplace(key, key);
  }
  this->expect_sound(map, expected);
}

// Neighbours are erased at the same time, over and over, which makes chains.
TYPED_TEST(search_tree, lets_neighbours_be_erased_by_many_threads) {
  constexpr unsigned threads = 8;
  typename TypeParam::map map;
  for (int round = 0; round < 400 / slowdown; ++round) {
    {
      auto handle = map.attach();
      for (std::uint64_t key = 0; key < 8ULL * threads; ++key) {
        ASSERT_TRUE(this->insert(handle, key, key));
      }
    }
    std::atomic<unsigned> ready{0};
    in_threads(threads, [&](unsigned self) {
      auto handle = map.attach();
      ++ready;
      while (ready < threads) std::this_thread::yield();
      for (std::uint64_t i = 0; i < 8; ++i) {
        EXPECT_TRUE(handle.erase(made_of<typename TypeParam::K>(i * threads + self)));
      }
    });
    this->expect_sound(map, {});
  }
}

// --- keys ---------------------------------------------------------------------------------------

template <class Map, class K>
void holds_all(const std::vector<K>& ascending) {
  Map map;
  auto handle = map.attach();
  for (const K& key : ascending) EXPECT_TRUE(handle.insert(key, 1));
  std::vector<K> walked;
  map.for_each([&](const K& key, int) { walked.push_back(key); });
  EXPECT_EQ(walked, ascending);
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
  for (const K& key : ascending) EXPECT_TRUE(handle.erase(key));
  for (const K& key : ascending) EXPECT_FALSE(handle.contains(key));
}

TEST(search_trees, need_no_key_for_themselves) {
  const std::vector<std::uint64_t> whole{0, 1, std::numeric_limits<std::uint64_t>::max() - 1,
                                         std::numeric_limits<std::uint64_t>::max()};
  const std::vector<int> integers{std::numeric_limits<int>::min(), -1, 0,
                                  std::numeric_limits<int>::max()};
  const std::vector<std::string> texts{"", std::string(1, '\0'), "a", std::string(100, '\xff')};
  holds_all<natarajan_mittal_bst<std::uint64_t, int>>(whole);
  holds_all<natarajan_mittal_bst<int, int>>(integers);
  holds_all<natarajan_mittal_bst<std::string, int>>(texts);
  holds_all<ticket_bst<std::uint64_t, int>>(whole);
  holds_all<ticket_bst<int, int>>(integers);
  holds_all<ticket_bst<std::string, int>>(texts);
}

// Internal nodes on the way of a search, which passes a point at each.
thread_local std::uint64_t steps = 0;

template <class Map>
void be_as_deep_as_promised() {
  constexpr std::uint64_t number = 10'000;
  std::vector<std::uint64_t> keys(number);
  std::iota(keys.begin(), keys.end(), 0);
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
  Map map;
  auto handle = map.attach();
  for (const std::uint64_t key : keys) handle.insert(key, 0);
  steps = 0;
  sync::at_points = [](const char* point) {
    steps += std::string_view(point).ends_with("_search_step") ? 1U : 0U;
  };
  for (const std::uint64_t key : keys) EXPECT_TRUE(handle.contains(key));
  sync::at_points = nullptr;
  // Two times the harmonic number less 1, as in random binary search trees (Knuth, The Art of
  // Computer Programming, 6.2.2); among orders it has a standard deviation of 0.65.
  EXPECT_NEAR(static_cast<double>(steps) / number, 2 * std::log(number) - 0.85, 2);
}

TEST(search_trees, are_as_deep_as_promised_after_a_random_order) {
  be_as_deep_as_promised<natarajan_mittal_bst<std::uint64_t, int>>();
  be_as_deep_as_promised<ticket_bst<std::uint64_t, int>>();
}

TEST(search_trees, take_any_order) {
  struct by_last_digit {
    explicit by_last_digit(int modulus_) : modulus(modulus_) {}
    bool operator()(int a, int b) const { return a % modulus < b % modulus; }
    int modulus;
  };
  const auto try_out = [](auto& map) {
    auto handle = map.attach();
    EXPECT_TRUE(handle.insert(21, 1));
    EXPECT_TRUE(handle.insert(13, 2));
    EXPECT_FALSE(handle.insert(31, 3));
    EXPECT_EQ(handle.find(11), std::optional(1));
    std::vector<int> walked;
    map.for_each([&](int key, int) { walked.push_back(key); });
    EXPECT_THAT(walked, ::testing::ElementsAre(21, 13));
  };
  natarajan_mittal_bst<int, int, reclaim::epochs, by_last_digit> one(by_last_digit(10));
  ticket_bst<int, int, reclaim::epochs, by_last_digit> other(by_last_digit(10));
  try_out(one);
  try_out(other);
}

// --- threads that stop --------------------------------------------------------------------------

class stopped_threads : public ::testing::Test {
 protected:
  void SetUp() override { sync::at_points = &stop_if_planned; }
  void TearDown() override {
    sync::at_points = nullptr;
    EXPECT_EQ(moody::alive, alive_);
  }

 private:
  const std::int64_t alive_ = moody::alive;
};

// All of it is retired at once, or owned by what is.
void remove_a_chain_of(std::uint64_t length) {
  {
    natarajan_mittal_bst<moody, moody, retires_once> map;
    const auto seen = trees_test::remove_chain(map, length);
    EXPECT_TRUE(seen.all_succeeded);
    EXPECT_EQ(seen.fault_after_first, std::nullopt);
    const std::uint64_t retired = std::min(2 * length, std::uint64_t{reclaim::retires_per_guard});
    EXPECT_EQ(seen.unfreed_after_first, retired);
    EXPECT_EQ(seen.unfreed_after_all, retired);
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
}

TEST_F(stopped_threads, leave_a_chain_that_is_retired_whole) {
  for (const std::uint64_t length : {1U, 2U, 7U}) remove_a_chain_of(length);
}

// More than a guard can retire.
TEST_F(stopped_threads, leave_a_chain_too_long_to_be_retired_one_by_one) {
  for (const std::uint64_t length : {127U, 128U, 129U, 140U}) remove_a_chain_of(length);
}

// In whatever step of an erase a thread stops, others finish it, or pass it by.
TEST_F(stopped_threads, hold_nobody_up_in_the_lock_free_tree) {
  for (const auto* const point :
       {"natarajan_mittal_erase_before_flag", "natarajan_mittal_erase_after_flag",
        "natarajan_mittal_splice_before_tag", "natarajan_mittal_splice_before_swing",
        "natarajan_mittal_splice_after_swing"}) {
    for (const std::uint64_t size : {1U, 2U, 3U, 10U}) {
      SCOPED_TRACE(std::string(point) + " among " + std::to_string(size));
      using map_type = natarajan_mittal_bst<moody, moody, retires_once>;
      map_type map;
      auto handle = map.attach();
      for (std::uint64_t key = 0; key < size; ++key) handle.insert(moody(key), moody(key));
      stopped_eraser eraser(map, size / 2, point);
      for (std::uint64_t key = 0; key < size; ++key) {
        static_cast<void>(handle.find(moody(key)));
        EXPECT_TRUE(handle.insert(moody(100 + key), moody(key)));
        if (key != size / 2) {
          EXPECT_TRUE(handle.erase(moody(key)));
        }
      }
      handle.erase(moody(size / 2));
      EXPECT_FALSE(handle.contains(moody(size / 2)));
      // It may have been overtaken before it marked anything.
      if (!eraser.finish()) {
        EXPECT_EQ(point, std::string("natarajan_mittal_erase_before_flag"));
      }
      EXPECT_EQ(map.broken_invariant(), std::nullopt);
    }
  }
}

// What a thread does because of others is counted where it records.
TEST_F(stopped_threads, are_helped_and_that_is_counted) {
  probed::natarajan_mittal_bst<moody, moody> map;
  auto handle = map.attach();
  handle.insert(moody(0), moody(0));
  stopped_eraser eraser(map, 0, "natarajan_mittal_erase_after_flag");
  std::vector<probe::block> blocks;
  probe::begin_recording();
  EXPECT_TRUE(handle.insert(moody(1), moody(1)));
  EXPECT_TRUE(handle.insert(moody(2), moody(2)));
  blocks.push_back(probe::end_recording());
  EXPECT_TRUE(eraser.finish());
  const auto reports = probe::report(blocks);
  const auto sum = [&](std::string_view name) {
    return std::ranges::find(reports, name, &probe::recorded::name)->sum;
  };
  EXPECT_EQ(sum("natarajan_mittal_helps"), 1);
  EXPECT_EQ(sum("natarajan_mittal_restarts"), 1);
}

TEST(ticket_tree, counts_that_an_update_began_again) {
  using map_type = probed::ticket_bst<int, int>;
  static map_type* meanwhile = nullptr;
  map_type map;
  meanwhile = &map;
  auto handle = map.attach();
  handle.insert(1, 1);
  sync::at_points = [](const char* point) {
    if (meanwhile == nullptr || std::string_view(point) != "ticket_bst_insert_before_lock") return;
    std::exchange(meanwhile, nullptr)->attach().insert(3, 3);
  };
  std::vector<probe::block> blocks;
  probe::begin_recording();
  EXPECT_TRUE(handle.insert(2, 2));
  EXPECT_FALSE(handle.insert(2, 2));
  blocks.push_back(probe::end_recording());
  sync::at_points = nullptr;
  const auto reports = probe::report(blocks);
  EXPECT_EQ(std::ranges::find(reports, "ticket_bst_restarts", &probe::recorded::name)->sum, 1);
}

// Neither do they hold up searches of the other tree, nor updates elsewhere.
template <class Reclaim>
void search_past_a_stopped_eraser() {
  for (const auto* const point : {"ticket_bst_erase_before_lock", "ticket_bst_erase_locked",
                                  "ticket_bst_erase_before_unlock"}) {
    using map_type = ticket_bst<moody, moody, Reclaim>;
    map_type map;
    auto handle = map.attach();
    for (std::uint64_t key = 0; key < 20; ++key) handle.insert(moody(key * 7 % 20), moody(key));
    stopped_eraser eraser(map, 9, point);
    for (std::uint64_t key = 0; key < 20; ++key) {
      if (key != 9) {
        EXPECT_TRUE(handle.contains(moody(key))) << point;
      }
    }
    // 0, 7 and 14 came first: 17 and 18 are far from 9.
    EXPECT_TRUE(handle.erase(moody(18)));
    EXPECT_TRUE(handle.insert(moody(18), moody(1)));
    EXPECT_TRUE(eraser.finish());
    EXPECT_FALSE(handle.contains(moody(9)));
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
}

TEST_F(stopped_threads, hold_up_no_search_of_the_ticket_tree) {
  search_past_a_stopped_eraser<reclaim::epochs>();
  search_past_a_stopped_eraser<reclaim::hazard_pointers>();
}

// --- handles ------------------------------------------------------------------------------------

// Something to be done in the middle of a call; not again within itself.
struct interruption {
  std::function<void()> call;
  bool inside = false;

  void operator()() {
    if (!call || inside) return;
    inside = true;
    call();
    inside = false;
  }
};
struct less_that_calls {
  interruption* other;
  bool operator()(int a, int b) const {
    (*other)();
    return a < b;
  }
};

template <class Map>
void destroy_by_another_thread() {
  Map map;
  std::optional<typename Map::handle> handle;
  std::thread([&] {
    handle.emplace(map.attach());
    EXPECT_TRUE(handle->insert(1, 1));
    EXPECT_TRUE(handle->insert(2, 2));
    EXPECT_TRUE(handle->erase(1));
  }).join();
  handle.reset();
  auto mine = map.attach();
  EXPECT_TRUE(mine.contains(2));
  map.clear();
  EXPECT_EQ(map.unfreed(), 0U);
}
TEST(handles, may_be_destroyed_by_a_thread_that_knows_that_they_are_done) {
  destroy_by_another_thread<natarajan_mittal_bst<int, int>>();
  destroy_by_another_thread<ticket_bst<int, int>>();
  destroy_by_another_thread<ticket_bst<int, int, reclaim::hazard_pointers>>();
}

// A comparison may call the map, by another handle.
template <template <class, class, class, class> class Tree, class Reclaim>
void call_from_a_comparison() {
  interruption other_call;
  Tree<int, int, Reclaim, less_that_calls> map(less_that_calls{&other_call});
  auto handle = map.attach();
  auto other = map.attach();
  int calls = 0;
  other_call.call = [&] {
    // Not an update each time, which could keep the call that it interrupts from ever succeeding.
    EXPECT_EQ(other.insert(100, 0), calls == 0);
    ++calls;
  };
  for (int key = 0; key < 20; ++key) EXPECT_TRUE(handle.insert(key, key));
  for (int key = 0; key < 20; ++key) EXPECT_TRUE(handle.erase(key));
  EXPECT_GT(calls, 100);
}
template <class K, class V, class Reclaim, class Compare>
using lock_free_tree = natarajan_mittal_bst<K, V, Reclaim, Compare>;
TEST(handles, may_be_used_by_comparisons_made_for_another) {
  call_from_a_comparison<lock_free_tree, reclaim::epochs>();
  call_from_a_comparison<ticket_bst, reclaim::epochs>();
  call_from_a_comparison<ticket_bst, reclaim::hazard_pointers>();
}

#if ASSAY_CHECKS
template <class Map>
void misuse() {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Map map;
        auto handle = map.attach();
        std::thread([&] { static_cast<void>(handle.find(1)); }).join();
      },
      "by another thread");
  EXPECT_DEATH(
      {
        Map map;
        auto handle = map.attach();
        const auto taken = std::move(handle);
        // What is tested.
        static_cast<void>(handle.find(1));  // NOLINT(bugprone-use-after-move,clang-analyzer-*)
      },
      "moved from");
  EXPECT_DEATH(
      {
        auto map = std::make_unique<Map>();
        const auto handle = map->attach();
        map.reset();
      },
      "before its handles");
}
TEST(misuse_of_search_trees_death, is_caught) {
  misuse<natarajan_mittal_bst<int, int>>();
  misuse<ticket_bst<int, int>>();
  misuse<ticket_bst<int, int, reclaim::hazard_pointers>>();
}

struct value_that_calls {
  explicit value_that_calls(interruption& other_) : other(&other_) {}
  value_that_calls(const value_that_calls& copied) : other(copied.other) { (*other)(); }
  value_that_calls& operator=(const value_that_calls&) = delete;
  ~value_that_calls() = default;
  interruption* other;
};

template <class Map>
void use_within_a_call_of_its_own() {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto call = [](const auto& outer, bool from_copy) {
    interruption of_comparisons;
    interruption of_copies;
    Map map(less_that_calls{&of_comparisons});
    auto handle = map.attach();
    handle.insert(1, value_that_calls(of_copies));
    (from_copy ? of_copies : of_comparisons).call = [&handle] {
      static_cast<void>(handle.contains(1));
    };
    outer(handle);
  };
  const auto find = [](auto& handle) { static_cast<void>(handle.find(1)); };
  const auto contains = [](auto& handle) { static_cast<void>(handle.contains(1)); };
  const auto erase = [](auto& handle) { handle.erase(1); };
  constexpr const char* message = "called from within a call to it";
  EXPECT_DEATH(call(contains, false), message);
  EXPECT_DEATH(call(find, false), message);
  EXPECT_DEATH(call(erase, false), message);
  EXPECT_DEATH(call(find, true), message);
}
TEST(misuse_of_search_trees_death, within_a_call_is_caught) {
  use_within_a_call_of_its_own<
      natarajan_mittal_bst<int, value_that_calls, reclaim::epochs, less_that_calls>>();
  use_within_a_call_of_its_own<
      ticket_bst<int, value_that_calls, reclaim::epochs, less_that_calls>>();
  use_within_a_call_of_its_own<
      ticket_bst<int, value_that_calls, reclaim::hazard_pointers, less_that_calls>>();
}
#endif

// --- parts --------------------------------------------------------------------------------------

struct plain_internal {
  plain_internal(int key_, external_tree::edge left, external_tree::edge right)
      : key(key_), child{left, right} {}
  const int key;
  std::array<external_tree::atomic_edge, 2> child;
};
using plain_leaf = external_tree::leaf<int, int>;

external_tree::edge leaf_of(int key) { return external_tree::edge_to(new plain_leaf{key, 0}); }
external_tree::edge fork_of(int key, external_tree::edge left, external_tree::edge right) {
  return external_tree::edge_to(new plain_internal(key, left, right));
}

std::optional<std::string> fault_of(external_tree::edge root) {
  struct none_more {
    const char* operator()(external_tree::edge to) const {
      return (to & 1) != 0 ? "is odd" : nullptr;
    }
    const char* operator()(const plain_internal& node) const {
      return node.key == 13 ? "has an unlucky key" : nullptr;
    }
  };
  auto fault =
      external_tree::broken_order<plain_leaf, plain_internal>(root, std::less<int>{}, none_more{});
  external_tree::delete_all<plain_leaf, plain_internal>(root);
  return fault;
}

TEST(external_trees, are_checked_when_at_rest) {
  EXPECT_EQ(fault_of(0), std::nullopt);
  EXPECT_EQ(fault_of(leaf_of(3)), std::nullopt);
  EXPECT_EQ(fault_of(fork_of(5, leaf_of(3), fork_of(7, leaf_of(5), leaf_of(7)))), std::nullopt);
  EXPECT_EQ(fault_of(fork_of(5, leaf_of(5), leaf_of(7))),
            "a leaf's key is too large for its place");
  EXPECT_EQ(fault_of(fork_of(5, leaf_of(3), leaf_of(4))),
            "a leaf's key is too small for its place");
  EXPECT_EQ(fault_of(fork_of(5, fork_of(6, leaf_of(1), leaf_of(2)), leaf_of(7))),
            "an internal key is too large for its place");
  EXPECT_EQ(fault_of(fork_of(5, leaf_of(1), fork_of(4, leaf_of(6), leaf_of(7)))),
            "an internal key is too small for its place");
  EXPECT_EQ(fault_of(leaf_of(3) | 1), "an edge is odd");
  EXPECT_EQ(fault_of(fork_of(13, leaf_of(3), leaf_of(14))), "an internal node has an unlucky key");
}

// However deep: neither calls nor memory for each level.
TEST(external_trees, are_deleted_without_memory) {
  external_tree::edge root = leaf_of(0);
  for (int key = 1; key < 200'000; ++key) {
    root = key % 2 == 0 ? fork_of(key, root, leaf_of(key)) : fork_of(key, leaf_of(key), root);
  }
  allocations.fail_after(0);
  external_tree::delete_all<plain_leaf, plain_internal>(root);
  allocations.never_fail();
}

TEST(version_locks, are_taken_at_the_version_that_was_seen) {
  for (const std::size_t side : {0U, 1U}) {
    sync::version_locks locks;
    const auto seen = locks.read();
    EXPECT_FALSE(sync::version_locks::is_any_taken(seen));
    EXPECT_TRUE(locks.try_lock(side, seen));
    EXPECT_TRUE(sync::version_locks::is_taken(locks.read(), side));
    EXPECT_FALSE(sync::version_locks::is_taken(locks.read(), 1 - side));
    EXPECT_FALSE(locks.try_lock(side, seen));
    EXPECT_FALSE(locks.try_retire(seen));
    EXPECT_TRUE(locks.try_lock(1 - side, seen)) << "the other lock is another lock";
    locks.unlock_unchanged(1 - side);
    locks.unlock(side);
    EXPECT_FALSE(sync::version_locks::is_any_taken(locks.read()));
    EXPECT_FALSE(locks.try_lock(side, seen));
    EXPECT_TRUE(locks.try_lock(1 - side, seen)) << "nothing was changed under it";
    locks.unlock(1 - side);
    EXPECT_TRUE(locks.try_retire(locks.read()));
    EXPECT_TRUE(sync::version_locks::is_retired(locks.read()));
    EXPECT_TRUE(sync::version_locks::is_taken(locks.read(), 0));
    EXPECT_TRUE(sync::version_locks::is_taken(locks.read(), 1));
  }
}

TEST(version_locks, begin_anew_without_touching_each_other) {
  constexpr sync::version_locks::state last_versions = 0xffff'fffe'ffff'fffe;
  for (const std::size_t side : {0U, 1U}) {
    sync::version_locks locks(last_versions);
    ASSERT_TRUE(locks.try_lock(side, last_versions));
    locks.unlock(side);
    EXPECT_EQ(locks.read(), side == 0 ? 0xffff'fffe'0000'0000 : 0x0000'0000'ffff'fffe);
  }
}

}  // namespace
}  // namespace assay
