// How a tree of bt_tree.h stays balanced: from the root down, nodes that are full are split, those
// that are nearly empty are joined with their sibling. bt_tree.h says why that is right.

#ifndef ASSAY_MAPS_BT_BALANCE_H_
#define ASSAY_MAPS_BT_BALANCE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/instruction_set.h"
#include "assay/base/point.h"
#include "assay/maps/bt_inline_vector.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"

namespace assay::bt::inline ASSAY_ABI {

// What a thread balances a tree with. It has the nodes that the next step may need, from one step
// to the other. Belongs to one thread, which is pinned in its calls.
template <class Tree>
class balancer {
  using K = typename Tree::key_type;
  using types = typename Tree::types;
  using node_lock = typename Tree::node_lock;
  using version = typename Tree::version;
  using words = typename Tree::words;
  using key_word = typename Tree::key_word;
  using entry = typename Tree::entry;
  using leaf = typename Tree::leaf;
  using internal = typename Tree::internal;
  using edge = typename Tree::edge;
  using memory = typename Tree::memory;
  using guard_type = typename Tree::guard_type;
  using synchronisation = typename Tree::synchronisation;
  using section = typename Tree::section;
  using layout = typename Tree::layout;
  using set = host::instruction_set;

  static constexpr std::size_t leaf_capacity = Tree::leaf_capacity;
  static constexpr std::size_t internal_capacity = Tree::internal_capacity;

 public:
  // For an insert: no leaf that is full. For an erase: none that is nearly empty.
  enum class reason : std::uint8_t { room, fill };

  // Nodes with fewer are joined with a sibling. In the thesis, that is fewer than 3
  // (section 5.2.1): if 5 in 6 of a million keys are erased, the others take 230 bytes each. They
  // take 47 if leaves are joined when less than a quarter full.
  static constexpr std::size_t least_elements =
      layout::keeps_leaves_full ? std::max<std::size_t>(leaf_capacity / 4, 3) : 3;

  explicit balancer(Tree& tree) : tree_(&tree) {}

  // Balances until there is room for that key, or its leaf is not nearly empty. Not inlined, so
  // that it stays out of the way of what is done all the time.
  [[gnu::noinline]] void balance(parameter<K> key, reason why, guard_type& guard) {
    for (sync::backoff backoff;;) {
      ASSAY_POINT("bt_map_balance_begins");
      stock_.provide(memory(tree_->allocator));
      removed old;
      result got{};
      {
        const section in(tree_->shared);
        got = step(key, why, old);
      }
      old.retire(guard);
      if (got == result::nothing_to_do) return;
      if (got == result::lost) backoff.wait();
    }
  }

 private:
  enum class result : std::uint8_t { nothing_to_do, done, lost };

  static constexpr std::size_t least_children = 3;

  // Whether two siblings become one: then it takes as many updates as possible until the node has
  // to be balanced again (thesis, section 5.2.1).
  static constexpr bool fit_in_one(std::size_t size, std::size_t capacity) {
    return size <= 2 * (capacity + 2) / 3;
  }

  // A node on the way down, or the root's holder, which is none.
  struct level {
    node_lock* lock;
    version seen;
    internal* node;
    std::size_t child;  // the way goes on to

    [[nodiscard]] bool validate() const { return lock->validate(seen); }
  };

  // What balancing took out of the tree.
  struct removed {
    inline_vector<edge, 4> nodes;
    inline_vector<key_word, 1> separators;

    void retire(guard_type& guard) {
      for (const edge each : nodes) {
        if (types::is_leaf(each)) {
          Tree::retire(guard, types::leaf_at(each));
        } else {
          Tree::retire(guard, types::internal_at(each));
        }
      }
      for (const key_word& each : separators) Tree::retire_separator(guard, each);
    }
  };

  // One or two nodes that are to replace one or two children of a node.
  struct replacement {
    edge left;
    bool splits;         // into left and right
    key_word separator;  // of the two
    edge right;
    std::size_t first;  // child that is replaced
    bool joins;         // this and the next child are replaced
    std::array<node_lock*, 2> locks;
    std::array<version, 2> seen;
    std::array<edge, 2> old;
  };

  // The nodes that one step of balancing may need, made before it begins: so no memory is asked
  // for while others wait, and the new nodes' pages have been touched (guideline 2; the thesis
  // makes six, too). Three internal nodes are needed by a split below the root that replaces the
  // parent, two leaves by one of a leaf.
  class prepared_nodes {
   public:
    // Throws std::bad_alloc; what it has made by then stays.
    void provide(const memory& memory) {
      for (auto& each : leaves_) {
        if (!each) each.reset(memory.template make<leaf>());
      }
      for (auto& each : internals_) {
        if (!each) each.reset(memory.template make<internal>());
      }
    }

