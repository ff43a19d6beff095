// The tree of a radix_map.h: how a thread finds its way to a leaf while others change the tree.
//
// The idea
// --------
// A node on the way looks at one digit of the key (radix_key.h), at a depth that the node knows:
// what all keys below it begin with it need not look at. So the way is as long as keys have digits
// in which many of them differ, however many keys there are: two nodes and a leaf for ten million
// random numbers, which a bt_map reaches by five. Leaves hold many elements, and a run of digits
// each, so that there are as few nodes as leaves allow, and most updates change one leaf alone.
//
// All keys have a leaf, and all leaves a range. A key that does not begin as all others below a
// node do is before all of them or after all of them: it goes to the first child, or the last one.
// When a leaf that has such keys is full, they get a node of their own.
//
// The rest is as in bt_tree.h: nodes have versions, a way down writes nothing, and the range of a
// node never changes: where it has to, another node takes its place. So a thread that comes to a
// node that is neither locked nor obsolete, by an edge that led to it when its parent had the
// version that was read, is where its key belongs.

#ifndef ASSAY_MAPS_RADIX_TREE_H_
#define ASSAY_MAPS_RADIX_TREE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/point.h"
#include "assay/base/prefetch.h"
#include "assay/maps/bt_leaves.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"
#include "assay/maps/radix_key.h"
#include "assay/maps/radix_node.h"
#include "assay/maps/vector_search.h"

namespace assay::radix::inline ASSAY_ABI {

// For the other parts of the map alone, as bt::tree.
template <class K, class V, class Policies>
class tree : public bt::leaves<tree<K, V, Policies>, K, V, Policies, nodes<K, V, Policies>> {
  using base = bt::leaves<tree<K, V, Policies>, K, V, Policies, nodes<K, V, Policies>>;

 public:
  using typename base::arrival;
  using typename base::compare;
  using typename base::edge;
  using typename base::entry;
  using typename base::key_word;
  using typename base::leaf;
  using typename base::located;
  using typename base::memory;
  using typename base::node_lock;
  using typename base::set;
  using typename base::types;
  using typename base::version;
  using typename base::words;
  using inner = typename types::inner;
  using narrow = typename types::narrow;
  using middle = typename types::middle;
  using wide = typename types::wide;
  using keys = typename types::keys;
  using label = typename types::label;
  using bound = typename keys::bound;
  using base::less;
  using base::nowhere;
  using base::root;
  using base::root_lock;

  using base::base;

  // A leaf and the bounds on both sides of it, where there are any. It was the child at that place
  // of `parent`, if it had one, when that had that version.
  struct piece {
    arrival where;
    std::optional<bound> below;  // its keys are not before this
    std::optional<bound> upto;   // but before this
    edge parent;
    version parent_seen;
    std::size_t place;
  };

  template <class Key>
  [[nodiscard]] static bool is_before(const Key& key, const bound& between) {
    return keys::is_before(seek(key), between);
  }
  [[nodiscard]] static bool ascend(const bound& one, const bound& other) {
    return keys::ascend(one, other);
  }
  // Whether the key, which is not there, can be added where it belongs.
  [[nodiscard]] static bool has_room(const located& at, parameter<K> key) {
    return at.where.at->has_room(at.places, key);
  }

  // Goes down from the root, at each inner node by the edge that `follow` says. Waits while a node
  // on the way is locked. (3) What was read of a node counts once it was validated, before the edge
  // is followed.
  template <class Follow>
  [[nodiscard]] arrival way_down(Follow& follow) const {
    for (sync::backoff backoff;; backoff.wait()) {
      ASSAY_POINT("bt_map_way_begins");
      follow.begin();
      const node_lock* above = &root_lock;
      version above_seen = root_lock.read();
      if (!node_lock::is_free(above_seen)) continue;
      edge to = root.load(memory_order_acquire);
      for (;;) {
        follow.fetch(to);
        if (!above->validate(above_seen)) break;  // (3)
        ASSAY_POINT("bt_map_way_edge");
        if (types::is_leaf(to)) {
          leaf* const node = types::leaf_at(to);
          const version seen = node->lock.read();
          if (!node_lock::is_free(seen)) break;
          return {node, seen};
        }
        const inner& node = *types::inner_at(to);
        const version seen = node.lock.read();
        if (!node_lock::is_free(seen)) break;
        ASSAY_POINT("bt_map_way_step");
        to = follow.child(to, node, seen);
        above = &node.lock;
        above_seen = seen;
      }
    }
  }

