// How a tree of radix_tree.h grows and shrinks: a leaf that is full is split, one that is nearly
// empty is joined with its sibling.
//
// A leaf is split where keys differ first. If that is at the depth of its parent, the parent gets
// one more child; a narrow one that is full becomes wide. If it is deeper, the two leaves get a
// parent of their own. If it is higher, some keys of the leaf do not begin as all others below some
// node on the way do: they get a leaf beside that node, which is replaced, as its range changes,
// like all nodes between it and the leaf. Integers that differ in their last bits alone get a
// direct leaf.
//
// A leaf that becomes empty beside an inner node leaves its range to that: to the nearest leaf
// below it, if there is room in it. That leaf is replaced, as are the nodes between the two. Else a
// walk would pass all leaves that were ever there.
//
// New nodes are made first, from what was read of the old ones, without locks. Then the locks are
// taken, from the top down and only at the versions that were read: of the node whose edge changes,
// and of all that are replaced. Nobody waits for a lock while holding one.

#ifndef ASSAY_MAPS_RADIX_BALANCE_H_
#define ASSAY_MAPS_RADIX_BALANCE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/instruction_set.h"
#include "assay/base/point.h"
#include "assay/maps/bt_balance.h"
#include "assay/maps/bt_inline_vector.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"
#include "assay/maps/radix_key.h"
#include "assay/maps/radix_node.h"
#include "assay/maps/radix_tree.h"

namespace assay::bt::inline ASSAY_ABI {

// What a thread balances a tree with. Belongs to one thread, which is pinned in its calls.
template <class K, class V, class Policies>
class balancer<radix::tree<K, V, Policies>> {
  using tree = radix::tree<K, V, Policies>;
  using types = typename tree::types;
  using node_lock = typename tree::node_lock;
  using version = typename tree::version;
  using words = typename tree::words;
  using entry = typename tree::entry;
  using leaf = typename tree::leaf;
  using inner = typename tree::inner;
  using narrow = typename tree::narrow;
  using middle = typename tree::middle;
  using widest = typename types::widest;
  using wide = typename tree::wide;
  using edge = typename tree::edge;
  using keys = typename tree::keys;
  using label = typename tree::label;
  using sought = typename keys::sought;
  using memory = typename tree::memory;
  using guard_type = typename tree::guard_type;

  static constexpr std::size_t leaf_capacity = tree::leaf_capacity;

 public:
  // For an insert: no leaf that has no room for the key. For an erase: none that is nearly empty.
  enum class reason : std::uint8_t { room, fill };

  static constexpr std::size_t least_elements = std::max<std::size_t>(leaf_capacity / 4, 3);

  explicit balancer(tree& of) : tree_(&of) {}

  // Balances until there is room for that key, or its leaf is not nearly empty. Not inlined, so
  // that it stays out of the way of what is done all the time.
  [[gnu::noinline]] void balance(parameter<K> key, reason why, guard_type& guard) {
    for (sync::backoff backoff;;) {
      ASSAY_POINT("bt_map_balance_begins");
      const result got = step(key, why, guard);
      if (got == result::nothing_to_do) return;
      if (got == result::lost) backoff.wait();
    }
  }

 private:
  enum class result : std::uint8_t { nothing_to_do, done, lost };

  // A node that is not narrow becomes so when it has no more children than this.
  static constexpr std::size_t most_to_be_narrow = narrow::most_children - 4;
  // How many inner nodes are copied, at most, to be rid of an empty leaf.
  static constexpr std::size_t most_copied = 64;

  static constexpr bool fit_in_one(std::size_t size) { return size <= 2 * (leaf_capacity + 2) / 3; }

  // A node on the way down, or the root's holder, which is none.
  struct level {
    node_lock* lock;
    version seen;
    edge node;  // 0: the root's holder
    edge to;    // where the way goes on to
    int digit;  // of the key there
  };