    [[nodiscard]] leaf& leaf_at(std::size_t i) { return *leaves_[i]; }
    [[nodiscard]] internal& internal_at(std::size_t i) { return *internals_[i]; }

    // They are now somebody else's.
    void use_leaf(std::size_t i) { static_cast<void>(leaves_[i].release()); }
    void use_internal(std::size_t i) { static_cast<void>(internals_[i].release()); }

   private:
    std::array<std::unique_ptr<leaf, typename memory::deleter>, 3> leaves_;
    std::array<std::unique_ptr<internal, typename memory::deleter>, 3> internals_;
  };

  // Looks at the nodes on the way to that key's leaf, from the root down, and balances the first
  // that needs it.
  [[nodiscard]] result step(parameter<K> key, reason why, removed& old) {
    level above{};
    level parent{&tree_->root_lock, tree_->root_lock.read(), nullptr, 0};
    if (!node_lock::is_free(parent.seen)) return result::lost;
    edge to = tree_->root.load(memory_order_acquire);
    for (;;) {
      ASSAY_POINT("bt_map_balance_step");
      if (!parent.validate()) return result::lost;  // (3)
      if (types::is_leaf(to)) {
        leaf& node = *types::leaf_at(to);
        const version seen = node.lock.read();
        if (!node_lock::is_free(seen)) return result::lost;
        const auto size = static_cast<std::size_t>(std::popcount(node.places()));
        if (why == reason::room && size == leaf_capacity) {
          return split(above, parent, node, seen, key, old);
        }
        if (why == reason::fill && size < least_elements && parent.node != nullptr) {
          return join<leaf>(above, parent, old);
        }
        return result::nothing_to_do;
      }
      internal& node = *types::internal_at(to);
      const version seen = node.lock.read();
      if (!node_lock::is_free(seen)) return result::lost;
      const std::size_t size = node.size();
      if (why == reason::room && size == internal_capacity) {
        return split(above, parent, node, seen, key, old);
      }
      if (why == reason::fill && size < least_children && parent.node != nullptr) {
        return join<internal>(above, parent, old);
      }
      above = parent;
      parent = {&node.lock, seen, &node, node.template child_of<set::scalar>(key, tree_->less)};
      to = node.child(parent.child);
    }
  }

  template <class Node>
  [[nodiscard]] result split(const level& above, const level& parent, Node& node, version seen,
                             parameter<K> key, removed& old) {
    ASSAY_POINT("bt_map_split_begins");
    contents<Node> all;
    all.add(node);
    if (all.size() < 2) return result::lost;  // read while it was being changed
    replacement change{.left = 0,
                       .splits = true,
                       .separator = {},
                       .right = 0,
                       .first = parent.child,
                       .joins = false,
                       .locks = {&node.lock, nullptr},
                       .seen = {seen, {}},
                       .old = {types::edge_to(&node), 0}};
    all.divide(*tree_, all.left_of_split(*tree_, key), stock_, change);
    return replace(above, parent, change, old);
  }

  // Joins the child of `parent` that the way goes on to, and its sibling.
  template <class Node>
  [[nodiscard]] result join(const level& above, const level& parent, removed& old) {
    const std::size_t size = parent.node->size();
    const std::size_t first = parent.child > 0 ? parent.child - 1 : 0;
    if (first + 1 >= size) return result::lost;  // read while it was being changed
    const std::array<edge, 2> at{parent.node->child(first), parent.node->child(first + 1)};
    const key_word separator = parent.node->key(first);
    if (!parent.validate()) return result::lost;  // (3)
    const std::array<Node*, 2> node{node_at<Node>(at[0]), node_at<Node>(at[1])};
    replacement change{.left = 0,
                       .splits = false,
                       .separator = {},
                       .right = 0,
                       .first = first,
                       .joins = true,
                       .locks = {&node[0]->lock, &node[1]->lock},
                       .seen = {node[0]->lock.read(), node[1]->lock.read()},
                       .old = at};
    if (!node_lock::is_free(change.seen[0]) || !node_lock::is_free(change.seen[1])) {
      return result::lost;
    }
    contents<Node> all;
    all.add(*node[0]);
    all.add_separator(separator);
    all.add(*node[1]);
    if (fit_in_one(all.size(), contents<Node>::capacity)) {
      all.unite(stock_, change);
    } else {
      change.splits = true;
      all.divide(*tree_, all.half(), stock_, change);
    }
    return replace(above, parent, change, old);
  }
  template <class Node>
  static Node* node_at(edge to) {
    if constexpr (std::is_same_v<Node, leaf>) {
      return types::leaf_at(to);
    } else {
      return types::internal_at(to);
    }
  }

