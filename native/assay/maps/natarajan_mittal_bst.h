// A map in order of its keys that many threads update at once, without locks: the external binary
// search tree of Natarajan and Mittal (PPoPP 2014).
//
//     assay::natarajan_mittal_bst<std::string, int> ages;     // any key with an order, any value
//
//     auto handle = ages.attach();                            // in each thread
//     handle.insert("Ada", 36);                               // true: she was not there
//     handle.insert("Ada", 37);                               // false, and 36 stays
//     handle.find("Ada");                                     // std::optional(36)
//     handle.erase("Ada");                                    // true
//
//     ages.for_each([](const std::string& name, int age) { ... });   // while no call runs
//
// Searches write nothing and never begin again. An insert takes one compare-and-swap, an erase
// three, if nobody interferes. The tree does not balance itself: keys that arrive in random order
// give leaves a depth of about 2 ln(n), or 1.39 log2(n), on average, ascending ones a list.
//
// The idea
// --------
// Elements are in leaves (external_tree.h). Threads coordinate on edges, not on nodes: an edge
// that carries a mark never changes its target again. There are two marks:
//
//     flag   on the edge to a leaf: this leaf is to be erased, and its parent goes with it
//     tag    on the edge to the leaf's sibling: the sibling is to move up to the parent's place
//
// To erase a leaf, a thread flags the edge to it (*injection*), tags the edge to its sibling, and
// swings an edge above them over to the sibling (*splicing*). That edge is that of the *ancestor*:
// the last edge without a tag on the way to the parent. Between it and the parent there may be more
// internal nodes that others are about to remove, a *chain*, and the swing removes the chain whole:
//
//       |  ancestor's edge                |  ancestor's edge
//       n0  the successor                 |
//      /  `tag                            |
//     a(f)  n1                    =>      |          n0, n1, n2 and the leaves a, b, k are gone;
//          /  `tag                        |          s keeps its flag, if it had one
//         b(f)  n2  the parent            |
//              /  `tag                    |
//             k(f)  s  the sibling        s
//
// An insert replaces the edge to a leaf by one to a fork of that leaf and the new one. A thread
// that wants to change an edge and finds it marked first splices on behalf of the thread that
// marked it.
//
// An insert takes effect by its compare-and-swap, an erase by the swing that removes its leaf,
// which may be another thread's; until then the leaf counts as present. A search may end in a part
// of the tree that was removed while it was there. Its answer was then right at the moment of the
// removal: all edges there were marked, and have not changed since.
//
// Who retires what
// ----------------
// The published algorithm leaves this open, and a thread that retires the leaf and the parent of
// its own operation leaks the rest of every chain (Kharal and Brown 2022, section 5; Arbel-Raviv,
// Brown and Morrison 2018). Here the thread whose swing succeeds retires what that swing removed:
// it walks from successor to parent, and retires each internal node with the leaf beside the way,
// and at the parent the leaf that is erased. This is every removed node, exactly once:
//
// 1. *A marked edge keeps its target.* Every compare-and-swap expects an edge without marks; marks
//    are only added.
// 2. *A flagged edge leads to a leaf, and an edge is tagged only after the one beside it was
//    flagged.* Flags are set on edges to leaves, and move with them when they are spliced. A thread
//    tags beside a flagged edge; if it finds the edge on its own way tagged and not flagged, then
//    by induction the other one is flagged.
// 3. *So the chain is as drawn when the swing succeeds.* The seek saw the edges from successor to
//    parent tagged, hence (1) they still are. Each leads to an internal node, hence (2) carries no
//    flag itself, and the edge beside it is flagged and leads to a leaf. At the parent, one edge is
//    flagged, the other tagged.
// 4. *Both edges of a removed internal node are marked*, by (3), and stay so. The swing expects an
//    unmarked edge, so it changes a node that has not been removed, and the successor was in the
//    tree.
// 5. *What a swing removes was in the tree just before and is not afterwards:* the chain hangs by
//    the one edge that the swing changed, and the sibling is the only way out of it that survives.
//    Nothing comes back, since new edges lead to new nodes, or to a sibling that was in the tree.
//    So each node is removed by one swing, and each swing succeeds in one thread.
//
// (1) needs that the address of a removed node is not that of a new one while some thread still
// compares with it, which the guard of that thread sees to.
//
// A chain has at most one internal node for each erase under way. A guard retires 256 nodes without
// an allocation, and there must be none after the swing; so if more than 128 erases take effect at
// once, which takes as many threads in the middle of one, the last node that was retired owns the
// rest, and its destructor deletes it.
//
// Edges
// -----
// Edges are atomic; docs/guide/trees.md tells what went wrong where they were not.
//
// - A step decides on one load of each, kept in a `route`: marks, address, and the word that the
//   compare-and-swap expects.
// - A sibling's edge is read by the instruction that tags it (4), not after that, so that nothing
//   comes between, and by (1) the answer stays true.
// - An edge is never stored to, only compared and swapped from what was seen, or marked.
//
// Reclamation
// -----------
// Needs a policy that protects everything reached after pin(): epochs (the default), or none at
// all. Hazard pointers are unsound here, and refused. A seek passes through nodes that may be
// removed already, and their edges no longer change: that an edge still holds a node's address
// after the address was announced proves nothing, as the node may have been freed before.
//
// Types
// -----
// Keys and values are copied; copies and comparisons may throw. A call that throws std::bad_alloc,
// or what a copy throws, has changed nothing: all memory is there before the call takes effect. Nor
// has an insert or a search whose comparison throws. An erase whose comparison throws is as if its
// thread had stopped there: either nothing has changed, or its leaf is flagged. Then the element
// counts as present until another erase of its key, an insert of a key that belongs beside it, or
// an erase beside it finishes the erase. Destructors must not throw. `Compare` is a strict weak
// order, called from many threads at once, and comparisons do not call the map by the same handle.

