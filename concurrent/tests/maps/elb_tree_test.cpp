// ELB-trees used by one thread: what they answer, what they refuse, and what their walk finds.
// Compiled with marked points, so that two threads can be stopped in the middle of an insert.

#include "assay/maps/elb_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "assay/maps/elb_entry.h"
#include "assay/maps/elb_multimap.h"
#include "assay/maps/elb_priority_queue.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"
#include "tests/maps/elb_test_variants.h"

namespace assay {

// Breaks trees, so that it is known what broken_invariant() tells.
struct elb_damage {
  using tree = elb_tree<std::uint64_t, reclaim::hazard_pointers, elb_nodes<6>>;
  using internal = tree::internal;
  using leaf = tree::leaf;

  explicit elb_damage(tree& broken) : broken_(broken) {}
  internal& above() { return broken_.above_; }
  internal& root() { return below(above(), 0); }
  static internal& below(internal& node, std::size_t i) {
    return *static_cast<internal*>(node.child(i));
  }
  static leaf& leaf_below(internal& node, std::size_t i) {
    return *static_cast<leaf*>(node.child(i));
  }

  // What is told while `place` holds something else.
  template <class Place, class Value>
  std::string problem_after(Place& place, Value value) {
    const auto kept = value_of(place);
    set(place, value);
    const auto problem = broken_.broken_invariant();
    set(place, kept);
    return problem.value_or("nothing");
  }

 private:
  template <class T>
  static T value_of(const T& place) {
    return place;
  }
  template <class T>
  static T value_of(const atomic<T>& place) {
    return place.load();
  }
  static std::uint64_t value_of(const elb::place<std::uint64_t>& place) { return place.load(); }
  template <class T, class Value>
  static void set(T& place, Value value) {
    if constexpr (requires { place.set(value); }) {
      place.set(value);
    } else {
      place = value;
    }
  }

  tree& broken_;
};

namespace {

using elb_test::number;
using elb_test::per_key;
using elb_test::slowdown;
using elb_test::variant;
using ::testing::ElementsAre;

// --- as a set -----------------------------------------------------------------------------------

class elb_variant : public ::testing::TestWithParam<variant> {};
INSTANTIATE_TEST_SUITE_P(all, elb_variant, ::testing::ValuesIn(elb_test::all_variants()),
                         [](const auto& of) { return of.param.name; });

// A set and a model of it.
class compared {
 public:
  explicit compared(const variant& of) : of_(of), set_(of.make()), handle_(set_->attach()) {}

  void insert(number entry) {
    if (model_.insert(entry).second) handle_->insert(entry);
  }
  void search(number lo, number hi) {
    const auto found = handle_->search(lo, hi);
    ASSERT_EQ(found.has_value(), first(lo, hi).has_value()) << lo << " to " << hi;
    if (found) {
      ASSERT_TRUE(lo <= *found && *found <= hi && model_.contains(*found)) << *found;
    }
  }
  void erase(number lo, number hi) {
    const auto expected = first(lo, hi);
    ASSERT_EQ(handle_->erase(lo, hi), expected) << lo << " to " << hi;
    if (expected) model_.erase(*expected);
  }
  void erase_near(number lo, number hi) {
    const auto erased = handle_->erase_near(lo, hi);
    ASSERT_EQ(erased.has_value(), first(lo, hi).has_value()) << lo << " to " << hi;
    if (!erased) return;
    ASSERT_TRUE(lo <= *erased && *erased <= hi && model_.contains(*erased)) << *erased;
    const auto lower = std::distance(model_.lower_bound(lo), model_.find(*erased));
    ASSERT_LE(static_cast<std::size_t>(lower), of_.left_by_near);
    model_.erase(*erased);
  }
  void visit(number lo, number hi) {
    std::vector<number> expected;
    if (lo <= hi) expected.assign(model_.lower_bound(lo), model_.upper_bound(hi));
    ASSERT_EQ(handle_->visit(lo, hi), expected) << lo << " to " << hi;
  }
  void expect_sound() {
    ASSERT_EQ(set_->walk(), std::vector<number>(model_.begin(), model_.end()));
    ASSERT_EQ(set_->broken_invariant(), std::nullopt);
  }