  // What a change makes. What is not linked in the end is deleted.
  class made_nodes {
   public:
    explicit made_nodes(const tree& of) : tree_(&of) {}
    made_nodes(const made_nodes&) = delete;
    made_nodes& operator=(const made_nodes&) = delete;
    ~made_nodes() {
      for (const edge each : made_) {
        if (types::is_leaf(each)) {
          memory::destroy(types::leaf_at(each));
        } else {
          tree::destroy_inner(each);
        }
      }
    }

    template <class Node, class... Arguments>
    Node& make(Arguments&&... arguments) {
      if (made_.size() == made_.capacity()) made_.reserve(2 * made_.size() + 8);
      auto* const node = tree_->template make<Node>(std::forward<Arguments>(arguments)...);
      made_.push_back(types::edge_to(node));
      return *node;
    }
    void release() { made_.clear(); }

   private:
    const tree* tree_;
    std::vector<edge> made_;
  };

  // The elements of one or two leaves, in ascending order, and how a node is searched for each.
  struct contents {
    inline_vector<entry, 2 * tree::most_in_leaf> all;

    [[nodiscard]] sought at(std::size_t i) const { return tree::seek(words::key(all[i].key)); }
    [[nodiscard]] std::size_t size() const { return all.size(); }
  };
  // A leaf with these elements: a direct one, which is faster, if their keys are near enough and
  // not so few that others, which it would not hold, are likely.
  static edge leaf_of(made_nodes& made, const entry* from, const entry* to) {
    if constexpr (types::has_direct) {
      if (static_cast<std::size_t>(to - from) >= least_elements) {
        const sought first = tree::seek(words::key(from->key));
        if (are_near(first, tree::seek(words::key((to - 1)->key)))) {
          return direct_leaf(made, first, from, to);
        }
      }
    }
    return leaf_of_elements(made, from, to);
  }
  static edge leaf_of_elements(made_nodes& made, const entry* from, const entry* to) {
    leaf& node = made.template make<leaf>();
    for (; from != to; ++from) node.put(*from);
    return types::edge_to(&node);
  }
  static bool are_near(const sought& one, const sought& other) {
    return keys::depth_of_difference(one, other) > keys::most_depth;
  }
  // The keys differ from `sought` in their last bits alone.
  static edge direct_leaf(made_nodes& made, const sought& at, const entry* from, const entry* to) {
    leaf& node = made.template make<leaf>(at >> keys::last_bits << keys::last_bits);
    for (; from != to; ++from) node.put(*from);
    return types::edge_to(&node);
  }

  [[nodiscard]] result step(parameter<K> key, reason why, guard_type& guard) {
    const sought at = tree::seek(key);
    typename keys::progress progress{};
    path_.clear();
    path_.push_back({.lock = &tree_->root_lock,
                     .seen = tree_->root_lock.read(),
                     .node = 0,
                     .to = tree_->root.load(memory_order_acquire),
                     .digit = 0});
    if (!node_lock::is_free(path_.back().seen)) return result::lost;
    for (;;) {
      ASSAY_POINT("bt_map_balance_step");
      const level& last = path_.back();
      if (!last.lock->validate(last.seen)) return result::lost;  // (3) of radix_tree.h
      const edge to = last.to;
      if (types::is_leaf(to)) {
        leaf& node = *types::leaf_at(to);
        const version seen = node.lock.read();
        if (!node_lock::is_free(seen)) return result::lost;
        const std::uint64_t places = node.places();
        if (why == reason::room) {
          if (node.has_room(places, key)) return result::nothing_to_do;
          return split(node, seen, at, guard);
        }
        if (static_cast<std::size_t>(std::popcount(places)) >= least_elements ||
            path_.size() == 1) {
          return result::nothing_to_do;
        }
        return join(node, seen, guard);
      }
      // What the node begins with never changes: it may be read before the version.
      const int digit = types::inner_at(to)->keys_begin.digit(at, progress);
      path_.push_back(level_below(to, digit));
      if (!node_lock::is_free(path_.back().seen)) return result::lost;
    }
  }
  // An inner node, whose way goes on by the digit if it is free and can be validated.
  static level level_below(edge at, int digit) {
    inner& node = *types::inner_at(at);
    const version seen = node.lock.read();
    return {.lock = &node.lock,
            .seen = seen,
            .node = at,
            .to = tree::template edge_of<host::instruction_set::scalar>(at, node, digit),
            .digit = digit};
  }

