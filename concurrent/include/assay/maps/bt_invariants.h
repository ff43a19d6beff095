// What can be said of a tree of bt_tree.h at rest: whether it is sound, and its shape.

#ifndef ASSAY_MAPS_BT_INVARIANTS_H_
#define ASSAY_MAPS_BT_INVARIANTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/maps/bt_inline_vector.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/shape.h"

namespace assay::bt::inline ASSAY_ABI {

// Looks at a tree at rest.
template <class Tree>
class checking {
  using K = typename Tree::key_type;
  using types = typename Tree::types;
  using node_lock = typename Tree::node_lock;
  using words = typename Tree::words;
  using key_word = typename Tree::key_word;
  using entry = typename Tree::entry;
  using leaf = typename Tree::leaf;
  using internal = typename Tree::internal;
  using edge = typename Tree::edge;

  static constexpr std::size_t leaf_capacity = Tree::leaf_capacity;
  static constexpr std::size_t internal_capacity = Tree::internal_capacity;

 public:
  explicit checking(const Tree& tree) : tree_(tree) {}

  // Checks the nodes below `to`, whose keys are above *below and at most *upto.
  [[nodiscard]] const char* broken(edge to, const K* below, const K* upto, std::size_t depth) {
    return types::is_leaf(to) ? broken_leaf(*types::leaf_at(to), below, upto, depth)
                              : broken_internal(*types::internal_at(to), below, upto, depth);
  }
  [[nodiscard]] const char* broken_owners() const {
    if constexpr (!words::has_key) {
      for (const auto& [word, owners] : owners_) {
        if (word->owners.load(memory_order_relaxed) != owners)
          return "a record's owners are not as many as lead to it";
      }
    }
    return nullptr;
  }

 private:
  const char* broken_leaf(const leaf& node, const K* below, const K* upto, std::size_t depth) {
    if (!node_lock::is_free(node.lock.read())) return "a leaf is locked or obsolete";
    if (leaves_depth_ == Tree::nowhere) leaves_depth_ = depth;
    if (depth != leaves_depth_) return "leaves are not equally deep";
    if ((node.places() & ~leaf::all) != 0) return "a leaf uses places that it does not have";
    inline_vector<entry, leaf_capacity> met;
    Tree::collect(node, met);
    for (const entry& each : met) {
      count(each.key);
      if (!is_between(words::key(each.key), below, upto))
        return "a leaf's key is in the wrong place";
    }
    if constexpr (types::has_fingerprints) {
      for (std::size_t i = 0; i < leaf_capacity; ++i) {
        if ((node.places() >> i) % 2 == 1 &&
            node.fingerprints[i].load(memory_order_relaxed) !=
                leaf::fingerprint(leaf::hash_of_word(node.at(i).key))) {
          return "a fingerprint is wrong";
        }
      }
    }
    std::sort(met.begin(), met.end(), tree_.by_key());
    for (std::size_t i = 1; i < met.size(); ++i) {
      if (!tree_.less(words::key(met[i - 1].key), words::key(met[i].key)))
        return "a key is there twice";
    }
    return nullptr;
  }

  const char* broken_internal(const internal& node, const K* below, const K* upto,
                              std::size_t depth) {
    if (!node_lock::is_free(node.lock.read())) return "an internal node is locked or obsolete";
    const std::size_t size = node.size();
    if (size < 2) return "an internal node has fewer than 2 children";
    if (size > internal_capacity) return "an internal node has more children than room";
    if constexpr (types::has_vectors) {
      for (std::size_t i = size - 1; i < internal::most_keys; ++i) {
        if (node.key(i) != std::numeric_limits<K>::max())
          return "an unused separator is not the greatest key";
      }
    }
    std::array<key_word, internal_capacity> keys;
    for (std::size_t i = 0; i + 1 < size; ++i) {
      keys[i] = node.key(i);
      count(keys[i]);
      if (!is_between(words::key(keys[i]), i == 0 ? below : &words::key(keys[i - 1]), upto))
        return "separators do not ascend";
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (const char* const fault =
              broken(node.child(i), i == 0 ? below : &words::key(keys[i - 1]),
                     i + 1 == size ? upto : &words::key(keys[i]), depth + 1)) {
        return fault;
      }
    }
    return nullptr;
  }

  [[nodiscard]] bool is_between(const K& key, const K* below, const K* upto) const {
    return (below == nullptr || tree_.less(*below, key)) &&
           (upto == nullptr || !tree_.less(*upto, key));
  }
  void count(const key_word& word) {
    if constexpr (!words::has_key) {
      ++owners_[word];
    } else {
      static_cast<void>(word);
    }
  }

  const Tree& tree_;
  std::size_t leaves_depth_ = Tree::nowhere;
  [[no_unique_address]] std::conditional_t<words::has_key, nothing,
                                           std::unordered_map<key_word, std::uint32_t>> owners_;
};

// What is wrong with it, if anything is.
template <class Tree>
[[nodiscard]] std::optional<std::string> broken_invariant(const Tree& tree) {
  if (!Tree::node_lock::is_free(tree.root_lock.read())) return "the root is locked";
  checking<Tree> check(tree);
  const char* fault = check.broken(tree.root.load(memory_order_acquire), nullptr, nullptr, 0);
  if (fault == nullptr) fault = check.broken_owners();
  if (fault == nullptr) return std::nullopt;
  return fault;
}

template <class Tree>
[[nodiscard]] shape shape_of(const Tree& tree) {
  using types = typename Tree::types;
  using words = typename Tree::words;
  using leaf = typename Tree::leaf;
  using internal = typename Tree::internal;
  using edge = typename Tree::edge;
  using memory = typename Tree::memory;

  shape_sum sum;
  // Records may also have separators as owners.
  std::unordered_set<const void*> met;  // NOLINT(misc-const-correctness): with a key in the word
  const auto add_key = [&](const typename Tree::key_word& word) {
    if constexpr (!words::has_key) {
      if (!met.insert(word).second) return;
      sum.add_bytes(memory::template bytes_of<typename words::record_type>);
      sum.add_owned(word->key);
      sum.add_owned(word->value);
    } else {
      static_cast<void>(word);
    }
  };
  struct part {
    edge to;
    std::uint64_t depth;
  };
  std::vector<part> to_do{{tree.root.load(memory_order_acquire), 1}};
  while (!to_do.empty()) {
    const auto [to, depth] = to_do.back();
    to_do.pop_back();
    if (types::is_leaf(to)) {
      sum.add_node(memory::template bytes_of<leaf>);
      typename Tree::template entries<Tree::leaf_capacity> held;
      Tree::collect(*types::leaf_at(to), held);
      sum.add_elements(held.size(), depth);
      for (const typename Tree::entry& each : held) {
        add_key(each.key);
        if constexpr (words::has_box) {
          sum.add_bytes(memory::template bytes_of<typename words::box_type>);
          sum.add_owned(each.value->value);
        }
      }
    } else {
      const internal& node = *types::internal_at(to);
      sum.add_node(memory::template bytes_of<internal>);
      for (std::size_t i = 0; i < node.size(); ++i) {
        if (i > 0) add_key(node.key(i - 1));
        to_do.push_back({node.child(i), depth + 1});
      }
    }
  }
  return sum.sum();
}

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_INVARIANTS_H_