 private:
  std::optional<number> first(number lo, number hi) const {
    const auto at = model_.lower_bound(lo);
    return at == model_.end() || *at > hi ? std::nullopt : std::optional(*at);
  }

  const variant& of_;
  std::unique_ptr<elb_test::number_set> set_;
  std::unique_ptr<elb_test::number_handle> handle_;
  std::set<number> model_;
};

TEST_P(elb_variant, does_what_std_set_does) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 draw(seed);
  const elb_test::ranges asked = GetParam().asked;
  for (const number keys : {number{1}, number{4}, number{300}}) {
    compared both(GetParam());
    constexpr int operations = 6000 / slowdown;
    for (int i = 0; i < operations && !HasFatalFailure(); ++i) {
      const bool grows = i / (operations / 6) % 2 == 0;
      const number entry = draw() % keys * per_key + draw() % 16;
      // One entry, one key, from a key on, or between two keys, of which the first may be above the
      // second.
      const number key = entry / per_key * per_key;
      std::pair<number, number> range{key, key + per_key - 1};
      const auto shape = draw() % 4;
      if (shape == 0) range = {entry, entry};
      if (shape == 1 && asked != elb_test::ranges::of_keys) range.second = elb_test::greatest;
      if (shape == 2 && asked == elb_test::ranges::any) range.second = draw() % keys * per_key + 7;
      if (asked == elb_test::ranges::all) range = {0, elb_test::greatest};
      const auto [lo, hi] = range;
      const auto kind = draw() % 8;
      if (kind < (grows ? 4U : 1U)) {
        both.insert(entry);
      } else if (kind < 5) {
        both.erase(lo, asked == elb_test::ranges::of_keys && shape == 1 ? elb_test::greatest : hi);
      } else if (kind == 5) {
        both.erase_near(lo, hi);
      } else if (asked != elb_test::ranges::all) {
        if (kind == 6) both.search(lo, hi);
        if (kind == 7) both.visit(key, key + per_key - 1);
        if (kind == 7 && asked == elb_test::ranges::any) both.visit(lo, hi);
      }
      if (i % 50 == 0) both.expect_sound();
    }
    if (!HasFatalFailure()) both.expect_sound();
  }
}

TEST_P(elb_variant, takes_entries_in_order_and_in_reverse) {
  for (const bool ascends : {true, false}) {
    compared both(GetParam());
    constexpr number most = 2000 / slowdown;
    for (number i = 0; i < most; ++i) both.insert((ascends ? i : most - i) % most * per_key);
    both.expect_sound();
    for (number i = 0; i < most; ++i) {
      if (GetParam().asked == elb_test::ranges::all) {
        both.erase(0, elb_test::greatest);
      } else {
        both.erase(i * per_key, i * per_key + 1);
      }
    }
    both.expect_sound();
  }
}

// Over many estimates. A single one is only as good as the nodes are alike.
TEST_P(elb_variant, estimates_its_size_rightly_on_the_average) {
  const auto set = GetParam().make();
  const auto handle = set->attach();
  EXPECT_EQ(handle->approximate_size(), 0U);
  std::mt19937_64 draw(1);
  std::set<number> entries;
  for (const std::size_t size : {std::size_t{3}, std::size_t{500}}) {
    while (entries.size() < size) {
      const number entry = draw() % 1000 * per_key + entries.size();
      if (entries.insert(entry).second) handle->insert(entry);
    }
    constexpr int times = 200;
    double sum = 0;
    for (int i = 0; i < times; ++i) sum += static_cast<double>(handle->approximate_size());
    // It was within 0.5%.
    EXPECT_NEAR(sum / times, static_cast<double>(size), 0.05 * static_cast<double>(size));
  }
}

// --- extremes -----------------------------------------------------------------------------------

template <class Entry>
using small_tree = elb_tree<Entry, reclaim::hazard_pointers, elb_nodes<6>>;

template <class Entry>
std::vector<Entry> walked(const small_tree<Entry>& tree) {
  std::vector<Entry> met;
  tree.for_each([&](Entry entry) { met.push_back(entry); });
  return met;
}

// What is in `beyond` lies above them all and is not an entry.
template <class Entry>
void expect_holds_extremes(const std::vector<Entry>& ascending, const std::vector<Entry>& beyond) {
  small_tree<Entry> tree;
  auto handle = tree.attach();
  for (const Entry& entry : ascending) handle.insert(entry);
  for (const Entry& none : beyond) EXPECT_THROW(handle.insert(none), std::out_of_range);
  EXPECT_TRUE(walked(tree) == ascending);
  EXPECT_EQ(tree.broken_invariant(), std::nullopt);
  const auto visited = [&](Entry lo, Entry hi) {
    std::vector<Entry> met;
    handle.visit(lo, hi, [&](Entry entry) { met.push_back(entry); });
    return met;
  };
  const Entry lowest = ascending.front();
  const Entry greatest = ascending.back();
  for (const Entry& entry : ascending) {
    EXPECT_TRUE(handle.search(entry, entry) == entry);
    EXPECT_TRUE(visited(entry, entry) == std::vector{entry});
  }
  for (const Entry& none : beyond) {
    // Nothing from there on, and all up to there.
    EXPECT_TRUE(handle.search(none, beyond.back()) == std::nullopt);
    EXPECT_TRUE(handle.erase(none, beyond.back()) == std::nullopt);
    EXPECT_TRUE(handle.erase_near(none, none) == std::nullopt);
    EXPECT_TRUE(visited(none, none).empty());
    EXPECT_TRUE(handle.search(greatest, none) == greatest);
    EXPECT_TRUE(visited(lowest, none) == ascending);
    EXPECT_TRUE(handle.erase(none, lowest) == std::nullopt);
  }
  EXPECT_TRUE(handle.search(greatest, lowest) == std::nullopt);
  EXPECT_TRUE(handle.erase(greatest, lowest) == std::nullopt);
  EXPECT_TRUE(handle.erase_near(greatest, lowest) == std::nullopt);
  EXPECT_TRUE(visited(greatest, lowest).empty());
  for (const Entry& entry : ascending) EXPECT_TRUE(handle.erase(lowest, greatest) == entry);
  EXPECT_TRUE(handle.erase(lowest, greatest) == std::nullopt);
}

TEST(elb_tree, holds_the_first_and_the_last_entries_and_no_others) {
  const std::uint64_t greatest = (std::uint64_t{1} << 63) - 2;
  expect_holds_extremes<std::uint64_t>(
      {0, 1, 2, 3, 100, 1000, greatest - 3, greatest - 2, greatest - 1, greatest},
      {greatest + 1, greatest + 2, UINT64_MAX});
  const elb::wide widest = (elb::wide{1} << 127) - 2;
  expect_holds_extremes<elb::wide>(
      {0, 1, 2, UINT64_MAX, elb::wide{1} << 64, widest - 2, widest - 1, widest},
      {widest + 1, ~elb::wide{0}});
  using limits = std::numeric_limits<std::int32_t>;
  using packed = elb::element<std::int32_t, std::uint32_t, 32, 31>;
  constexpr std::uint32_t most = 0x7fff'ffff;
  expect_holds_extremes<packed>({{limits::min(), 0},
                                 {limits::min(), most},
                                 {-1, most},
                                 {0, 0},
                                 {0, 1},
                                 {limits::max(), 0},
                                 {limits::max(), most - 1}},
                                {{limits::max(), most}});
}

TEST(elb_tree, lets_visits_end_by_an_exception) {
  small_tree<std::uint64_t> tree;
  auto handle = tree.attach();
  for (std::uint64_t entry = 0; entry < 100; ++entry) handle.insert(entry);
  std::uint64_t seen = 0;
  const auto stop_at_forty = [&](std::uint64_t) {
    if (++seen == 40) throw std::runtime_error("enough");
  };
  EXPECT_THROW(handle.visit(10, 90, stop_at_forty), std::runtime_error);
  seen = 0;
  EXPECT_THROW(tree.for_each(stop_at_forty), std::runtime_error);
  EXPECT_EQ(seen, 40U);
  EXPECT_EQ(handle.erase(0, 100), 0U);
  EXPECT_EQ(tree.broken_invariant(), std::nullopt);
}

// --- the multimap -------------------------------------------------------------------------------

TEST(elb_multimap, holds_several_values_of_a_key) {
  elb_multimap<std::int32_t, std::uint32_t, reclaim::hazard_pointers, elb_nodes<6>> map;
  auto handle = map.attach();
  const auto values_of = [&](std::int32_t key) {
    std::vector<std::uint32_t> met;
    handle.visit(key, [&](std::uint32_t value) { met.push_back(value); });
    return met;
  };
  for (std::uint32_t value = 0; value < 20; ++value) {
    handle.insert(7, value * 13 % 20);
    handle.insert(-7, value);
  }
  EXPECT_FALSE(handle.contains(6));
  EXPECT_EQ(handle.find(8), std::nullopt);
  EXPECT_TRUE(handle.contains(7));
  EXPECT_TRUE(handle.contains(7, 19));
  EXPECT_FALSE(handle.contains(7, 20));
  EXPECT_LT(handle.find(7), 20U);
  EXPECT_EQ(values_of(7).size(), 20U);
  EXPECT_EQ(handle.erase(7), 0U);
  EXPECT_TRUE(handle.erase(7, 5));
  EXPECT_FALSE(handle.erase(7, 5));
  EXPECT_EQ(handle.erase(8), std::nullopt);
  EXPECT_EQ(handle.erase_from(-6), std::pair(7, 1U));
  EXPECT_EQ(handle.erase_from(-100), std::pair(-7, 0U));
  EXPECT_EQ(handle.erase_from(8), std::nullopt);
  for (std::uint32_t value : {2U, 3U, 4U, 6U}) EXPECT_EQ(handle.erase(7), value);
  EXPECT_THAT(values_of(7), ElementsAre(7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19));
  std::vector<std::pair<std::int32_t, std::uint32_t>> all;
  map.for_each([&](std::int32_t key, std::uint32_t value) { all.emplace_back(key, value); });
  EXPECT_EQ(all.size(), 32U);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

struct listing_5_3 : elb_nodes<6> {
  static constexpr unsigned key_bits = 31;
  static constexpr unsigned value_bits = 32;
};
TEST(elb_multimap, keeps_the_greatest_key_apart_from_what_is_beyond_it) {
  elb_multimap<std::uint32_t, std::uint32_t, reclaim::hazard_pointers, listing_5_3> map;
  auto handle = map.attach();
  constexpr std::uint32_t key = 0x7fff'ffff;
  handle.insert(key, UINT32_MAX - 1);
  EXPECT_THROW(handle.insert(key, UINT32_MAX), std::out_of_range);
  EXPECT_THROW(handle.insert(key + 1, 0), std::out_of_range);
  EXPECT_THROW(handle.find(key + 1), std::out_of_range);
  EXPECT_FALSE(handle.contains(key, UINT32_MAX));
  EXPECT_FALSE(handle.erase(key, UINT32_MAX));
  EXPECT_EQ(handle.find(key), UINT32_MAX - 1);
  EXPECT_EQ(handle.erase_from(0), std::pair(key, UINT32_MAX - 1));
}

TEST(elb_multimap, refuses_a_pair_that_is_there) {
  elb_multimap<std::uint32_t, std::uint32_t, reclaim::hazard_pointers, elb_nodes<6>> map;
  auto handle = map.attach();
  EXPECT_TRUE(map.empty());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t i = 0; i < 400; ++i) pairs.emplace_back(i % 6, i % 60 / 6);
  EXPECT_EQ(handle.insert_range(pairs.begin(), pairs.begin() + 200), 60U);
  EXPECT_EQ(handle.insert_range(pairs.begin() + 200, pairs.end()), 0U);
  EXPECT_FALSE(handle.insert(5, 9));
  EXPECT_EQ(map.size(), 60U);
  std::size_t erased = 0;
  while (handle.erase_from(0)) ++erased;
  EXPECT_EQ(erased, 60U);
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(handle.insert(5, 9));
}

TEST(elb_multimap, is_cleared_and_used_again) {
  elb_multimap<std::uint32_t, std::uint32_t, reclaim::hazard_pointers, elb_nodes<6>> map;
  auto handle = map.attach();
  for (const std::uint32_t size : {0U, 1U, 500U}) {
    for (std::uint32_t i = 0; i < size; ++i) handle.insert(i, i);
    EXPECT_EQ(map.size(), size);
    map.clear();
    EXPECT_TRUE(map.empty());
    EXPECT_EQ(handle.erase_from(0), std::nullopt);
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
}

// The seventh entry splits a leaf: that and its parent are retired, and reclaim::none frees
// neither.
TEST(elb_tree, tells_how_many_nodes_wait) {
  elb_tree<std::uint64_t, reclaim::none, elb_nodes<6>> tree;
  elb_multimap<std::uint32_t, std::uint32_t, reclaim::none, elb_nodes<6>> map;
  elb_priority_queue<std::uint32_t, std::less<>, reclaim::none, elb_nodes<6>> queue;
  auto in_tree = tree.attach();
  auto in_map = map.attach();
  auto in_queue = queue.attach();
  const auto add = [&](std::uint32_t entry) {
    in_tree.insert(entry);
    in_map.insert(entry, 0);
    in_queue.push(entry);
    return std::tuple(tree.unfreed(), map.unfreed(), queue.unfreed());
  };
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(add(i), std::tuple(0U, 0U, 0U));
  EXPECT_EQ(add(6), std::tuple(2U, 2U, 2U));
}

// --- what is wrong ------------------------------------------------------------------------------

// Holds a thread up where it has found a place for its entry.
struct gate {
  std::binary_semaphore reached{0};
  std::binary_semaphore open{0};
};
thread_local gate* before_exchange = nullptr;
void wait_at_gate(const char* point) {
  if (std::string_view(point) != "elb_insert_before_exchange") return;
  if (gate* const here = std::exchange(before_exchange, nullptr)) {
    here->reached.release();
    here->open.acquire();
  }
}

// Two threads insert 3: the other one has found a place, and waits, when this one frees the place
// of 9, which comes before, and inserts.
template <class Insert>
void insert_by_two(small_tree<std::uint64_t>& tree, const Insert& insert) {
  auto mine = tree.attach();
  mine.insert(9);
  sync::at_points = &wait_at_gate;
  gate held_up;
  std::thread other([&] {
    auto handle = tree.attach();
    before_exchange = &held_up;
    insert(handle);
  });
  held_up.reached.acquire();
  mine.erase(9, 9);
  insert(mine);
  held_up.open.release();
  other.join();
  sync::at_points = nullptr;
}

void insert_new_3(small_tree<std::uint64_t>::handle& handle) { handle.insert_new(3); }

// The other one has the claim when this one needs it.
TEST(elb_tree, inserts_an_entry_once_though_an_insert_of_it_is_stopped) {
  small_tree<std::uint64_t> tree;
  std::atomic<int> added{0};
  insert_by_two(tree, [&](auto& handle) { added += handle.insert(3) ? 1 : 0; });
  EXPECT_EQ(added, 1);
  EXPECT_THAT(walked(tree), ElementsAre(3));
  EXPECT_EQ(tree.broken_invariant(), std::nullopt);
}

TEST(elb_tree, tells_of_an_entry_that_is_there_twice) {
  small_tree<std::uint64_t> tree;
  insert_by_two(tree, insert_new_3);
  EXPECT_EQ(tree.broken_invariant(), "an entry is in a leaf twice");
}

TEST(elb_tree_death_test, of_an_insert_of_what_is_there) {
  if (!misuse::checks) GTEST_SKIP() << "this build checks nothing";
  small_tree<std::uint64_t> tree;
  auto handle = tree.attach();
  handle.insert_new(3);
  EXPECT_DEATH(handle.insert_new(3),
               "assay: an entry .* is inserted into an elb_tree that it is already in");
}

TEST(elb_tree_death_test, of_two_inserts_at_the_same_time_when_their_leaf_is_balanced) {
  if (!misuse::checks) GTEST_SKIP() << "this build checks nothing";
  small_tree<std::uint64_t> tree;
  insert_by_two(tree, insert_new_3);
  auto handle = tree.attach();
  const auto fill = [&] {
    for (std::uint64_t entry = 10; entry < 16; ++entry) handle.insert(entry);
  };
  EXPECT_DEATH(fill(), "assay: an entry .* is inserted into an elb_tree that it is already in");
}

TEST(elb_tree, tells_of_every_damage) {
  small_tree<std::uint64_t> tree;
  auto handle = tree.attach();
  for (std::uint64_t entry = 0; entry < 200; ++entry) handle.insert(entry);
  ASSERT_EQ(tree.broken_invariant(), std::nullopt);

  elb_damage damage(tree);
  auto& above = damage.above();
  auto& root = damage.root();
  ASSERT_GE(root.height, 3U);
  auto& internal = elb_damage::below(root, 0);
  auto* lowest = &internal;
  while (lowest->height > 1) lowest = &elb_damage::below(*lowest, 0);
  auto& damaged_leaf = elb_damage::leaf_below(*lowest, 1);
  auto& places = damaged_leaf.places;

  EXPECT_EQ(damage.problem_after(above.size, 2U), "the fake root does not have one child");
  EXPECT_EQ(damage.problem_after(above.status, 2U), "the root's balancing is unfinished");
  elb_damage::internal flat(0, 0);
  EXPECT_EQ(damage.problem_after(above.children[0], &flat), "the real root is a leaf");
  EXPECT_EQ(damage.problem_after(root.status, 2U), "a balancing is unfinished");
  EXPECT_EQ(damage.problem_after(internal.status, 3U), "a balancing is unfinished");
  EXPECT_EQ(damage.problem_after(internal.size, 0U), "an internal node has no child");
  EXPECT_EQ(damage.problem_after(internal.size, 7U), "an internal node is too large");
  EXPECT_EQ(damage.problem_after(root.separators[0], 0U), "separators do not ascend");
  EXPECT_EQ(damage.problem_after(internal.separators[internal.size - 1],
                                 internal.separators[internal.size - 1] + 1),
            "the last separator is not the parent's");
  EXPECT_EQ(damage.problem_after(root.children[1], root.child(0)),
            "an internal node has two parents");
  EXPECT_EQ(damage.problem_after(lowest->children[1], lowest->child(0)), "a leaf has two parents");
  EXPECT_EQ(damage.problem_after(root.children[0], internal.child(0)),
            "the leaves are not all at the same depth");

  // Places that are free and used.
  const auto free = std::ranges::find_if(places, [](auto& each) { return each.load() == 0; });
  const auto used = std::ranges::find_if(places, [](auto& each) { return each.load() != 0; });
  ASSERT_TRUE(free != places.end() && used != places.end());
  EXPECT_EQ(damage.problem_after(*free, used->load()), "an entry is in a leaf twice");
  EXPECT_EQ(damage.problem_after(damaged_leaf.claims, 1U), "an insert into a leaf is unfinished");
  EXPECT_EQ(damage.problem_after(damaged_leaf.wish, 1U), "an insert into a leaf is unfinished");
  EXPECT_EQ(damage.problem_after(*free, elb::read_only<std::uint64_t>),
            "a place of a leaf is read-only");
  EXPECT_EQ(damage.problem_after(*free, lowest->separators[0]),
            "an entry is in a leaf where it does not belong");
  EXPECT_EQ(damage.problem_after(*free, lowest->separators[1] + 1),
            "an entry is in a leaf where it does not belong");
  EXPECT_EQ(tree.broken_invariant(), std::nullopt);
}

// A root and a leaf, which is 32 places of 8 bytes and a line for its claims, and a full leaf is
// split.
TEST(elb_shape, of_known_trees) {
  elb_tree<std::uint64_t> tree;
  auto handle = tree.attach();
  EXPECT_EQ(tree.shape().nodes, 2U);
  EXPECT_EQ(tree.shape().max_depth, std::nullopt);
  for (std::uint64_t entry = 1; entry <= 20; ++entry) handle.insert(entry);
  EXPECT_EQ(tree.shape().nodes, 2U);
  EXPECT_EQ(tree.shape().max_depth, 2U);
  EXPECT_EQ(tree.shape().mean_depth, 2.0);
  constexpr std::uint64_t bytes_of_internal = 576;  // two words for each of 32 children, and a line
  EXPECT_EQ(tree.shape().bytes, 320 + bytes_of_internal);
  for (std::uint64_t entry = 21; entry <= 40; ++entry) handle.insert(entry);
  EXPECT_EQ(tree.shape().nodes, 3U);
  EXPECT_EQ(tree.shape().bytes, std::uint64_t{2} * 320 + bytes_of_internal);
}

}  // namespace
}  // namespace assay
