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
//     ages.for_each([](const std::string& name, int age) { ... });   // at rest
//
// A thread that is stopped in the middle of an update holds up nobody. docs/guide/trees.md says
// when to use this tree, how it differs from the paper, and what other implementations got wrong.
//
// Promises
// --------
// insert, erase, find and contains are linearizable and lock-free, as far as the allocator is. A
// search writes nothing to the tree and never begins again. An insert takes one compare-and-swap,
// an erase three, if no other thread interferes.
//
// The tree does not balance itself. Keys that arrive in random order give leaves a depth of about
// 2 ln(n), or 1.39 log2(n), on average; keys that arrive in ascending order give a list.
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
// swings an edge above them over to the sibling (*splicing*). This edge belongs to the
// *ancestor*: the last edge without a tag on the way to the parent. Between it and the parent there
// may be more internal nodes that others are about to remove, a *chain*. The swing removes the
// whole chain:
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
// An insert replaces the edge to a leaf by an edge to a fork of this leaf and the new one. A thread
// that wants to change an edge and finds it marked first splices on behalf of the thread that
// marked it.
//
// An insert takes effect by its compare-and-swap. An erase takes effect by the swing that removes
// its leaf, which may be another thread's; until then the leaf counts as present. A search may end
// in a part of the tree that was removed while it was there. Its answer was then right at the
// moment of the removal: all edges there were marked, and have not changed since.
//
// Who retires what
// ----------------
// The thread whose swing succeeds retires what the swing removed. It walks from the successor to
// the parent, and retires each internal node with its leaf next to the way, and at the parent the
// leaf that is erased. This is every removed node, exactly once:
//
// 1. *A marked edge keeps its target.* Every compare-and-swap expects an edge without marks; marks
//    are only added.
// 2. *A flagged edge leads to a leaf, and an edge is tagged only after its sibling edge was
//    flagged.* Flags are set on edges to leaves, and move with them when they are spliced. A thread
//    tags the sibling of a flagged edge; if it finds the edge on its own way tagged and not
//    flagged, then by induction the other one is flagged.
// 3. *So the chain is as drawn when the swing succeeds.* The seek saw the edges from successor to
//    parent tagged, hence they still are, by 1. Each leads to an internal node, hence carries no
//    flag itself, by 2, and its sibling edge is flagged and leads to a leaf. At the parent, one
//    edge is flagged, the other tagged.
// 4. *Both edges of a removed internal node are marked*, by 3, and stay so. The swing expects an
//    unmarked edge, so it changes a node that has not been removed, and the successor was in the
//    tree.
// 5. *What a swing removes was in the tree just before and is not afterwards:* the chain hangs by
//    the one edge that the swing changed, and the sibling is the only way out of it that survives.
//    Nothing comes back, since new edges lead to new nodes, or to a sibling that was in the tree.
//    So each node is removed by one swing, and each swing succeeds in one thread.
//
// For 1, the address of a removed node must not become that of a new node while some thread still
// compares with it. This thread's guard prevents that.
//
// A chain has at most one internal node for each erase under way. A guard retires 256 nodes without
// an allocation, and there must be none after the swing. If more than 128 erases take effect at
// once, for which as many threads must be in the middle of one, the last node that was retired owns
// the rest, and its destructor deletes it.
//
// Edges
// -----
// - A step decides on one load of each edge, kept in a `route`: marks, address, and the word that
//   the compare-and-swap expects.
// - A sibling's edge is read by the instruction that tags it (4), not after that, so that nothing
//   comes between, and by 1 the answer stays true.
// - An edge is never stored to: it is compared and swapped from what was seen, or marked.
//
// Reclamation
// -----------
// Needs a policy that protects everything reached after pin(): epochs (the default), or none at
// all. Hazard pointers are unsound here, and refused: a seek passes through nodes that may be
// removed already, and their edges no longer change. That an edge still holds a node's address
// after the address was announced proves nothing, as the node may have been freed before.
//
// Types
// -----
// Keys and values are copied; copies and comparisons may throw. A call that throws std::bad_alloc,
// or what a copy throws, has changed nothing: all memory is there before the call takes effect. Nor
// has an insert or a search whose comparison throws. An erase whose comparison throws is as if its
// thread had stopped there: either nothing has changed, or its leaf is flagged. A flagged element
// counts as present until an update that comes by finishes the erase: an erase of its key or of a
// neighbouring one, or an insert of a key that belongs next to it. Destructors must not throw.
// `Compare` is a strict weak order, called from many threads at once, and comparisons do not call
// the map by the same handle. Types may have any alignment.

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

#include "assay/base/atomics.h"
#include "assay/base/point.h"
#include "assay/maps/concept.h"
#include "assay/maps/external_tree.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"