  // Locks that are to be taken together, from the top down.
  class locking {
   public:
    explicit locking(std::size_t most) { locks_.reserve(most); }
    void add(node_lock& lock, version seen) { locks_.push_back({&lock, seen}); }
    // Whether it has all of them: each was as it was read.
    [[nodiscard]] bool take() {
      ASSAY_POINT("bt_map_balance_before_locks");
      for (std::size_t i = 0; i < locks_.size(); ++i) {
        if (locks_[i].lock->try_lock(locks_[i].seen)) continue;
        while (i > 0) locks_[--i].lock->unlock_unchanged();
        return false;
      }
      ASSAY_POINT("bt_map_balance_locked");
      return true;
    }

   private:
    struct one {
      node_lock* lock;
      version seen;
    };
    std::vector<one> locks_;
  };

  // Where a leaf is split: the second one begins with the first `depth` digits of the keys around,
  // and then `digit`. The first one gets `elements`.
  struct cut {
    using depth_type = decltype(keys::depth_of_difference(std::declval<const sought&>(),
                                                          std::declval<const sought&>()));
    std::size_t elements;
    depth_type depth;
    int digit;
    sought with;  // a key that begins so
  };

  [[nodiscard]] result split(leaf& node, version seen, const sought& key, guard_type& guard) {
    ASSAY_POINT("bt_map_split_begins");
    contents held;
    tree::collect_racing(node, held.all);
    if (!node.lock.validate(seen)) return result::lost;
    std::sort(held.all.begin(), held.all.end(), tree_->by_key());
    made_nodes made(*tree_);
    if (held.size() < least_elements) {
      // A direct leaf that was nearly emptied, and a key that is not near to those before.
      return replace(made, node, seen, leaf_of(made, held.all.begin(), held.all.end()), guard);
    }
    if constexpr (types::has_direct) {
      const sought& first = held.at(0);
      const sought& last = held.at(held.size() - 1);
      if (are_near(first, last) && are_near(first, key)) {
        const edge direct = direct_leaf(made, first, held.all.begin(), held.all.end());
        return replace(made, node, seen, direct, guard);
      }
    }
    const cut at = cut_of(held, key);
    const edge left = leaf_of(made, held.all.begin(), held.all.begin() + at.elements);
    const edge right = leaf_of(made, held.all.begin() + at.elements, held.all.end());
    // The first node on the way that looks at a digit below the cut. Its range changes.
    std::size_t below = 1;
    while (below < path_.size() && label_of(path_[below]).depth() <= at.depth) ++below;
    edge one = left;
    edge other = right;
    if (below < path_.size()) {
      const bool are_before = at.digit <= label_of(path_[below]).digit_at(at.depth);
      edge& rest = are_before ? other : one;
      for (std::size_t each = path_.size(); each-- > below;) {
        rest = copy_with(made, path_[each], rest);
      }
    }
    const level& parent = path_[below - 1];
    if (parent.node != 0 && label_of(parent).depth() == at.depth) {
      return divide(below - 1, made, one, at.digit, other, node, seen, guard);
    }
    auto& between = made.template make<narrow>(label(at.with, at.depth));
    between.append(radix::before_all, one);
    between.append(at.digit, other);
    locking locks(path_.size() + 1);
    for (std::size_t each = below - 1; each < path_.size(); ++each) {
      locks.add(*path_[each].lock, path_[each].seen);
    }
    locks.add(node.lock, seen);
    if (!locks.take()) return result::lost;
    set_edge(parent, types::edge_to(&between));
    made.release();
    close_from(below, node);
    parent.lock->unlock();
    retire_from(below, node, guard);
    return result::done;
  }
  static const label& label_of(const level& at) { return types::inner_at(at.node)->keys_begin; }

