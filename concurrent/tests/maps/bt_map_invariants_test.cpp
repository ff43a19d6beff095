// What broken_invariant() says of trees that are damaged by hand: one message for each fault.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/atomics.h"
#include "assay/maps/bt_invariants.h"
#include "assay/maps/bt_load.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/bt_tree.h"
#include "assay/maps/radix_invariants.h"
#include "assay/maps/radix_load.h"
#include "assay/maps/radix_map.h"
#include "assay/maps/radix_tree.h"

namespace assay {
namespace {

using number = std::uint64_t;

// Damages a tree, and mends it again.
using change = std::function<void()>;

// Locks it, and unlocks it as it was.
template <class Node>
std::pair<change, change> lock(Node& node) {
  return {[&node] { ASSERT_TRUE(node.lock.try_lock(node.lock.read())); },
          [&node] { node.lock.unlock_unchanged(); }};
}
// Gives an atomic another value, and then the one that it had.
template <class T>
std::pair<change, change> set(atomic<T>& word, std::type_identity_t<T> to) {
  const T before = word.load(memory_order_relaxed);
  return {[&word, to] { word.store(to, memory_order_relaxed); },
          [&word, before] { word.store(before, memory_order_relaxed); }};
}
// Puts an element where there is none.
template <class Leaf, class Entry>
std::pair<change, change> put(Leaf& node, const Entry& added, number hash) {
  const number before = node.places();
  return {[&node, added, hash] { node.put_new(node.places(), added, hash); },
          [&node, before] { node.used.store(before, memory_order_relaxed); }};
}

template <class Tree, class Broken>
void expect(const Tree& tree, const Broken& broken, const char* message,
            const std::pair<change, change>& damage) {
  ASSERT_EQ(broken(tree), std::nullopt);
  damage.first();
  EXPECT_EQ(broken(tree), message);
  damage.second();
  ASSERT_EQ(broken(tree), std::nullopt);
}

// --- bt_map -------------------------------------------------------------------------------------

struct small_nodes : bt_policies<number> {
  static constexpr std::size_t leaf_capacity = 6;
  static constexpr std::size_t internal_capacity = 6;
};
struct small_nodes_of_strings : bt_policies<std::string> {
  static constexpr std::size_t leaf_capacity = 6;
  static constexpr std::size_t internal_capacity = 6;
};

TEST(invariants_of_bt_map, have_a_message_each) {
  using tree_type = bt::tree<number, number, small_nodes>;
  using types = tree_type::types;
  tree_type tree({}, {});
  std::vector<std::pair<number, number>> all;
  for (number key = 0; key < 100; ++key) all.emplace_back(key * 10, 1);
  bt::load_sorted(tree, all.begin(), all.end());
  const auto expect_message = [&](const char* message, const std::pair<change, change>& damage) {
    expect(tree, [](const tree_type& of) { return bt::broken_invariant(of); }, message, damage);
  };
  auto& top = *types::internal_at(tree.root.load(memory_order_relaxed));
  ASSERT_FALSE(types::is_leaf(top.child(0)));
  auto& node = *types::internal_at(top.child(0));
  ASSERT_TRUE(types::is_leaf(node.child(0)));
  auto& leaf = *types::leaf_at(node.child(0));
  const auto first = leaf.at(0);
  const auto hash_of = [](number key) { return bt::hash_of(key); };

  expect_message("the root is locked",
                 {[&] { ASSERT_TRUE(tree.root_lock.try_lock(tree.root_lock.read())); },
                  [&] { tree.root_lock.unlock_unchanged(); }});
  expect_message("a leaf is locked or obsolete", lock(leaf));
  expect_message("leaves are not equally deep", set(top.children[0], node.child(0)));
  expect_message("a leaf uses places that it does not have",
                 set(leaf.used, leaf.places() | UINT64_C(1) << 6U));
  expect_message("a leaf's key is in the wrong place",
                 put(leaf, tree_type::entry{995, 1}, hash_of(995)));
  expect_message("a fingerprint is wrong", put(leaf, tree_type::entry{1, 1}, hash_of(1) + 1));
  expect_message("a key is there twice", put(leaf, first, hash_of(first.key)));
  expect_message("an internal node is locked or obsolete", lock(node));
  expect_message("an internal node has fewer than 2 children", set(top.count, 1));
  expect_message("an internal node has more children than room", set(top.count, 7));
  ASSERT_LT(top.size(), 6U);
  expect_message("an unused separator is not the greatest key", set(top.keys[4], 5));
  expect_message("separators do not ascend", set(node.keys[1], node.key(0)));
}

TEST(invariants_of_bt_map, count_the_owners_of_records) {
  using tree_type = bt::tree<std::string, number, small_nodes_of_strings>;
  tree_type tree({}, {});
  std::vector<std::pair<std::string, number>> all;
  for (char key = 'a'; key < 'z'; ++key) all.emplace_back(std::string(1, key), 1);
  bt::load_sorted(tree, all.begin(), all.end());
  auto& top = *tree_type::types::internal_at(tree.root.load(memory_order_relaxed));
  auto& owners = top.key(0)->owners;
  expect(
      tree, [](const tree_type& of) { return bt::broken_invariant(of); },
      "a record's owners are not as many as lead to it",
      set(owners, owners.load(memory_order_relaxed) + 1));
}

// --- radix_map ----------------------------------------------------------------------------------

TEST(invariants_of_radix_map, have_a_message_each) {
  using tree_type = radix::tree<number, number, radix_policies<number>>;
  using types = tree_type::types;
  using narrow = tree_type::narrow;
  // One node, with as many leaves of 30 elements.
  const auto load = [](tree_type& tree, number leaves, number far) {
    std::vector<std::pair<number, number>> all;
    for (number i = 0; i < leaves; ++i) {
      for (number key = 0; key < 30; ++key) all.emplace_back(i * far + key * 1000, 1);
    }
    radix::load_sorted(tree, all.begin(), all.end());
  };
  tree_type tree({}, {});
  load(tree, 5, UINT64_C(1) << 24U);
  const auto expect_message = [&](const char* message, const std::pair<change, change>& damage) {
    expect(tree, [](const tree_type& of) { return radix::broken_invariant(of); }, message, damage);
  };
  const auto top = tree.root.load(memory_order_relaxed);
  ASSERT_TRUE(!types::is_leaf(top) && types::is_narrow(top));
  auto& node = static_cast<narrow&>(*types::inner_at(top));
  ASSERT_TRUE(types::is_leaf(node.child(0)) && node.size() >= 4);
  auto& leaf = *types::leaf_at(node.child(0));
  ASSERT_FALSE(leaf.is_direct());
  const auto first = leaf.at(0);
  const auto hash_of = [](number key) { return bt::hash_of(key); };

  expect_message("the root is locked",
                 {[&] { ASSERT_TRUE(tree.root_lock.try_lock(tree.root_lock.read())); },
                  [&] { tree.root_lock.unlock_unchanged(); }});
  expect_message("a leaf is locked or obsolete", lock(leaf));
  expect_message("an edge and its leaf are of two kinds",
                 set(node.children[0], node.child(0) | types::direct_mark));
  expect_message("a leaf uses places that it does not have",
                 set(leaf.used, leaf.places() | UINT64_C(1) << 63U));
  expect_message("a leaf's key is in the wrong place",
                 put(leaf, tree_type::entry{~number{0}, 1}, hash_of(~number{0})));
  expect_message("a fingerprint is wrong", put(leaf, tree_type::entry{1, 1}, hash_of(1) + 1));
  expect_message("a key is there twice", put(leaf, first, hash_of(first.key)));
  expect_message("an inner node is locked or obsolete", lock(node));
  expect_message("an inner node has fewer than 2 children", set(node.count, 1));
  const auto leads_elsewhere = set(node.begins[0], 1023);
  expect_message("a digit leads to another child than the one that begins with it",
                 leads_elsewhere);
  // Such that each but the last one of two that do not ascend leads where it should.
  const auto before_the_last = set(node.begins[2], 3);
  expect_message("digits do not ascend", {[&] {
                                            leads_elsewhere.first();
                                            before_the_last.first();
                                          },
                                          [&] {
                                            leads_elsewhere.second();
                                            before_the_last.second();
                                          }});
  narrow same{node.keys_begin};
  for (const std::size_t child : {0U, 1U}) same.append(node.digit_of(child), node.child(child));
  expect_message("an inner node looks at a digit that one above it has looked at",
                 set(node.children[0], types::edge_to(&same)));

  tree_type many({}, {});
  load(many, 40, UINT64_C(1) << 24U);
  const auto wide = many.root.load(memory_order_relaxed);
  ASSERT_TRUE(!types::is_leaf(wide) && !types::is_narrow(wide));
  auto& count = types::inner_at(wide)->count;
  expect(
      many, [](const tree_type& of) { return radix::broken_invariant(of); },
      "an inner node has other children than it counts",
      set(count, count.load(memory_order_relaxed) + 1));
}

}  // namespace
}  // namespace assay
