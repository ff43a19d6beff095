// What external search trees have in common.
//
// An external tree keeps its elements in leaves. Internal nodes only lead the way: each has a key
// and exactly two children, to the left what is less than the key, to the right the rest. An update
// therefore changes one edge near a leaf, whatever the size of the tree:
//
//     insert 5:   |            |          erase 5:   |           |
//                 7     =>     7                     7     =>    7
//                             / (5 | 7)                          (the fork and the leaf 5 are gone)
//
// An edge is one word: the address of a node, a mark that says whether that node is a leaf, so that
// a search knows without touching it, and two marks that a tree may use as it likes. The word 0
// means "nothing", which is only ever found at the root of an empty tree: there are no
// sentinels, hence no key that a user could not store.
//
// Two maps are such trees: natarajan_mittal_bst.h and ticket_bst.h. What they have in common is
// here: nodes and edges, what is done with a tree at rest, and the half of a map that does not
// depend on how its tree is changed, class `map`.

#ifndef ASSAY_MAPS_EXTERNAL_TREE_H_
#define ASSAY_MAPS_EXTERNAL_TREE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/atomics.h"
#include "assay/base/point.h"
#include "assay/maps/concept.h"
#include "assay/maps/shape.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/participant.h"

namespace assay::external_tree {

using edge = std::uintptr_t;
using atomic_edge = atomic<edge>;

inline constexpr edge leaf_mark = 4;
inline constexpr edge marks = 7;  // the leaf's and the two of the tree

// Never changes, so that it can be read without care as long as it exists. Of numbers of 64 bits it
// is 16 bytes. What that takes is the allocator's choice: glibc's malloc makes 32 of them, as it
// does of an internal node of 24, while jemalloc and mimalloc make 16 and 32 (seen with glibc 2.36,
// jemalloc 5.3 and mimalloc 2.0).
template <class K, class V>
struct alignas(8) alignas(K) alignas(V) leaf {
  const K key;
  const V value;
};

constexpr bool is_leaf(edge to) { return (to & leaf_mark) != 0; }

// The edge is not 0.
constexpr bool is_internal(edge to) { return (to & leaf_mark) == 0; }

template <class Node>
[[nodiscard]] Node* node_at(edge to) {
  // An edge is an address and marks below its alignment: what edge_to() made of a Node*.
  return reinterpret_cast<Node*>(to & ~marks);  // NOLINT(performance-no-int-to-ptr)
}

template <class Node>
[[nodiscard]] edge edge_to(const Node* node) {
  static_assert(alignof(Node) > marks, "the marks need three bits of a node's address");
  return reinterpret_cast<edge>(node);
}

template <class K, class V>
[[nodiscard]] edge edge_to(const leaf<K, V>* node) {
  return reinterpret_cast<edge>(node) | leaf_mark;
}

// `answer`, hidden from the optimiser. gcc 12 otherwise ends the guard of a search twice, behind a
// branch on the answer, which cannot be predicted: 6 ns for each search of a small tree.
[[nodiscard]] inline bool unbranched(bool answer) {
  asm("" : "+r"(answer));
  return answer;
}

// Calls visit(leaf) for each leaf in ascending order. At rest only. Takes memory for as many words
// as the tree is deep, and may throw std::bad_alloc.
template <class Leaf, class Internal, class Visit>
void for_each_leaf(edge root, Visit&& visit) {
  if (root == 0) return;
  std::vector<edge> to_do{root};
  while (!to_do.empty()) {
    const edge to = to_do.back();
    to_do.pop_back();
    if (is_leaf(to)) {
      visit(*node_at<const Leaf>(to));
    } else {
      const auto* node = node_at<const Internal>(to);
      // Whoever says that the tree is at rest has synchronised with its last updates.
      to_do.push_back(node->child[1].load(memory_order_relaxed));
      to_do.push_back(node->child[0].load(memory_order_relaxed));
    }
  }
}

// Deletes all nodes. At rest only. Needs no memory, however deep the tree is: a node whose left
// half is being deleted keeps, in that half's place, the way to the node above it that waits too.
template <class Leaf, class Internal>
void delete_all(edge root) noexcept {
  if (root == 0) return;
  edge waiting = 0;
  edge to = root;
  for (;;) {
    if (is_internal(to)) {
      auto* const node = node_at<Internal>(to);
      const edge left = node->child[0].load(memory_order_relaxed);
      node->child[0].store(waiting, memory_order_relaxed);
      waiting = edge_to(node);
      to = left;
      continue;
    }
    delete node_at<Leaf>(to);
    if (waiting == 0) return;
    auto* const above = node_at<Internal>(waiting);
    waiting = above->child[0].load(memory_order_relaxed);
    to = above->child[1].load(memory_order_relaxed);
    delete above;
  }
}

// What is wrong with the shape or the order of a tree at rest, if anything is. `fault_of(edge)` and
// `fault_of(const Internal&)` say what else is wrong with an edge or a node, as a text or nullptr.
template <class Leaf, class Internal, class Compare, class Fault>
[[nodiscard]] std::optional<std::string> broken_order(edge root, const Compare& less,
                                                      const Fault& fault_of) {
  using key_type = decltype(Leaf::key);
  struct part {
    edge to;
    key_type* least;   // all keys are at least this, if there is one
    key_type* beyond;  // and below this
  };
  if (root == 0) return std::nullopt;
  std::uint64_t leaves = 0;
  std::uint64_t internals = 0;
  std::vector<part> to_do{{root, nullptr, nullptr}};
  while (!to_do.empty()) {
    const auto [to, least, beyond] = to_do.back();
    to_do.pop_back();
    if (const char* fault = fault_of(to)) return std::string("an edge ") + fault;
    if ((to & ~marks) == 0) return "an internal node lacks a child";
    if (is_leaf(to)) {
      const auto& key = node_at<const Leaf>(to)->key;
      if (least && less(key, *least)) return "a leaf's key is too small for its place";
      if (beyond && !less(key, *beyond)) return "a leaf's key is too large for its place";
      ++leaves;
      continue;
    }
    const auto& node = *node_at<const Internal>(to);
    if (least && !less(*least, node.key)) return "an internal key is too small for its place";
    if (beyond && !less(node.key, *beyond)) return "an internal key is too large for its place";
    if (const char* fault = fault_of(node)) return std::string("an internal node ") + fault;
    ++internals;
    to_do.push_back({node.child[1].load(memory_order_relaxed), &node.key, beyond});
    to_do.push_back({node.child[0].load(memory_order_relaxed), least, &node.key});
  }
  if (leaves != internals + 1) {
    return std::to_string(leaves) + " leaves under " + std::to_string(internals) +
           " internal nodes";
  }
  std::uint64_t visited = 0;
  const Leaf* last = nullptr;
  bool ascending = true;
  for_each_leaf<Leaf, Internal>(root, [&](const Leaf& met) {
    ascending = ascending && (last == nullptr || less(last->key, met.key));
    last = &met;
    ++visited;
  });
  if (!ascending) return "a walk does not ascend";
  if (visited != leaves) {
    return "a walk met " + std::to_string(visited) + " of " + std::to_string(leaves) + " leaves";
  }
  return std::nullopt;
}

// The shape of a tree at rest.
template <class Leaf, class Internal>
[[nodiscard]] shape shape_below(edge root) {
  shape_sum sum;
  if (root == 0) return sum.sum();
  struct part {
    edge to;
    std::uint64_t depth;
  };
  std::vector<part> to_do{{root, 1}};
  while (!to_do.empty()) {
    const auto [to, depth] = to_do.back();
    to_do.pop_back();
    if (is_leaf(to)) {
      const auto& held = *node_at<const Leaf>(to);
      sum.add_node(sizeof(Leaf));
      sum.add_owned(held.key);
      sum.add_owned(held.value);
      sum.add_elements(1, depth);
    } else {
      const auto& node = *node_at<const Internal>(to);
      sum.add_node(sizeof(Internal));
      sum.add_owned(node.key);
      for (const atomic_edge& child : node.child) {
        to_do.push_back({child.load(memory_order_relaxed), depth + 1});
      }
    }
  }
  return sum.sum();
}

struct nothing {};

// Functions that a tree calls when something happens that a program may want to count, on the
// thread to which it happens: these do nothing and cost nothing. An observer of your own derives
// from this and replaces some of them by wait-free functions.
struct no_observer {
  // An update begins again, or a search with hazard pointers.
  static void restarted() noexcept {}
  // A thread has completed another one's erase.
  static void helped() noexcept {}
};

// A map but for its updates. `Tree` derives from it and befriends it, and adds
//
//     internal         its internal nodes, which have a `key` and two edges, `child`
//     handle           a thread's access, derived from `access`, with insert and erase
//     seek(key, guard).last
//                      where it can be used with hazard pointers: the edge to the leaf where `key`
//                      is, if it is anywhere; 0 if there is none
//
// `Locks` accompanies the root's edge, as it accompanies an internal node's edges.
//
// Any thread may call its functions; those that say "at rest" need the map at rest (concept.h): no
// other thread calls anything, and what others did happened before.
template <class Tree, class K, class V, class Reclaim, class Compare, class Locks = nothing>
class map {
 public:
  map(const map&) = delete;
  map& operator=(const map&) = delete;

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] auto attach() { return typename Tree::handle(tree()); }