  // The edge by which keys with that digit go on.
  template <set Set>
  [[nodiscard]] static edge edge_of(edge at, const inner& node, int digit) {
    if (types::is_narrow(at)) {
      const auto& few = static_cast<const narrow&>(node);
      const std::size_t place = few.template place_of<Set>(digit);
      ASSAY_POINT("bt_map_way_place");
      return few.child(place);
    }
    return types::edge_by_digit(at, node, std::clamp(digit, 0, keys::most_digit))
        .load(memory_order_acquire);  // (1) of bt_node.h
  }

  // The way of a key.
  template <set Set, bool Writes, class Sought>
  struct toward {
    Sought key;
    std::uint64_t hash;
    typename keys::progress progress{};

    void begin() { progress = {}; }
    // The place of the edge is known before the node arrives, except in narrow nodes: the node's
    // label only decides whether that edge counts.
    [[nodiscard]] edge child(edge at, const inner& node, version /*seen*/) {
      if constexpr (keys::has_depth_in_edges) {
        const unsigned depth = types::depth_of(at);
        const edge to = edge_of<Set>(at, node, keys::digit_below(key, depth));
        if (node.keys_begin.begins(key, depth)) [[likely]] {
          return to;
        }
      }
      return edge_of<Set>(at, node, node.keys_begin.digit(key, progress));
    }
    // The lines of a node that the search will need.
    void fetch(edge to) const {
      if (!types::is_leaf(to)) {
        if (types::is_narrow(to)) {
          const auto* const node = reinterpret_cast<const char*>(types::inner_at(to));
          sync::prefetch(node + bt::line);
          sync::prefetch(node + 2 * bt::line);
        }
        return;
      }
      const leaf* const node = types::leaf_at(to);
      fetch_line(node);
      if constexpr (types::has_direct) {
        if (types::is_direct(to)) {
          fetch_line(node->line_of_direct(key));
          return;
        }
      }
      if constexpr (types::has_homes) fetch_line(node->line_of(hash));
    }
    static void fetch_line(const void* at) {
      if constexpr (Writes && base::layout::fetches_to_write) {
        sync::prefetch_to_write(at);
      } else {
        sync::prefetch(at);
      }
    }
  };

  template <set Set, bool Writes, class Key>
  [[nodiscard]] arrival arrive(std::type_identity_t<Key> key, std::uint64_t hash) const {
    toward<Set, Writes, typename keys::sought> follow{.key = seek(key), .hash = hash};
    return way_down(follow);
  }

  // As those of bt::tree.
  struct way {
    std::uint64_t hash;
    typename keys::sought key;
    typename keys::progress progress{};
  };
  [[nodiscard]] static way begin_way(parameter<K> key) {
    return {.hash = base::hash_of(key), .key = seek(key)};
  }
  [[nodiscard]] static const node_lock& lock_of(edge at) { return types::inner_at(at)->lock; }
  template <set Set, bool Writes>
  [[nodiscard]] edge go_on(edge at, parameter<K> /*key*/, way& on) const {
    toward<Set, Writes, typename keys::sought> follow{
        .key = on.key, .hash = on.hash, .progress = on.progress};
    const edge to = follow.child(at, *types::inner_at(at), {});
    on.progress = follow.progress;
    follow.fetch(to);
    if (!types::is_leaf(to)) {
      const inner* const node = types::inner_at(to);
      sync::prefetch(node);
      if constexpr (keys::has_depth_in_edges) {
        const int digit = keys::digit_below(on.key, types::depth_of(to));
        if (!types::is_narrow(to)) sync::prefetch(&types::edge_by_digit(to, *node, digit));
      }
    }
    return to;
  }