#ifndef ASSAY_MAPS_NATARAJAN_MITTAL_BST_H_
#define ASSAY_MAPS_NATARAJAN_MITTAL_BST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "assay/maps/concept.h"
#include "assay/maps/external_tree.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"
#include "assay/sync/atomics.h"
#include "assay/sync/point.h"

namespace assay {

// Two steps that can be got wrong. What derives from this and replaces one is a tree to compare
// with the sound one: see native/flawed/maps/natarajan_lost_update.h and
// native/subjects/natarajan_mittal_bst_as_published.h.
struct natarajan_mittal_steps {
  // Tags the edge to a sibling, and answers what it held, which changes no more.
  static external_tree::edge tag_sibling(external_tree::atomic_edge& sibling,
                                         external_tree::edge tag) {
    return sibling.fetch_or(tag, memory_order_acq_rel);  // (4) with (2)
  }
  // Retires a node of a chain that is neither the parent nor the leaf of one's own erase.
  template <class Node, class Guard>
  static void retire_in_chain(Node* node, Guard& guard) {
    guard.retire(node);
  }
};

// Its functions are called by any thread, those that say "at rest" while no thread is inside a call
// to a handle and all calls that ended happen before.
template <class K, class V, class Reclaim = reclaim::epochs, class Compare = std::less<K>,
          class Steps = natarajan_mittal_steps>
class natarajan_mittal_bst {
  static_assert(reclaim::policy<Reclaim>,
                "the third parameter of natarajan_mittal_bst is not a reclamation policy: use "
                "reclaim::epochs or reclaim::none, or a type that does what "
                "assay/reclaim/concept.h asks of one.");
  static_assert(Reclaim::protects == reclaim::protection::everything,
                "natarajan_mittal_bst cannot be used with hazard pointers: its searches pass "
                "through nodes that are already unlinked, whose edges never change again, so that "
                "no check of an edge can tell whether the next node still exists. Use "
                "reclaim::epochs.");

  using edge = external_tree::edge;
  using atomic_edge = external_tree::atomic_edge;
  using leaf = external_tree::leaf<K, V>;

  static constexpr edge flag = 1;
  static constexpr edge tag = 2;
  static constexpr bool is_marked(edge to) { return (to & (flag | tag)) != 0; }

  struct internal {
    // One copy of the key, which need not be movable.
    // NOLINTNEXTLINE(modernize-pass-by-value)
    internal(const K& key_, edge left, edge right) : key(key_), child{left, right} {}
    ~internal() { delete_owned(); }
    internal(const internal&) = delete;
    internal& operator=(const internal&) = delete;

    // Makes this node, which was removed, the owner of the next one in its chain and of the leaf
    // beside that. A flag on the edge to an internal node says so: there is none otherwise.
    void own(std::size_t side) { child[side].fetch_or(flag, memory_order_relaxed); }