  // Near the middle, and there where keys differ in as high a digit as possible, so that few nodes
  // are needed, and where a middle node has a place for the second leaf. Where the key is above all
  // elements or below, the others may follow it, so that they get as large a part as possible (as
  // in bt_balance.h).
  [[nodiscard]] cut cut_of(const contents& held, const sought& key) const {
    const std::size_t size = held.size();
    const bool is_last = keys::less(held.at(size - 1), key);
    const bool is_first = keys::less(key, held.at(0));
    const std::size_t wanted = is_last ? size : is_first ? 0 : size / 2;
    const std::size_t near = size / 4;
    const label* const deepest = path_.size() > 1 ? &label_of(path_.back()) : nullptr;
    const auto distance = [wanted](std::size_t from) {
      return from > wanted ? from - wanted : wanted - from;
    };
    std::optional<cut> best;
    for (std::size_t i = is_first ? 0 : 1; i < size + (is_last ? 1 : 0); ++i) {
      const sought before = i == 0 ? key : held.at(i - 1);
      const sought after = i == size ? key : held.at(i);
      const auto depth = keys::depth_of_difference(before, after);
      if constexpr (types::has_direct) {
        if (depth > keys::most_depth) continue;
      }
      // Keys that differ from what the nodes on the way begin with, and agree in more digits than
      // with that, cannot be parted yet.
      if (deepest != nullptr) {
        const auto same = deepest->depth_of_difference(after);
        if (same < depth && same < deepest->depth()) continue;
      }
      const bool is_near = distance(i) <= near;
      const bool was_near = best && distance(best->elements) <= near;
      const int digit = keys::digit_at(after, depth);
      bool is_better = !best || distance(i) < distance(best->elements);
      if (best && is_near && was_near) {
        const bool fits = middle::has_place_for(digit);
        const bool fitted = middle::has_place_for(best->digit);
        if (depth != best->depth) {
          is_better = depth < best->depth;
        } else if (fits != fitted) {
          is_better = fits;
        }
      }
      if (is_better) best = cut{.elements = i, .depth = depth, .digit = digit, .with = after};
    }
    if (best) return *best;
    // No two of them: they are parted from what the nodes on the way begin with.
    const auto depth = std::min(deepest->depth_of_difference(is_first ? key : held.at(0)),
                                deepest->depth_of_difference(is_last ? key : held.at(size - 1)));
    const bool are_before =
        keys::digit_at(is_first ? key : held.at(0), depth) < deepest->digit_at(depth);
    const int digit = deepest->digit_at(depth) + (are_before ? 0 : radix::of_a_byte);
    std::size_t elements = 0;
    while (elements < size && keys::digit_at(held.at(elements), depth) < digit) ++elements;
    return cut{.elements = elements, .depth = depth, .digit = digit, .with = held.at(0)};
  }

  // Puts what `with` is in the place of the leaf.
  [[nodiscard]] result replace(made_nodes& made, leaf& node, version seen, edge with,
                               guard_type& guard) {
    const level& parent = path_.back();
    locking locks(2);
    locks.add(*parent.lock, parent.seen);
    locks.add(node.lock, seen);
    if (!locks.take()) return result::lost;
    set_edge(parent, with);
    made.release();
    node.lock.unlock_obsolete();
    parent.lock->unlock();
    tree::retire(guard, &node);
    return result::done;
  }

  // The child of the node of level `at` gives way to two, the second of which begins at `digit`.
  // What is at the levels below, and the leaf, leave the tree.
  [[nodiscard]] result divide(std::size_t at, made_nodes& made, edge one, int digit, edge other,
                              leaf& node, version seen, guard_type& guard) {
    const level& parent = path_[at];
    const bool grows =
        types::as_it_is(parent.node, [digit](const auto& at_it) { return !at_it.has_room(digit); });
    edge grown = 0;
    if (grows) {
      grown = fit_in<middle>(parent.node, digit) ? copy<middle>(made, parent.node)
              : fit_in<wide>(parent.node, digit) ? copy<wide>(made, parent.node)
                                                 : copy<widest>(made, parent.node);
      split_child(grown, parent, one, digit, other);
    }
    locking locks(path_.size() + 2);
    if (grows) locks.add(*path_[at - 1].lock, path_[at - 1].seen);
    locks.add(*parent.lock, parent.seen);
    for (std::size_t each = at + 1; each < path_.size(); ++each) {
      locks.add(*path_[each].lock, path_[each].seen);
    }
    locks.add(node.lock, seen);
    if (!locks.take()) return result::lost;
    if (grows) {
      set_edge(path_[at - 1], grown);
    } else {
      split_child(parent.node, parent, one, digit, other);
    }
    made.release();
    close_from(grows ? at : at + 1, node);
    (grows ? path_[at - 1] : parent).lock->unlock();
    retire_from(grows ? at : at + 1, node, guard);
    return result::done;
  }

