// The tree of a bt_map.h: how a thread finds its way to a leaf while others change the tree, and
// what is there.
//
// The idea
// --------
// Elements are in leaves, in no order; internal nodes lead the way with up to 23 children each, so
// that a million elements are four nodes and a leaf away. Nearly every update therefore changes
// one leaf, and nothing else that others read. Only when a leaf is full or nearly empty the tree is
// balanced, from the root down: nodes that are full are split, those that are nearly empty are
// joined with their sibling (bt_node.h says what nodes are made of).
//
// Each node has a version, which changes whenever the node does (locks/optimistic_lock.h). A thread
// goes down without writing anything: it reads a node's version, then which child the way goes on
// to, validates the version, and goes on to the child (after optimistic lock coupling: Leis,
// Scheibner, Kemper and Neumann 2016, section 3; Leis, Haubenschild and Neumann 2019, section 2).
// An update then takes the leaf's lock at the version at which it has read the leaf. A thread
// begins again only if another one has changed something.
//
// The range of keys of a leaf or an internal node never changes: balancing replaces the nodes whose
// ranges change. The new nodes are made first, from what was read of the old ones, without locks.
// Then the locks are taken, from the top down and only at the versions that were read: of the node
// whose edges change (the parent, or, when the parent is to be replaced, the one above it), of the
// parent, of the node, and of its sibling if the two are joined. Then edges change, and the old
// nodes are unlocked as obsolete, for ever, and retired. Nobody waits for a lock while holding one,
// except the disturbed snapshot operations, which lock leaves in ascending order.
//
// So a node that is neither locked nor obsolete is in the tree, with the range that it always had:
// old nodes are locked before the edges to them change. A thread that comes to such a node, by an
// edge that led to it when its parent had the version that was read, is where its key belongs,
// whatever has become of the parent meanwhile. Lock coupling validates the parent's version once
// more after it has read the child's; here that is not necessary.

#ifndef ASSAY_MAPS_BT_TREE_H_
#define ASSAY_MAPS_BT_TREE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/instruction_set.h"
#include "assay/base/point.h"
#include "assay/base/prefetch.h"
#include "assay/maps/bt_leaves.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"

namespace assay::bt::inline ASSAY_ABI {

// For the other parts of the map alone. Any thread that has a guard of `domain` may call its
// functions; those that say "at rest" need the map at rest (concept.h).
template <class K, class V, class Policies>
class tree : public leaves<tree<K, V, Policies>, K, V, Policies, nodes<K, V, Policies>> {
  using base = leaves<tree<K, V, Policies>, K, V, Policies, nodes<K, V, Policies>>;

 public:
  using typename base::arrival;
  using typename base::compare;
  using typename base::edge;
  using typename base::entry;
  using typename base::key_word;
  using typename base::leaf;
  using typename base::memory;
  using typename base::node_lock;
  using typename base::set;
  using typename base::types;
  using typename base::version;
  using typename base::words;
  using internal = typename types::internal;
  // Between the keys of two leaves: the greatest key that the first may hold.
  using bound = key_word;
  using base::less;
  using base::root;
  using base::root_lock;

  static constexpr std::size_t internal_capacity = Policies::internal_capacity;

  using base::base;

  // A leaf and the separators on both sides of it, where there are any.
  struct piece {
    arrival where;
    std::optional<bound> below;  // its keys are not before this
    std::optional<bound> upto;   // but before this
  };

  // Whether the key, which is not there, can be added where it belongs.
  [[nodiscard]] static bool has_room(const typename base::located& at, parameter<K> /*key*/) {
    return at.places != leaf::all;
  }
  template <set Set, class Key = parameter<K>>
  [[nodiscard]] std::size_t place_in(const leaf& node, std::type_identity_t<Key> key,
                                     std::uint64_t hash, std::uint64_t places) const {
    return base::template place_by_key<Set, Key>(node, key, hash, places);
  }
  // Whether the key is before `between`.
  template <class Key>
  [[nodiscard]] bool is_before(const Key& key, const bound& between) const {
    return !less(words::key(between), key);
  }