  // Calls visit(key, value) for each element, in ascending order. At rest. Throws std::bad_alloc
  // and what `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each_leaf<leaf_type, typename Tree::internal>(
        root_.load(memory_order_acquire),
        [&](const leaf_type& held) { visit(held.key, held.value); });
  }

  // Nodes, depths and bytes. At rest. Throws std::bad_alloc.
  [[nodiscard]] assay::shape shape() const {
    return shape_below<leaf_type, typename Tree::internal>(root_.load(memory_order_acquire));
  }

  // Removes all elements, and frees at once their memory and that of all elements erased before.
  // At rest. Erased elements are not freed under reclaim::none, and a policy of your own without
  // free_all() frees them when it otherwise would.
  void clear() noexcept {
    delete_all<leaf_type, typename Tree::internal>(root_.exchange(0, memory_order_acq_rel));
    if constexpr (requires { domain_.free_all(); }) domain_.free_all();
  }

  // How many removed nodes wait to be freed; an estimate while threads are inside calls.
  [[nodiscard]] std::uint64_t unfreed() const { return domain_.unfreed(); }

 protected:
  using leaf_type = leaf<K, V>;

  // At rest, with no handle left. Deletes everything.
  ~map() { clear(); }

  // A thread's access to the map. Only the thread that attached it calls it, and not within a call
  // to it, as from a comparison or a copy. It is destroyed before the map is, outside its calls, by
  // that thread or by one that knows that it is done, as after joining it. Debug builds abort, with
  // a message, on a call by another thread, within a call, or after it was moved from, and when it
  // outlives its map.
  class access {
   public:
    // The value of the key, if there is one. Allocates nothing itself; throws what comparisons and
    // copies of a value throw. Each tree says what progress it makes.
    [[gnu::always_inline]] std::optional<V> find(parameter<K> key) {
      std::optional<V> found;
      [[maybe_unused]] auto guard = me_.pin_to_read();
      const edge to = map_->search(key, guard);
      if (to != 0 && map_->holds(to, key)) found.emplace(node_at<leaf_type>(to)->value);
      return found;
    }

    // Whether there is an element with the key. As find().
    bool contains(parameter<K> key) {
      [[maybe_unused]] auto guard = me_.pin_to_read();
      const edge to = map_->search(key, guard);
      return unbranched(to != 0 && map_->holds(to, key));
    }

   protected:
    explicit access(Tree& tree) : map_(&tree), me_(reclaim::join_without_nesting(tree.domain_)) {}

    Tree* map_;
    typename Reclaim::participant me_;
  };

  [[nodiscard]] std::size_t side_of(parameter<K> key, const auto& node) const {
    return less_(key, node.key) ? 0 : 1;
  }

  // Whether the leaf that an edge leads to has that key.
  [[nodiscard]] bool holds(edge to, parameter<K> key) const {
    const K& held = node_at<const leaf_type>(to)->key;
    return !less_(key, held) && !less_(held, key);
  }

  // The edge to the leaf where `key` is, if it is anywhere; 0 if there is none. Its loads are
  // acquires, and meet the releases with which the tree links nodes: each tree says which.
  template <class Guard>
  [[nodiscard]] edge search(parameter<K> key, [[maybe_unused]] Guard& guard) {
    if constexpr (Reclaim::protects == reclaim::protection::named) {
      return tree().seek(key, guard).last;
    } else {
      edge to = root_.load(memory_order_acquire);
      if (to == 0) return 0;
      while (is_internal(to)) {
        ASSAY_POINT("external_tree_search_step");
        const auto* node = node_at<const typename Tree::internal>(to);
        to = node->child[side_of(key, *node)].load(memory_order_acquire);
      }
      return to;
    }
  }

  // Has put(edge) put a new leaf where a search for its key met a leaf, or nothing, if `met` is 0:
  // in a fork with that leaf, or alone. If put() says that it has done so, owns it no more. Says
  // whether it has. Throws std::bad_alloc and what comparisons and copies of a key throw, before
  // put().
  template <class Put>
  [[nodiscard]] bool link(edge met, std::unique_ptr<leaf_type>& fresh, const Put& put) const {
    using internal = typename Tree::internal;
    std::unique_ptr<internal> fork;
    edge linked = edge_to(fresh.get());
    if (met != 0) {
      const K& key = node_at<const leaf_type>(met)->key;
      fork = less_(fresh->key, key) ? std::make_unique<internal>(key, linked, met)
                                    : std::make_unique<internal>(fresh->key, met, linked);
      linked = edge_to(fork.get());
    }
    if (!put(linked)) return false;
    static_cast<void>(fork.release());
    static_cast<void>(fresh.release());
    return true;
  }

  // Read by every call, and apart from what else is written.
  alignas(64) atomic_edge root_{0};
  [[no_unique_address]] Locks root_locks_{};
  [[no_unique_address]] Compare less_{};
  alignas(64) Reclaim domain_;

 private:
  friend Tree;
  map() = default;
  explicit map(Compare order) : less_(std::move(order)) {}

  [[nodiscard]] Tree& tree() { return static_cast<Tree&>(*this); }
};

}  // namespace assay::external_tree

#endif  // ASSAY_MAPS_EXTERNAL_TREE_H_