    void delete_owned() {
      using external_tree::is_leaf;
      using external_tree::node_at;
      for (const atomic_edge& way : child) {
        const edge to = way.load(memory_order_relaxed);
        if ((to & flag) == 0 || is_leaf(to)) continue;
        auto* const next = node_at<internal>(to);
        delete node_at<leaf>(next->child[beside_way(*next)].load(memory_order_relaxed));
        delete next;
      }
    }

    const K key;
    std::array<atomic_edge, 2> child;
  };

  // Of a node in a chain but the last: the side of the leaf, which is not that of the way.
  static std::size_t beside_way(const internal& node) {
    return external_tree::is_leaf(node.child[0].load(memory_order_relaxed)) ? 0 : 1;
  }

 public:
  // As long as the allocator is.
  static constexpr bool lock_free = true;

  // A thread's access to the map. Only the thread that attached it calls it, and not within a call
  // to it, as from a comparison or a copy. It is destroyed before the map is, outside its calls, by
  // that thread or by one that knows that it is done, as after joining it. Debug builds abort, with
  // a message, on a call by another thread, within a call, or after it was moved from, and when it
  // outlives its map.
  class handle {
   public:
    // Adds the element if no element has its key; says whether it did. Lock-free. Throws
    // std::bad_alloc and what copies and comparisons throw, with nothing changed.
    bool insert(parameter<K> key, parameter<V> value) {
      std::unique_ptr<leaf> fresh;
      for (;;) {
        auto guard = me_.pin();
        const route at = map_->seek(key);
        if (at.last != 0 && map_->holds(at.last, key)) return false;
        if (is_marked(at.last)) {
          map_->splice(at, guard);
          continue;
        }
        if (!fresh) fresh.reset(new leaf{key, value});
        if (map_->link(at, fresh)) return true;
      }
    }

    // Removes the element of that key if there is one; says whether it did. Lock-free. Throws
    // std::bad_alloc, with nothing changed. What a comparison throws may leave it half done: see
    // "Types" above.
    bool erase(parameter<K> key) {
      for (;;) {
        auto guard = me_.pin();
        route at = map_->seek(key);
        if (at.last == 0 || !map_->holds(at.last, key)) return false;
        if (is_marked(at.last)) {
          map_->splice(at, guard);
          continue;
        }
        ASSAY_POINT("natarajan_mittal_erase_before_flag");
        edge expected = at.last;
        // (1) Nothing new is published, and the leaf's maker still heads the release sequence; a
        // release all the same, so that who sees the flag sees what came before it.
        if (!at.way->compare_exchange_strong(expected, at.last | flag, memory_order_acq_rel,
                                             memory_order_relaxed)) {
          continue;
        }
        ASSAY_POINT("natarajan_mittal_erase_after_flag");
        // From here on the leaf will go, by this thread or another. The guard must last until it
        // has: only then does its address say for sure that it is still there.
        const edge own = at.last & ~external_tree::marks;
        while (!map_->splice(at, guard)) {
          at = map_->seek(key);
          if ((at.last & ~external_tree::marks) != own) break;
        }
        return true;
      }
    }

    // The value of that key, if there is one. Reads only, and never begins again: it takes as many
    // steps as the tree is deep, and is lock-free as long as others do not deepen the tree ahead of
    // it for ever. Throws std::bad_alloc and what comparisons and copies of a value throw.
    [[gnu::always_inline]] std::optional<V> find(parameter<K> key) {
      std::optional<V> found;
      [[maybe_unused]] const auto guard = me_.pin();
      const edge to = map_->search(key);
      if (to != 0 && map_->holds(to, key)) found.emplace(external_tree::node_at<leaf>(to)->value);
      return found;
    }

    // Whether there is an element of that key. As find().
    bool contains(parameter<K> key) {
      [[maybe_unused]] const auto guard = me_.pin();
      const edge to = map_->search(key);
      return external_tree::unbranched(to != 0 && map_->holds(to, key));
    }

   private:
    friend natarajan_mittal_bst;
    explicit handle(natarajan_mittal_bst& map) : map_(&map), me_(map.domain_.join()) {}

    natarajan_mittal_bst* map_;
    typename Reclaim::participant me_;
  };