  // Goes down from the root, at each internal node to the child that `choose` says, and tells
  // `follow` of it. Waits while a node on the way is locked. (3) What was read of a node counts
  // once it was validated, before the edge is followed.
  template <class Choose, class Follow>
  [[nodiscard]] arrival way_down(const Choose& choose, Follow& follow) const {
    for (sync::backoff backoff;; backoff.wait()) {
      ASSAY_POINT("bt_map_way_begins");
      follow.begin();
      const node_lock* above = &root_lock;
      version above_seen = root_lock.read();
      if (!node_lock::is_free(above_seen)) continue;
      edge to = root.load(memory_order_acquire);
      for (;;) {
        if (types::is_leaf(to)) follow.fetch(types::leaf_at(to));
        if (!above->validate(above_seen)) break;  // (3)
        if (types::is_leaf(to)) {
          leaf* const node = types::leaf_at(to);
          const version seen = node->lock.read();
          if (!node_lock::is_free(seen)) break;
          return {node, seen};
        }
        const internal* const node = types::internal_at(to);
        const version seen = node->lock.read();
        if (!node_lock::is_free(seen)) break;
        ASSAY_POINT("bt_map_way_step");
        const std::size_t i = choose(*node);
        follow.pass(*node, i);
        to = node->child(i);
        above = &node->lock;
        above_seen = seen;
      }
    }
  }

  template <set Set, bool Writes, class Key>
  [[nodiscard]] arrival arrive(std::type_identity_t<Key> key, std::uint64_t hash) const {
    const auto choose = [&](const internal& node) {
      if constexpr (std::is_same_v<Key, parameter<K>>) {
        return node.template child_of<Set>(key, less);
      } else {
        return node.child_of_other(key, less);
      }
    };
    typename base::template fetching<Writes> follow{hash};
    return way_down(choose, follow);
  }

  // Keeps the separators next to the way.
  struct passing_between {
    std::optional<bound> below{};
    std::optional<bound> upto{};

    void begin() { *this = {}; }
    void pass(const internal& node, std::size_t child) {
      if (child > 0) below = node.key(child - 1);
      if (child + 1 < node.size()) upto = node.key(child);
    }
    static void fetch(const leaf* /*node*/) {}
  };

  // Not inlined, as what follows: compilers would otherwise copy the way down to a dozen places.
  template <class Choose>
  [[nodiscard]] piece piece_by(const Choose& choose) const {
    passing_between met;
    const arrival where = way_down(choose, met);
    return {where, met.below, met.upto};
  }
  [[nodiscard, gnu::noinline]] piece piece_of(parameter<K> key) const {
    return piece_by(
        [&](const internal& node) { return node.template child_of<set::scalar>(key, less); });
  }
  template <bt::other_key<K, compare> Q>
  [[nodiscard, gnu::noinline]] piece piece_of(const Q& key) const {
    return piece_by([&](const internal& node) { return node.child_of_other(key, less); });
  }
  // The leaf with the least keys that are not before `between`, and that with the greatest that are.
  [[nodiscard, gnu::noinline]] piece piece_after(const bound& between) const {
    return piece_by(
        [&](const internal& node) { return node.child_after(words::key(between), less); });
  }
  [[nodiscard]] piece piece_before(const bound& between) const {
    return piece_of(words::key(between));
  }
  [[nodiscard, gnu::noinline]] piece first_piece() const {
    return piece_by([](const internal& /*node*/) { return std::size_t{0}; });
  }
  [[nodiscard, gnu::noinline]] piece last_piece() const {
    return piece_by([](const internal& node) { return std::max<std::size_t>(node.size(), 1) - 1; });
  }

  // A leaf at the end of a way that is drawn at random, and in `ways` how many such ways there are if
  // all nodes on the same level are alike (Knuth 1975, section 1).
  template <class Draws>
  [[nodiscard]] arrival draw_leaf(Draws& random, double& ways) const {
    struct counting {
      double* ways;
      void begin() { *ways = 1; }
      void pass(const internal& node, std::size_t /*child*/) {
        *ways *= static_cast<double>(node.size());
      }
      static void fetch(const leaf* /*node*/) {}
    };
    counting met{&ways};
    return way_down(
        [&random](const internal& node) {
          return static_cast<std::size_t>(random() % std::max<std::size_t>(node.size(), 1));
        },
        met);
  }

  template <class Visit>
  static void for_each_leaf(edge to, const Visit& visit) {
    if (types::is_leaf(to)) {
      visit(*types::leaf_at(to));
      return;
    }
    const internal& node = *types::internal_at(to);
    for (std::size_t i = 0; i < node.size(); ++i) for_each_leaf(node.child(i), visit);
  }

  static void delete_tree(edge to) noexcept {
    if (types::is_leaf(to)) {
      base::delete_leaf(types::leaf_at(to));
      return;
    }
    internal* const node = types::internal_at(to);
    for (std::size_t i = 0; i < node->size(); ++i) {
      delete_tree(node->child(i));
      if (i + 1 < node->size()) base::disown(node->key(i));
    }
    memory::destroy(node);
  }
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_TREE_H_