  // What one or two nodes hold, as it was read of them: of leaves elements, of internal nodes
  // children and the separators between them.
  class contents_of_leaves {
   public:
    static constexpr std::size_t capacity = leaf_capacity;

    void add(const leaf& node) { Tree::collect(node, all_); }
    void add_separator(const key_word& /*between*/) {}
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    [[nodiscard]] std::size_t half() const { return (size() + 1) / 2; }
    // How many are to be in the left one of two where `key` is to be added: a half. But where it is
    // above all others or below, those after it may be as well (as in Abseil's B-trees).
    [[nodiscard]] std::size_t left_of_split(const Tree& tree, parameter<K> key) const {
      if constexpr (layout::keeps_leaves_full) {
        const std::size_t most = std::min(nearly_full(capacity), size() - 1);
        if (std::all_of(all_.begin(), all_.end(),
                        [&](const entry& each) { return tree.less(words::key(each.key), key); })) {
          return most;
        }
        if (std::all_of(all_.begin(), all_.end(),
                        [&](const entry& each) { return tree.less(key, words::key(each.key)); })) {
          return size() - most;
        }
      }
      return half();
    }

    void unite(prepared_nodes& stock, replacement& change) {
      fill(stock.leaf_at(0), all_.begin(), all_.end());
      change.left = types::edge_to(&stock.leaf_at(0));
    }
    // As an element of the left one is the separator, all in the right one are above it.
    void divide(const Tree& tree, std::size_t left, prepared_nodes& stock, replacement& change) {
      entry* const last_of_left = all_.begin() + left - 1;
      std::nth_element(all_.begin(), last_of_left, all_.end(), tree.by_key());
      fill(stock.leaf_at(0), all_.begin(), last_of_left + 1);
      fill(stock.leaf_at(1), last_of_left + 1, all_.end());
      change.left = types::edge_to(&stock.leaf_at(0));
      change.right = types::edge_to(&stock.leaf_at(1));
      change.separator = last_of_left->key;
    }

   private:
    static void fill(leaf& node, const entry* from, const entry* to) {
      node.used.store(0, memory_order_relaxed);
      for (; from != to; ++from) node.put(*from);
    }

    inline_vector<entry, 2 * leaf_capacity> all_;
  };

  class contents_of_internals {
   public:
    static constexpr std::size_t capacity = internal_capacity;

    void add(const internal& node) {
      // The size may be of another moment than the children: then this has no effect.
      const std::size_t size = std::min(node.size(), internal_capacity);
      for (std::size_t i = 0; i < size; ++i) {
        children_.push(node.child(i));
        if (i + 1 < size) keys_.push(node.key(i));
      }
    }
    void add_separator(const key_word& between) { keys_.push(between); }
    [[nodiscard]] std::size_t size() const { return children_.size(); }
    [[nodiscard]] std::size_t half() const { return (size() + 1) / 2; }
    [[nodiscard]] std::size_t left_of_split(const Tree& /*tree*/, parameter<K> /*key*/) const {
      return half();
    }

    void unite(prepared_nodes& stock, replacement& change) {
      fill(stock.internal_at(0), children_, keys_, 0, size());
      change.left = types::edge_to(&stock.internal_at(0));
    }
    void divide(const Tree& /*tree*/, std::size_t left, prepared_nodes& stock,
                replacement& change) {
      fill(stock.internal_at(0), children_, keys_, 0, left);
      fill(stock.internal_at(1), children_, keys_, left, size() - left);
      change.left = types::edge_to(&stock.internal_at(0));
      change.right = types::edge_to(&stock.internal_at(1));
      change.separator = keys_[left - 1];
    }

   private:
    inline_vector<edge, 2 * internal_capacity> children_;
    inline_vector<key_word, 2 * internal_capacity> keys_;
  };
  template <class Node>
  using contents =
      std::conditional_t<std::is_same_v<Node, leaf>, contents_of_leaves, contents_of_internals>;