  // Joins the leaf, which is nearly empty, with the one before it or the next one, if that is a
  // leaf and they fit in one. An empty one is joined also where an inner node is in that place.
  [[nodiscard]] result join(leaf& node, version seen, guard_type& guard) {
    const std::size_t at = path_.size() - 1;
    for (const bool passes_nodes : {false, true}) {
      if (passes_nodes && node.places() != 0) break;
      result got = join_with<false>(at, node, seen, passes_nodes, guard);
      if (got == result::nothing_to_do) got = join_with<true>(at, node, seen, passes_nodes, guard);
      if (got != result::nothing_to_do) return got;
    }
    return result::nothing_to_do;
  }
  // With the sibling, or, if `passes_nodes`, with the nearest leaf below the sibling, which then is
  // an inner node. The ranges of all nodes down to that leaf change: copies take their places. The
  // parent is at level `at`.
  template <bool Next>
  [[nodiscard]] result join_with(std::size_t at, leaf& node, version seen, bool passes_nodes,
                                 guard_type& guard) {
    path_.erase(path_.begin() + static_cast<std::ptrdiff_t>(at) + 1, path_.end());
    const level parent = path_[at];
    edge sibling = 0;
    types::as_it_is(parent.node, [&](const auto& all) {
      const std::size_t place = all.place_of(parent.digit);
      if (Next ? all.is_last(place) : all.is_first(place)) return;
      sibling = all.child(Next ? all.after(place) : all.before(place));
    });
    const std::size_t children = types::inner_at(parent.node)->size();
    if (!parent.lock->validate(parent.seen)) return result::lost;  // (3) of radix_tree.h
    if (sibling == 0) return result::nothing_to_do;
    if (types::is_leaf(sibling) == passes_nodes) return result::nothing_to_do;
    constexpr int digit = Next ? radix::before_all : radix::after_all;
    while (!types::is_leaf(sibling)) {
      if (path_.size() - at > most_copied) return result::nothing_to_do;
      const level below = level_below(sibling, digit);
      if (!node_lock::is_free(below.seen)) return result::lost;
      path_.push_back(below);
      ASSAY_POINT("bt_map_balance_step");
      if (!below.lock->validate(below.seen)) return result::lost;  // (3) of radix_tree.h
      sibling = below.to;
    }
    leaf& other = *types::leaf_at(sibling);
    const version other_seen = other.lock.read();
    if (!node_lock::is_free(other_seen)) return result::lost;
    contents held;
    tree::collect_racing(node, held.all);
    tree::collect_racing(other, held.all);
    std::sort(held.all.begin(), held.all.end(), tree_->by_key());
    if (!node.lock.validate(seen) || !other.lock.validate(other_seen)) return result::lost;
    // If there were no room in the leaf of both, a key that comes and goes would part and join them
    // in turns.
    const bool fit =
        passes_nodes && !other.is_direct() ? held.size() < leaf_capacity : fit_in_one(held.size());
    if (!fit) return result::nothing_to_do;

    made_nodes made(*tree_);
    // If it were a direct one, the next key that is not near would part them again.
    edge both = leaf_of_elements(made, held.all.begin(), held.all.end());
    for (std::size_t each = path_.size(); each-- > at + 1;) {
      both = copy_with(made, path_[each], both);
    }
    // What takes the place of the parent: its only child, or a smaller node.
    edge instead = 0;
    if (children == 2) {
      instead = both;
    } else if (!types::is_narrow(parent.node) && children - 1 <= most_to_be_narrow) {
      instead = copy<narrow>(made, parent.node);
    }
    if (instead != 0 && instead != both) join_children<Next>(instead, parent, both);
    const level& holder = path_[at - 1];
    locking locks(path_.size() - at + 3);
    if (instead != 0) locks.add(*holder.lock, holder.seen);
    locks.add(*parent.lock, parent.seen);
    locks.add(node.lock, seen);
    for (std::size_t i = at + 1; i < path_.size(); ++i) locks.add(*path_[i].lock, path_[i].seen);
    locks.add(other.lock, other_seen);
    if (!locks.take()) return result::lost;
    if (instead != 0) {
      set_edge(holder, instead);
    } else {
      join_children<Next>(parent.node, parent, both);
    }
    made.release();
    other.lock.unlock_obsolete();
    close_from(instead != 0 ? at : at + 1, node);
    (instead != 0 ? holder : parent).lock->unlock();
    tree::retire(guard, &other);
    retire_from(instead != 0 ? at : at + 1, node, guard);
    return result::done;
  }