  natarajan_mittal_bst() = default;
  explicit natarajan_mittal_bst(Compare less) : less_(std::move(less)) {}
  natarajan_mittal_bst(const natarajan_mittal_bst&) = delete;
  natarajan_mittal_bst& operator=(const natarajan_mittal_bst&) = delete;
  // At rest, with no handle left. Deletes everything.
  ~natarajan_mittal_bst() { clear(); }

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] handle attach() { return handle(*this); }

  // Calls visit(key, value) for each element, in ascending order. At rest. Throws std::bad_alloc
  // and what `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    external_tree::for_each_leaf<leaf, internal>(
        root_.load(memory_order_acquire), [&](const leaf& held) { visit(held.key, held.value); });
  }

  // Removes all elements, and frees at once the memory of these and of all that were erased before.
  // At rest. Erased elements are not freed under reclaim::none, and a policy of your own without
  // free_all() frees them when it otherwise would.
  void clear() noexcept {
    external_tree::delete_all<leaf, internal>(root_.exchange(0, memory_order_acq_rel));
    if constexpr (requires { domain_.free_all(); }) domain_.free_all();
  }

  // What is wrong with the tree, if anything is: its order, its shape, or a mark that is left over,
  // as after an erase whose comparison threw. At rest, for tests. Throws std::bad_alloc.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    struct faults {
      const char* operator()(edge to) const {
        if ((to & flag) != 0) return "is still flagged";
        return (to & tag) != 0 ? "is still tagged" : nullptr;
      }
      const char* operator()(const internal&) const { return nullptr; }
    };
    return external_tree::broken_order<leaf, internal>(root_.load(memory_order_acquire), less_,
                                                       faults{});
  }

  // How many removed nodes wait to be freed; an estimate while threads are inside calls.
  [[nodiscard]] std::uint64_t unfreed() const { return domain_.unfreed(); }

 private:
  // Where a seek came to: ancestor, successor, parent and leaf of the paper.
  struct route {
    atomic_edge* ancestor;  // the last edge on the way without a tag, that to the leaf left out
    edge successor;         // what it held
    internal* parent;       // of the leaf; null if that hangs from the root
    atomic_edge* way;       // the edge to the leaf
    edge last;              // what it held; 0 in an empty tree
  };

  [[nodiscard]] std::size_t side_of(parameter<K> key, const internal& node) const {
    return less_(key, node.key) ? 0 : 1;
  }

  [[nodiscard]] bool holds(edge to, parameter<K> key) const {
    const K& held = external_tree::node_at<const leaf>(to)->key;
    return !less_(key, held) && !less_(held, key);
  }

  // (2) Every load of an edge on the way down is an acquire, and meets the release of whoever
  // linked the node there, (3) or (5), possibly through marks added since, which continue its
  // release sequence. Who sees a tag also sees the flag that was there first (4).

  // The edge to the leaf where `key` is, if it is anywhere; 0 if there is none.
  [[nodiscard]] edge search(parameter<K> key) const {
    edge to = root_.load(memory_order_acquire);  // (2)
    if (to == 0) return 0;
    while (external_tree::is_internal(to)) {
      ASSAY_POINT("natarajan_mittal_search_step");
      const auto* node = external_tree::node_at<const internal>(to);
      to = node->child[side_of(key, *node)].load(memory_order_acquire);  // (2)
    }
    return to;
  }

  [[nodiscard]] route seek(parameter<K> key) {
    route at{.ancestor = &root_,
             .successor = 0,
             .parent = nullptr,
             .way = &root_,
             .last = root_.load(memory_order_acquire)};  // (2)
    if (at.last == 0) return at;
    while (external_tree::is_internal(at.last)) {
      ASSAY_POINT("natarajan_mittal_seek_step");
      if ((at.last & tag) == 0) {
        at.ancestor = at.way;
        at.successor = at.last;
      }
      at.parent = external_tree::node_at<internal>(at.last);
      at.way = &at.parent->child[side_of(key, *at.parent)];
      at.last = at.way->load(memory_order_acquire);  // (2)
    }
    return at;
  }

  // Puts a new leaf where a seek for its key came to, beside the leaf that is there, if any. Says
  // whether it did, and then owns it no more.
  [[nodiscard]] bool link(const route& at, std::unique_ptr<leaf>& fresh) {
    std::unique_ptr<internal> fork;
    edge linked = external_tree::edge_to(fresh.get());
    if (at.last != 0) {
      const K& met = external_tree::node_at<const leaf>(at.last)->key;
      fork = less_(fresh->key, met) ? std::make_unique<internal>(met, linked, at.last)
                                    : std::make_unique<internal>(fresh->key, at.last, linked);
      linked = external_tree::edge_to(fork.get());
    }
    ASSAY_POINT("natarajan_mittal_insert_before_link");
    edge expected = at.last;
    // (3) with (2)
    if (!at.way->compare_exchange_strong(expected, linked, memory_order_acq_rel,
                                         memory_order_relaxed)) {
      return false;
    }
    ASSAY_POINT("natarajan_mittal_insert_after_link");
    static_cast<void>(fork.release());
    static_cast<void>(fresh.release());
    return true;
  }

  // Carries out the erase whose marks a seek came to; says whether it was this thread that did.
  // Retires what that removed.
  template <class Guard>
  bool splice(const route& at, Guard& guard) {
    if (at.parent == nullptr) return unlink_only_leaf(guard);
    const std::size_t side = at.way == &at.parent->child[1] ? 1 : 0;
    // Flagged: this leaf goes. Only tagged: the one beside it does.
    const bool flagged = (at.way->load(memory_order_acquire) & flag) != 0;  // (4) was seen by (2)
    const std::size_t gone = flagged ? side : 1 - side;
    ASSAY_POINT("natarajan_mittal_splice_before_tag");
    const edge stays = Steps::tag_sibling(at.parent->child[1 - gone], tag);
    ASSAY_POINT("natarajan_mittal_splice_before_swing");
    edge expected = at.successor;
    // (5) with (2); what the sibling leads to was acquired together with its address.
    if (!at.ancestor->compare_exchange_strong(expected, stays & ~tag, memory_order_acq_rel,
                                              memory_order_relaxed)) {
      return false;
    }
    ASSAY_POINT("natarajan_mittal_splice_after_swing");
    const edge erased = at.parent->child[gone].load(memory_order_relaxed);
    retire_chain(external_tree::node_at<internal>(at.successor), at.parent, guard);
    guard.retire(at.parent);
    guard.retire(external_tree::node_at<leaf>(erased));
    return true;
  }

  // As splice(), for a leaf without a parent: it leaves an empty tree.
  template <class Guard>
  bool unlink_only_leaf(Guard& guard) {
    edge expected = root_.load(memory_order_acquire);
    // The seek saw the flag here; if the leaf has gone meanwhile, there may be anything.
    if (!external_tree::is_leaf(expected) || (expected & flag) == 0) return false;
    ASSAY_POINT("natarajan_mittal_splice_before_swing");
    const edge erased = expected;
    if (!root_.compare_exchange_strong(expected, 0, memory_order_acq_rel, memory_order_relaxed)) {
      return false;
    }
    ASSAY_POINT("natarajan_mittal_splice_after_swing");
    guard.retire(external_tree::node_at<leaf>(erased));
    return true;
  }

  // Retires the chain from its first node up to its last, which is left out, with the leaves beside
  // the way. All edges there are marked and were read before, hence relaxed loads.
  template <class Guard>
  static void retire_chain(internal* first, internal* last, Guard& guard) {
    // Two nodes at each step, and two that are left for splice().
    std::size_t steps = (reclaim::retires_per_guard - 2) / 2;
    for (internal *node = first, *next = nullptr; node != last; node = next) {
      const std::size_t beside = beside_way(*node);
      next = external_tree::node_at<internal>(node->child[1 - beside].load(memory_order_relaxed));
      if (steps <= 1 && next != last) node->own(1 - beside);
      if (steps == 0) continue;  // this one is owned by the one before
      --steps;
      auto* const erased =
          external_tree::node_at<leaf>(node->child[beside].load(memory_order_relaxed));
      Steps::retire_in_chain(erased, guard);
      Steps::retire_in_chain(node, guard);
    }
  }

  // Read by every call, and apart from what else is written.
  alignas(64) atomic_edge root_{0};
  [[no_unique_address]] Compare less_{};
  alignas(64) Reclaim domain_;
};

}  // namespace assay

#endif  // ASSAY_MAPS_NATARAJAN_MITTAL_BST_H_
