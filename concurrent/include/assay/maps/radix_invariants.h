// Whether a tree of radix_tree.h at rest is as it should be, and its size.

#ifndef ASSAY_MAPS_RADIX_INVARIANTS_H_
#define ASSAY_MAPS_RADIX_INVARIANTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/maps/bt_inline_vector.h"
#include "assay/maps/radix_key.h"
#include "assay/maps/radix_node.h"
#include "assay/maps/radix_tree.h"
#include "assay/maps/shape.h"

namespace assay::radix::inline ASSAY_ABI {

// Looks at a tree at rest.
template <class Tree>
class checking {
  using K = typename Tree::key_type;
  using types = typename Tree::types;
  using node_lock = typename Tree::node_lock;
  using words = typename Tree::words;
  using entry = typename Tree::entry;
  using leaf = typename Tree::leaf;
  using inner = typename Tree::inner;
  using edge = typename Tree::edge;
  using bound = typename Tree::bound;
  using keys = typename Tree::keys;
  using label = typename Tree::label;

 public:
  explicit checking(const Tree& tree) : tree_(tree) {}

  // Checks all nodes: not by recursion, as the ways of byte strings may be too long for that.
  [[nodiscard]] const char* broken(edge top) {
    to_do_ = {{top, std::nullopt, std::nullopt, nullptr}};
    while (!to_do_.empty()) {
      const part at = to_do_.back();
      to_do_.pop_back();
      const char* const fault =
          types::is_leaf(at.to) ? broken_leaf(at.to, at.below, at.upto) : broken_inner(at);
      if (fault != nullptr) return fault;
    }
    return nullptr;
  }

 private:
  const char* broken_leaf(edge to, const std::optional<bound>& below,
                          const std::optional<bound>& upto) {
    const leaf& node = *types::leaf_at(to);
    if (!node_lock::is_free(node.lock.read())) return "a leaf is locked or obsolete";
    if (types::is_direct(to) != node.is_direct()) return "an edge and its leaf are of two kinds";
    const std::size_t most = node.is_direct() ? types::most_in_leaf : Tree::leaf_capacity;
    if (most < 64 && (node.places() >> most) != 0)
      return "a leaf uses places that it does not have";
    bt::inline_vector<entry, Tree::most_in_leaf> met;
    Tree::collect(node, met);
    for (const entry& each : met) {
      const K& key = words::key(each.key);
      if ((below && Tree::is_before(key, *below)) || (upto && !Tree::is_before(key, *upto))) {
        return "a leaf's key is in the wrong place";
      }
    }
    if constexpr (types::has_fingerprints) {
      for (std::size_t i = 0; i < Tree::leaf_capacity && !node.is_direct(); ++i) {
        if ((node.places() >> i) % 2 == 1 &&
            node.bytes()[i].load(memory_order_relaxed) !=
                leaf::fingerprint(leaf::hash_of_word(node.at(i).key))) {
          return "a fingerprint is wrong";
        }
      }
    }
    std::sort(met.begin(), met.end(), tree_.by_key());
    for (std::size_t i = 1; i < met.size(); ++i) {
      if (!tree_.less(words::key(met[i - 1].key), words::key(met[i].key))) {
        return "a key is there twice";
      }
    }
    return nullptr;
  }

  // A node whose keys are not before `below` but before `upto`, and whose parent has the label
  // `above`.
  struct part {
    edge to;
    std::optional<bound> below;
    std::optional<bound> upto;
    const label* above;
  };
  struct child {
    edge to;
    int digit;  // its least
  };
  const char* broken_inner(const part& at) {
    const inner& node = *types::inner_at(at.to);
    const label& begins = node.keys_begin;
    if (!node_lock::is_free(node.lock.read())) return "an inner node is locked or obsolete";
    if (at.above != nullptr && begins.depth() <= at.above->depth()) {
      return "an inner node looks at a digit that one above it has looked at";
    }
    std::vector<child> children;
    Tree::for_each_child(at.to, [&](int digit, edge each) { children.push_back({each, digit}); });
    if (children.size() != node.size()) return "an inner node has other children than it counts";
    if (children.size() < 2) return "an inner node has fewer than 2 children";
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (i > 0 && children[i].digit <= children[i - 1].digit) return "digits do not ascend";
      if (Tree::template edge_of<Tree::set::scalar>(at.to, node, children[i].digit) !=
          children[i].to) {
        return "a digit leads to another child than the one that begins with it";
      }
      const bool is_last = i + 1 == children.size();
      to_do_.push_back(
          {children[i].to, i == 0 ? at.below : std::optional(begins.before(children[i].digit)),
           is_last ? at.upto : std::optional(begins.before(children[i + 1].digit)), &begins});
    }
    return nullptr;
  }

  std::vector<part> to_do_;
  const Tree& tree_;
};

// What is wrong with it, if anything is.
template <class Tree>
[[nodiscard]] std::optional<std::string> broken_invariant(const Tree& tree) {
  if (!Tree::node_lock::is_free(tree.root_lock.read())) return "the root is locked";
  const char* const fault = checking<Tree>(tree).broken(tree.root.load(memory_order_acquire));
  if (fault == nullptr) return std::nullopt;
  return fault;
}

template <class Tree>
[[nodiscard]] shape shape_of(const Tree& tree) {
  using types = typename Tree::types;
  using words = typename Tree::words;
  using edge = typename Tree::edge;
  using memory = typename Tree::memory;

  shape_sum sum;
  struct part {
    edge to;
    std::uint64_t depth;
  };
  std::vector<part> to_do{{tree.root.load(memory_order_acquire), 1}};
  while (!to_do.empty()) {
    const auto [to, depth] = to_do.back();
    to_do.pop_back();
    if (types::is_leaf(to)) {
      sum.add_node(memory::template bytes_of<typename Tree::leaf>);
      typename Tree::template entries<Tree::most_in_leaf> held;
      Tree::collect(*types::leaf_at(to), held);
      sum.add_elements(held.size(), depth);
      for (const typename Tree::entry& each : held) {
        if constexpr (!words::has_key) {
          sum.add_bytes(memory::template bytes_of<typename words::record_type>);
          sum.add_owned(each.key->key);
          sum.add_owned(each.key->value);
        } else if constexpr (words::has_box) {
          sum.add_bytes(memory::template bytes_of<typename words::box_type>);
          sum.add_owned(each.value->value);
        }
      }
    } else {
      types::as_it_is(to, [&]<class Node>(const Node& /*node*/) {
        sum.add_node(memory::template bytes_of<Node>);
      });
      types::inner_at(to)->keys_begin.add_bytes_to(sum);
      Tree::for_each_child(to, [&, depth = depth](int /*digit*/, edge child) {
        to_do.push_back({child, depth + 1});
      });
    }
  }
  return sum.sum();
}

}  // namespace assay::radix::inline ASSAY_ABI

#endif  // ASSAY_MAPS_RADIX_INVARIANTS_H_