  // Where in a leaf the key is, among these places.
  template <set Set, class Key = parameter<K>>
  [[nodiscard]] std::size_t place_in(const leaf& node, std::type_identity_t<Key> key,
                                     std::uint64_t hash, std::uint64_t places) const {
    if constexpr (types::has_direct) {
      if (node.is_direct()) {
        const std::uint64_t place = keys::seek(key) - node.first();
        return place < types::direct_places && (places >> place) % 2 == 1
                   ? static_cast<std::size_t>(place)
                   : nowhere;
      }
    }
    return base::template place_by_key<Set, Key>(node, key, hash, places);
  }

  // The way of a reader that wants all of a leaf: keeps what a piece says of it.
  struct passing_between {
    piece met{};

    void begin() { met = {}; }
    [[nodiscard]] edge pass(edge at, version seen, int digit) {
      met.parent = at;
      met.parent_seen = seen;
      return types::as_it_is(at, [this, digit](const auto& node) {
        met.place = node.place_of(digit);
        set_bounds(node, met);
        ASSAY_POINT("bt_map_way_place");
        return node.child(met.place);
      });
    }
    static void fetch(edge to) {
      if (types::is_leaf(to)) base::fetch_whole(types::leaf_at(to));
    }
  };
  template <class Sought>
  struct toward_between : passing_between {
    Sought key;
    typename keys::progress progress{};

    explicit toward_between(const Sought& key_) : key(key_) {}
    void begin() {
      passing_between::begin();
      progress = {};
    }
    [[nodiscard]] edge child(edge at, const inner& node, version seen) {
      return this->pass(at, seen, node.keys_begin.digit(key, progress));
    }
  };
  struct at_one_end : passing_between {
    int digit;

    explicit at_one_end(int digit_) : digit(digit_) {}
    [[nodiscard]] edge child(edge at, const inner& /*node*/, version seen) {
      return this->pass(at, seen, digit);
    }
  };
  // Those that the node has: a first child begins where the node does, and a last one ends there.
  template <class Node>
  static void set_bounds(const Node& node, piece& at) {
    if (!node.is_first(at.place)) at.below = node.keys_begin.before(node.digit_of(at.place));
    if (!node.is_last(at.place)) {
      at.upto = node.keys_begin.before(node.digit_of(node.after(at.place)));
    }
  }

  // Not inlined, as what follows: compilers would otherwise copy the way down to a dozen places.
  template <class Follow>
  [[nodiscard, gnu::noinline]] piece piece_by(Follow follow) const {
    const arrival where = way_down(follow);
    follow.met.where = where;
    return follow.met;
  }
  template <class Key>
  [[nodiscard]] piece piece_of(const Key& key) const {
    return piece_by(toward_between(seek(key)));
  }
  // The leaf with the least keys that are not before `between`, and that with the greatest that
  // are.
  [[nodiscard]] piece piece_after(const bound& between) const {
    return piece_by(toward_between(keys::seek_after(between)));
  }
  [[nodiscard]] piece piece_before(const bound& between) const {
    return piece_by(toward_between(keys::seek_before(between)));
  }
  [[nodiscard]] piece first_piece() const { return piece_by(at_one_end(before_all)); }
  [[nodiscard]] piece last_piece() const { return piece_by(at_one_end(after_all)); }

  // As those of bt::tree.
  [[nodiscard]] static bool go_to_next(piece& at) { return go_to_sibling<true>(at); }
  [[nodiscard]] static bool go_to_previous(piece& at) { return go_to_sibling<false>(at); }
  void advance(piece& at) const {
    const bound visited = *at.upto;
    if (!go_to_next(at)) at = piece_after(visited);
  }
  static void fetch_next(const piece& at) { fetch_sibling<true>(at); }
  static void fetch_previous(const piece& at) { fetch_sibling<false>(at); }

  // A leaf at the end of a way that is drawn at random, and in `ways` one upon the chance of it.
  template <class Draws>
  [[nodiscard]] arrival draw_leaf(Draws& random, double& ways) const {
    struct drawing {
      Draws* random;
      double* ways;

      void begin() { *ways = 1; }
      [[nodiscard]] edge child(edge at, const inner& /*node*/, version /*seen*/) {
        return types::as_it_is(at, [this](const auto& node) {
          const auto [place, one_in] = node.draw((*random)());
          *ways *= one_in;
          return node.child(place);
        });
      }
      static void fetch(edge /*to*/) {}
    };
    drawing follow{&random, &ways};
    return way_down(follow);
  }