  // Replaces the old nodes by the new ones if all old ones are as they were read. Says whether it
  // did. What the locks protect is written last and at once: nothing in between can fail.
  [[nodiscard]] result replace(const level& above, const level& parent, replacement& change,
                               removed& old) {
    constexpr bool makes_leaves_separators = !words::has_key;
    const bool is_root = parent.node == nullptr;
    // Where two children of the root become one, that is the root.
    const bool lowers =
        !is_root && above.node == nullptr && !change.splits && parent.node->size() == 2;
    const bool replaces_parent = !is_root && (synchronisation::replaces_parents || lowers);

    edge top = change.left;  // what the edge above it all leads to when it is done
    internal* made = nullptr;
    if (is_root && change.splits) {
      made = &stock_.internal_at(2);
      inline_vector<edge, internal_capacity> children;
      inline_vector<key_word, internal_capacity> keys;
      children.push(change.left);
      children.push(change.right);
      keys.push(change.separator);
      fill(*made, children, keys, 0, 2);
    } else if (replaces_parent && !lowers) {
      made = &stock_.internal_at(2);
      copy_with(*made, *parent.node, change);
    }
    if (made != nullptr) top = types::edge_to(made);

    struct taken {
      node_lock* lock;
      version seen;
    };
    inline_vector<taken, 4> locks;
    if (replaces_parent) locks.push({above.lock, above.seen});
    locks.push({parent.lock, parent.seen});
    locks.push({change.locks[0], change.seen[0]});
    if (change.joins) locks.push({change.locks[1], change.seen[1]});
    ASSAY_POINT("bt_map_balance_before_locks");
    for (std::size_t i = 0; i < locks.size(); ++i) {
      if (locks[i].lock->try_lock(locks[i].seen)) continue;
      while (i > 0) locks[--i].lock->unlock_unchanged();
      return result::lost;
    }
    ASSAY_POINT("bt_map_balance_locked");

    const bool of_leaves = types::is_leaf(change.left);
    if constexpr (makes_leaves_separators) {
      if (of_leaves) {
        if (change.splits) Tree::own_separator(change.separator);
        if (change.joins) old.separators.push(parent.node->key(change.first));
      }
    }
    if (is_root || replaces_parent) {
      const level& holder = is_root ? parent : above;
      if (holder.node == nullptr) {
        tree_->root.store(top, memory_order_release);  // (1) of bt_node.h
      } else {
        holder.node->set_child(holder.child, top);
      }
    } else {
      change_children(*parent.node, change);
    }
    if (made != nullptr) stock_.use_internal(2);
    if (of_leaves) {
      stock_.use_leaf(0);
      if (change.splits) stock_.use_leaf(1);
    } else {
      stock_.use_internal(0);
      if (change.splits) stock_.use_internal(1);
    }
    old.nodes.push(change.old[0]);
    if (change.joins) old.nodes.push(change.old[1]);
    if (replaces_parent) old.nodes.push(types::edge_to(parent.node));

    ASSAY_POINT("bt_map_balance_before_unlock");
    change.locks[0]->unlock_obsolete();
    if (change.joins) change.locks[1]->unlock_obsolete();
    if (replaces_parent) {
      parent.lock->unlock_obsolete();
      above.lock->unlock();
    } else {
      parent.lock->unlock();
    }
    return result::done;
  }

  static void change_children(internal& node, const replacement& change) {
    if (change.joins && change.splits) {
      node.set_child(change.first, change.left);
      node.set_key(change.first, change.separator);
      node.set_child(change.first + 1, change.right);
    } else if (change.splits) {
      node.split_child(change.first, change.left, change.separator, change.right);
    } else {
      node.join_children(change.first, change.left);
    }
  }

  // A node with these children, from `first` on, and the separators between them. Nobody else knows
  // it yet.
  static void fill(internal& node, const auto& children, const auto& keys, std::size_t first,
                   std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) node.set_child(i, children[first + i]);
    for (std::size_t i = 0; i < internal::most_keys; ++i) {
      if (i + 1 < size) {
        node.set_key(i, keys[first + i]);
      } else {
        node.clear_key(i);
      }
    }
    node.set_size(size);
  }
  static void copy_with(internal& made, const internal& node, const replacement& change) {
    const std::size_t size = node.size();
    for (std::size_t i = 0; i < size; ++i) made.set_child(i, node.child(i));
    for (std::size_t i = 0; i < internal::most_keys; ++i) {
      if (i + 1 < size) {
        made.set_key(i, node.key(i));
      } else {
        made.clear_key(i);
      }
    }
    made.set_size(size);
    change_children(made, change);
  }

  Tree* tree_;
  prepared_nodes stock_;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_BALANCE_H_
