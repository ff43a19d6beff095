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
//
// A thread that has read a leaf and wants the next one keeps the parent and the version that it
// had. If the parent still has that version, its edges are what they were: the next edge leads to a
// leaf whose range begins where that of the first one ends. The same argument holds for it as for a
// leaf that was found from the root. If not, the thread goes down again, to where the first leaf
// ended.

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

  // A leaf and the separators on both sides of it, where there are any. It was that child of
  // `parent`, if it had one, when that had that version.
  struct piece {
    arrival where;
    std::optional<bound> below;  // its keys are not before this
    std::optional<bound> upto;   // but before this
    const internal* parent;
    version parent_seen;
    std::size_t child;
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

  // Whether one bound is before the other.
  [[nodiscard]] bool ascend(const bound& one, const bound& other) const {
    return less(words::key(one), words::key(other));
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
        follow.pass(*node, seen, i);
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

  // For several searches at once (bt_many.h): what each keeps, the lock of an internal node,
  // and the edge by which a search goes on from there, to a node that is then fetched.
  struct way {
    std::uint64_t hash;
  };
  [[nodiscard]] static way begin_way(parameter<K> key) { return {base::hash_of(key)}; }
  [[nodiscard]] static const node_lock& lock_of(edge at) { return types::internal_at(at)->lock; }
  template <set Set, bool Writes>
  [[nodiscard]] edge go_on(edge at, parameter<K> key, way& on) const {
    const internal& node = *types::internal_at(at);
    const edge to = node.child(node.template child_of<Set>(key, less));
    if (types::is_leaf(to)) {
      typename base::template fetching<Writes>{on.hash}.fetch(types::leaf_at(to));
    } else {
      constexpr std::size_t bytes = offsetof(internal, children);
      for (edge from = to; from < to + bytes; from += line) {
        // Not a pointer yet: nothing has said that it leads anywhere.
        sync::prefetch(reinterpret_cast<const void*>(from));  // NOLINT(performance-no-int-to-ptr)
      }
    }
    return to;
  }

  // The way of a reader that wants all of a leaf: keeps what a piece says of it.
  struct passing_between {
    piece& met;

    void begin() const { met = {}; }
    void pass(const internal& node, version seen, std::size_t child) const {
      if (child > 0) met.below = node.key(child - 1);
      if (child + 1 < node.size()) met.upto = node.key(child);
      met.parent = &node;
      met.parent_seen = seen;
      met.child = child;
    }
    static void fetch(const leaf* node) { base::fetch_whole(node); }
  };

  // Not inlined, as what follows: compilers would otherwise copy the way down to a dozen places.
  template <class Choose>
  [[nodiscard]] piece piece_by(const Choose& choose) const {
    piece found;
    passing_between follow{found};
    found.where = way_down(choose, follow);
    return found;
  }
  [[nodiscard]] piece piece_of(parameter<K> key) const {
#if defined(__x86_64__)
    if constexpr (types::has_vectors) {
      const set with = this->set_now();
      if (with == set::avx512) return piece_avx512(key);
      if (with == set::avx2) return piece_avx2(key);
    }
#endif
    return piece_scalar(key);
  }
  [[nodiscard, gnu::noinline]] piece piece_scalar(parameter<K> key) const {
    return piece_as<set::scalar>(key);
  }
  template <bt::other_key<K, compare> Q>
  [[nodiscard, gnu::noinline]] piece piece_of(const Q& key) const {
    return piece_by([&](const internal& node) { return node.child_of_other(key, less); });
  }
  // The leaf with the least keys that are not before `between`, and that with the greatest that
  // are.
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

  // Goes on to the leaf after it, or before it, if they have the same parent, which is as it was,
  // and if it is not the first or the last child. Otherwise `at` is of no use any more.
  [[nodiscard]] static bool go_to_next(piece& at) { return go_to_child(at, at.child + 1); }
  [[nodiscard]] static bool go_to_previous(piece& at) { return go_to_child(at, at.child - 1); }
  // The leaf after it, which there is: down from the root if need be.
  void advance(piece& at) const {
    const bound visited = *at.upto;
    if (!go_to_next(at)) at = piece_after(visited);
  }
  // Fetches that leaf, if it has the same parent.
  static void fetch_next(const piece& at) { fetch_child(at, at.child + 1); }
  static void fetch_previous(const piece& at) { fetch_child(at, at.child - 1); }

  // A leaf at the end of a way that is drawn at random, and in `ways` how many such ways there are
  // if all nodes on the same level are alike (Knuth 1975, section 1).
  template <class Draws>
  [[nodiscard]] arrival draw_leaf(Draws& random, double& ways) const {
    struct counting {
      double* ways;
      void begin() { *ways = 1; }
      void pass(const internal& node, version /*seen*/, std::size_t /*child*/) {
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

 private:
  template <set Set>
  [[nodiscard]] piece piece_as(parameter<K> key) const {
    return piece_by([&](const internal& node) { return node.template child_of<Set>(key, less); });
  }
#if defined(__x86_64__)
  // As locate_avx2().
  [[gnu::flatten]] ASSAY_AVX2 piece piece_avx2(parameter<K> key) const {
    return piece_as<set::avx2>(key);
  }
  [[gnu::flatten]] ASSAY_AVX512 piece piece_avx512(parameter<K> key) const {
    return piece_as<set::avx512>(key);
  }
#endif

  // The parent's first and last child end where the parent does, and the piece does not say where.
  // Where each leaf is read in a critical section of its own, nobody knows whether the parent is as
  // it was.
  static bool go_to_child(piece& at, std::size_t i) {
    if (base::synchronisation::is_coarse || at.parent == nullptr) return false;
    const internal& parent = *at.parent;
    const std::size_t size = parent.size();
    if (i == 0 || i >= size || i + 1 == size) return false;
    at.child = i;
    at.below = parent.key(i - 1);
    at.upto = parent.key(i);
    at.where.at = types::leaf_at(parent.child(i));
    if (!parent.lock.validate(at.parent_seen)) return false;  // (3)
    ASSAY_POINT("bt_map_sibling_found");
    at.where.seen = at.where.at->lock.read();
    return node_lock::is_free(at.where.seen);
  }
  static void fetch_child(const piece& at, std::size_t i) {
    if (at.parent != nullptr && i < at.parent->size()) {
      base::fetch_whole(types::leaf_at(at.parent->child(i)));
    }
  }
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_TREE_H_