  // visit(digit, edge) for each child of an inner node, in ascending order, with its least digit.
  // At rest, as what follows, or if the answer is of no use when the node has changed meanwhile.
  template <class Visit>
  static void for_each_child(edge to, const Visit& visit) {
    types::as_it_is(to, [&visit](const auto& node) {
      for (std::size_t place = node.place_of(before_all);; place = node.after(place)) {
        visit(node.is_first(place) ? before_all : node.digit_of(place), node.child(place));
        if (node.is_last(place)) return;
      }
    });
  }
  // The ways of byte strings may be too long for recursion, here and in delete_tree().
  template <class Visit>
  static void for_each_leaf(edge top, const Visit& visit) {
    std::vector<edge> to_do{top};  // from the last one on
    while (!to_do.empty()) {
      const edge to = to_do.back();
      to_do.pop_back();
      if (types::is_leaf(to)) {
        visit(*types::leaf_at(to));
        continue;
      }
      const auto others = static_cast<std::ptrdiff_t>(to_do.size());
      for_each_child(to, [&to_do](int /*digit*/, edge child) { to_do.push_back(child); });
      std::reverse(to_do.begin() + others, to_do.end());
    }
  }
  static void delete_tree(edge top) noexcept {
    if (types::is_leaf(top)) return base::delete_leaf(types::leaf_at(top));
    if constexpr (keys::has_depth_in_edges) {
      for_each_child(top, [](int /*digit*/, edge child) { delete_tree(child); });
      destroy_inner(top);
    } else {
      // Ways may be too long for recursion. Inner nodes are a list, as there may be no memory for
      // another one.
      for (edge to_do = top; to_do != 0;) {
        const edge to = to_do;
        to_do = types::inner_at(to)->deleted_next;
        for_each_child(to, [&to_do](int /*digit*/, edge child) {
          if (types::is_leaf(child)) return base::delete_leaf(types::leaf_at(child));
          types::inner_at(child)->deleted_next = to_do;
          to_do = child;
        });
        destroy_inner(to);
      }
    }
  }
  static void destroy_inner(edge to) noexcept {
    types::as_it_is(to, [](auto& node) { memory::destroy(&node); });
  }

  template <class Key>
  [[nodiscard]] static typename keys::sought seek(const Key& key) {
    static_assert(std::is_same_v<Key, K> || is_bytes<K>,
                  "radix_map finds integers, and pairs and tuples of them, by keys of its own type "
                  "alone: another may be one that K does not have.");
    return keys::seek(key);
  }

 private:
  // If they have the same parent, which is as it was, and if the sibling is a leaf and not the
  // first or the last child: where that one ends the parent does not say.
  template <bool Next>
  static bool go_to_sibling(piece& at) {
    if (at.parent == 0) return false;
    const bool is_there = types::as_it_is(at.parent, [&at](const auto& node) {
      if (Next ? node.is_last(at.place) : node.is_first(at.place)) return false;
      const std::size_t place = Next ? node.after(at.place) : node.before(at.place);
      if (Next ? node.is_last(place) : node.is_first(place)) return false;
      const edge to = node.child(place);
      if (!types::is_leaf(to)) return false;
      at.place = place;
      set_bounds(node, at);
      at.where.at = types::leaf_at(to);
      return node.lock.validate(at.parent_seen);  // (3)
    });
    if (!is_there) return false;
    ASSAY_POINT("bt_map_sibling_found");
    at.where.seen = at.where.at->lock.read();
    return node_lock::is_free(at.where.seen);
  }
  template <bool Next>
  static void fetch_sibling(const piece& at) {
    if (at.parent == 0) return;
    types::as_it_is(at.parent, [&at](const auto& node) {
      if (Next ? node.is_last(at.place) : node.is_first(at.place)) return;
      passing_between::fetch(node.child(Next ? node.after(at.place) : node.before(at.place)));
    });
  }
};

}  // namespace assay::radix::inline ASSAY_ABI

#endif  // ASSAY_MAPS_RADIX_TREE_H_