  // The nodes of the levels from i on, and the leaf, have left the tree.
  void close_from(std::size_t i, leaf& node) {
    ASSAY_POINT("bt_map_balance_before_unlock");
    node.lock.unlock_obsolete();
    for (std::size_t each = path_.size(); each-- > i;) path_[each].lock->unlock_obsolete();
  }
  void retire_from(std::size_t i, leaf& node, guard_type& guard) {
    tree::retire(guard, &node);
    for (std::size_t each = i; each < path_.size(); ++each) retire_inner(guard, path_[each].node);
  }
  static void retire_inner(guard_type& guard, edge to) {
    types::as_it_is(to, [&guard](auto& node) { tree::retire(guard, &node); });
  }

  // Changes the edge by which the way goes on from that level. The caller holds the level's lock.
  void set_edge(const level& at, edge to) {
    if (at.node == 0) {
      tree_->root.store(to, memory_order_release);  // (1) of bt_node.h
    } else {
      set_child(at.node, at.digit, to);
    }
  }
  static void set_child(edge at, int digit, edge to) {
    types::as_it_is(at, [=](auto& node) { node.set_child(node.place_of(digit), to); });
  }
  static void split_child(edge at, const level& on_way, edge one, int digit, edge other) {
    types::as_it_is(
        at, [&](auto& node) { node.split(node.place_of(on_way.digit), one, digit, other); });
  }
  // The child on the way and the one before it or the next one.
  template <bool Next>
  static void join_children(edge at, const level& on_way, edge both) {
    types::as_it_is(at, [&](auto& node) {
      const std::size_t place = node.place_of(on_way.digit);
      node.join(Next ? place : node.before(place), both);
    });
  }

  // A copy of a node, of another kind or the same. What was read while the node was changed gives
  // no more children than it has room for.
  template <class Node>
  static edge copy(made_nodes& made, edge from) {
    Node& node = made.template make<Node>(types::inner_at(from)->keys_begin);
    tree::for_each_child(from, [&node](int digit, edge child) {
      if (node.has_room(digit) || node.size() == 0) node.append(digit, child);
    });
    return types::edge_to(&node);
  }
  // Whether the node's children, and one that begins at that digit, have places in such a node.
  template <class Node>
  static bool fit_in(edge from, int more) {
    bool fits = Node::has_place_for(more);
    tree::for_each_child(from, [&fits](int digit, edge /*child*/) {
      if (digit != radix::before_all && !Node::has_place_for(digit)) fits = false;
    });
    return fits;
  }
  // A copy of the level's node whose way goes on to `to`.
  static edge copy_with(made_nodes& made, const level& at, edge to) {
    const edge copied = types::as_it_is(
        at.node, [&]<class Node>(const Node& /*node*/) { return copy<Node>(made, at.node); });
    set_child(copied, at.digit, to);
    return copied;
  }

  tree* tree_;
  std::vector<level> path_;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_RADIX_BALANCE_H_