namespace assay {

// `Reclaim` decides when memory is freed, `Compare` orders the keys, and `Observer` is called for
// what a program may want to count (no_observer in external_tree.h).
//
// Class `map` in external_tree.h describes attach(), for_each(), shape(), clear() and unfreed(),
// and the handles' find() and contains(). A search takes as many steps as the tree is deep, and is
// lock-free as long as others do not deepen the tree ahead of it for ever.
template <class K, class V, class Reclaim = reclaim::epochs, class Compare = std::less<K>,
          class Observer = external_tree::no_observer>
class natarajan_mittal_bst
    : public external_tree::map<natarajan_mittal_bst<K, V, Reclaim, Compare, Observer>, K, V,
                                Reclaim, Compare> {
  static_assert(reclaim::policy<Reclaim>,
                "the third parameter of natarajan_mittal_bst is not a reclamation policy: use "
                "reclaim::epochs or reclaim::none, or a type that does what "
                "assay/reclaim/concept.h asks of one.");
  static_assert(Reclaim::protects == reclaim::protection::everything,
                "natarajan_mittal_bst cannot be used with hazard pointers: its searches pass "
                "through nodes that are already unlinked, whose edges never change again, so that "
                "no check of an edge can tell whether the next node still exists. Use "
                "reclaim::epochs.");

  using base = external_tree::map<natarajan_mittal_bst, K, V, Reclaim, Compare>;
  friend base;
  using edge = external_tree::edge;
  using atomic_edge = external_tree::atomic_edge;
  using leaf = external_tree::leaf<K, V>;
  using base::less_, base::root_;

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

    // Makes this removed node the owner of the next one in its chain and of that one's sibling
    // leaf. A flag on the edge to an internal node says so: there is none otherwise.
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

  // The side of the leaf, not of the way, for a node in a chain other than the last.
  static std::size_t beside_way(const internal& node) {
    return external_tree::is_leaf(node.child[0].load(memory_order_relaxed)) ? 0 : 1;
  }

 public:
  // As far as the allocator is.
  static constexpr bool lock_free = true;

  class handle : public base::access {
    using base::access::map_, base::access::me_;

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
          help(at, guard);
          continue;
        }
        if (!fresh) fresh.reset(new leaf{key, value});
        if (map_->link(at, fresh)) return true;
        Observer::restarted();
      }
    }

    // Removes the element with the key if there is one; says whether it did. Lock-free. Throws
    // std::bad_alloc, with nothing changed. What a comparison throws may leave it half done: see
    // "Types" above.
    bool erase(parameter<K> key) {
      for (;;) {
        auto guard = me_.pin();
        route at = map_->seek(key);
        if (at.last == 0 || !map_->holds(at.last, key)) return false;
        if (is_marked(at.last)) {
          help(at, guard);
          continue;
        }
        ASSAY_POINT("natarajan_mittal_erase_before_flag");
        edge expected = at.last;
        // (1) Nothing new is published, and the leaf's maker still heads the release sequence; a
        // release all the same, so that who sees the flag sees what came before it.
        if (!at.way->compare_exchange_strong(expected, at.last | flag, memory_order_acq_rel,
                                             memory_order_relaxed)) {
          Observer::restarted();
          continue;
        }
        ASSAY_POINT("natarajan_mittal_erase_after_flag");
        // From here on the leaf will go, by this thread or another. The guard must last until it
        // has: only then does its address say for sure that it is still there.
        const edge own = at.last & ~external_tree::marks;
        while (!map_->splice(at, guard)) {
          Observer::restarted();
          at = map_->seek(key);
          if ((at.last & ~external_tree::marks) != own) break;
        }
        return true;
      }
    }

   private:
    // Carries out another thread's erase, which is in the way, before an update begins again.
    template <class Guard>
    void help(const auto& at, Guard& guard) {
      if (map_->splice(at, guard)) Observer::helped();
      Observer::restarted();
    }

    friend base;
    explicit handle(natarajan_mittal_bst& map) : base::access(map) {}
  };

  natarajan_mittal_bst() = default;
  explicit natarajan_mittal_bst(Compare order) : base(std::move(order)) {}

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

 private:
  // Where a seek came to: ancestor, successor, parent and leaf of the paper.
  struct route {
    atomic_edge* ancestor;  // the last edge on the way without a tag, that to the leaf left out
    edge successor;         // what it held
    internal* parent;       // of the leaf; null if that hangs from the root
    atomic_edge* way;       // the edge to the leaf
    edge last;              // what it held; 0 in an empty tree
  };

  // (2) Every load of an edge on the way down, here and in a search (external_tree.h), is an
  // acquire, and meets the release of whoever linked the node there, (3) or (5), possibly through
  // marks added since, which continue its release sequence. Who sees a tag also sees the flag that
  // was there first (4).

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
      at.way = &at.parent->child[this->side_of(key, *at.parent)];
      at.last = at.way->load(memory_order_acquire);  // (2)
    }
    return at;
  }

  // Puts a new leaf where a seek for its key ended, next to the leaf that is there, if any. Says
  // whether it did, and then owns it no more.
  [[nodiscard]] bool link(const route& at, std::unique_ptr<leaf>& fresh) {
    return base::link(at.last, fresh, [&at](edge linked) {
      ASSAY_POINT("natarajan_mittal_insert_before_link");
      edge expected = at.last;
      // (3) with (2)
      if (!at.way->compare_exchange_strong(expected, linked, memory_order_acq_rel,
                                           memory_order_relaxed)) {
        return false;
      }
      ASSAY_POINT("natarajan_mittal_insert_after_link");
      return true;
    });
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
    // (4) with (2). What the edge held changes no more.
    const edge stays = at.parent->child[1 - gone].fetch_or(tag, memory_order_acq_rel);
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

  // Retires the chain's nodes from the first to the last but one, with the leaves next to the way.
  // All edges there are marked and were read before, hence relaxed loads.
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
      guard.retire(erased);
      guard.retire(node);
    }
  }
};

}  // namespace assay

#endif  // ASSAY_MAPS_NATARAJAN_MITTAL_BST_H_
