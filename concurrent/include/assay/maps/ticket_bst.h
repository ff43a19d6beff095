// A map in order of its keys that many threads update at once, with locks so fine that they rarely
// meet: BST-TK of David, Guerraoui and Trigonakis (ASPLOS 2015).
//
//     assay::ticket_bst<std::string, int> ages;               // any key with an order, any value
//
//     auto handle = ages.attach();                            // in each thread
//     handle.insert("Ada", 36);                               // true: she was not there
//     handle.insert("Ada", 37);                               // false, and 36 stays
//     handle.find("Ada");                                     // std::optional(36)
//     handle.erase("Ada");                                    // true
//
//     ages.for_each([](const std::string& name, int age) { ... });   // at rest
//
// docs/guide/trees.md says when to use this tree, and how it differs from the paper.
//
// Promises
// --------
// insert, erase, find and contains are linearizable. Searches take no lock, write nothing to the
// tree and never wait. An insert takes one lock; an erase takes one, and then a pair of locks by
// one instruction. An update never waits for a lock: it begins again. So a thread that is stopped
// while it holds a lock holds up the updates that need the same edge, and nothing else. Locks are
// held for a few instructions, in which nothing of the user's is called and no memory is asked for.
//
// The tree does not balance itself. Keys that arrive in random order give leaves a depth of about
// 2 ln(n), or 1.39 log2(n), on average; keys that arrive in ascending order give a list.
//
// The idea
// --------
// Elements are in leaves (external_tree.h). An internal node has a lock with a version for each of
// its two edges (locks/version_locks.h). An update goes down like a search, without locks. It then
// reads the versions of the locks that it will need, checks that the edges still are those that it
// came along, and tries to take the locks at those versions. If one is taken, or has been taken
// since, the update begins again from the root.
//
//     insert   locks the edge to the leaf that it came to, and replaces it by an edge to a fork of
//              that leaf and the new one
//     erase    locks the edge to the leaf's parent, and both edges of the parent for ever, and
//              replaces the former by an edge to the leaf's sibling
//
// The locks of a removed node stay taken, so that no update ever succeeds on it. Its edges
// therefore do not change again, and a search that is in a removed part of the tree answers what
// was right when that part was removed.
//
// An insert takes effect when it replaces the edge to the leaf, an erase when it replaces the edge
// to the parent. The erase alone removes these two nodes, which it holds locked, and retires them:
// each removed node is retired exactly once.
//
// Reclamation
// -----------
// Every policy is sound.
//
// - With one that protects everything after pin() there is nothing to do.
// - With hazard pointers, the way down announces three nodes at a time: a node n that it came to,
//   the one above it, and the one below, c. When c is announced and n's edge still leads to it, the
//   search must know that n was still in the tree at that time: then so was c, and whoever retires
//   c later sees the announcement. A node is locked for ever before it is removed. So if n is not
//   locked for ever, it was in the tree. If it is, it still is in the tree as long as the edge
//   above leads to it and this edge's node, g, is itself not locked for ever. Otherwise the
//   search begins again at the root. It does so only if n was removed meanwhile: while an eraser
//   has locked n for ever and not removed it yet, the eraser holds the lock of g's edge, hence g
//   cannot be locked for ever. So an eraser that stops for good in between holds up no search.
//
// Types
// -----
// Keys and values are copied; copies and comparisons may throw. A call that throws has changed
// nothing: everything that can throw is done before a lock is taken. Destructors must not throw.
// `Compare` is a strict weak order, called from many threads at once, and comparisons do not call
// the map by the same handle. Types may have any alignment.

#ifndef ASSAY_MAPS_TICKET_BST_H_
#define ASSAY_MAPS_TICKET_BST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/point.h"
#include "assay/locks/version_locks.h"
#include "assay/maps/concept.h"
#include "assay/maps/external_tree.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"

namespace assay {

// `Reclaim` decides when memory is freed, `Compare` orders the keys, and `Observer` is called for
// what a program may want to count (no_observer in external_tree.h).
//
// Class `map` in external_tree.h describes attach(), for_each(), shape(), clear() and unfreed(),
// and the handles' find() and contains(). A search takes as many steps as the tree is deep. It
// begins again only with hazard pointers, when a node was removed under it: then it is lock-free.
template <class K, class V, class Reclaim = reclaim::epochs, class Compare = std::less<K>,
          class Observer = external_tree::no_observer>
class ticket_bst : public external_tree::map<ticket_bst<K, V, Reclaim, Compare, Observer>, K, V,
                                             Reclaim, Compare, sync::version_locks> {
  static_assert(reclaim::policy<Reclaim>,
                "the third parameter of ticket_bst is not a reclamation policy: use "
                "reclaim::epochs, reclaim::hazard_pointers or reclaim::none, or a type that does "
                "what assay/reclaim/concept.h asks of one.");

  using base = external_tree::map<ticket_bst, K, V, Reclaim, Compare, sync::version_locks>;
  friend base;
  using edge = external_tree::edge;
  using atomic_edge = external_tree::atomic_edge;
  using leaf = external_tree::leaf<K, V>;
  using version_locks = sync::version_locks;
  using base::less_, base::root_, base::root_locks_;

  struct internal {
    // One copy of the key, which need not be movable.
    // NOLINTNEXTLINE(modernize-pass-by-value)
    internal(const K& key_, edge left, edge right) : key(key_), child{left, right} {}

    const K key;
    std::array<atomic_edge, 2> child;
    version_locks locks;
  };

 public:
  class handle : public base::access {
    using base::access::map_, base::access::me_;

   public:
    // Adds the element if no element has its key; says whether it did. Waits for no lock, but tries
    // again until those that it needs are free. Throws std::bad_alloc and what copies and
    // comparisons throw, with nothing changed.
    bool insert(parameter<K> key, parameter<V> value) {
      std::unique_ptr<leaf> fresh;
      for (sync::backoff backoff;; begin_again(backoff)) {
        auto guard = me_.pin();
        const route at = map_->seek(key, guard);
        if (at.last != 0 && map_->holds(at.last, key)) return false;
        const auto seen = at.way.locks->read();
        ASSAY_POINT("ticket_bst_insert_after_read");
        if (!at.way.leads_to(at.last, seen)) continue;
        if (!fresh) fresh.reset(new leaf{key, value});
        if (map_->link(at, seen, fresh)) return true;
      }
    }

    // Removes the element with the key if there is one; says whether it did. Tries again like
    // insert(). Throws std::bad_alloc and what comparisons throw, with nothing changed.
    bool erase(parameter<K> key) {
      for (sync::backoff backoff;; begin_again(backoff)) {
        auto guard = me_.pin();
        const route at = map_->seek(key, guard);
        if (at.last == 0 || !map_->holds(at.last, key)) return false;
        if (at.parent == nullptr ? unlink_only_leaf(at) : unlink(at)) {
          if (at.parent != nullptr) guard.retire(at.parent);
          guard.retire(external_tree::node_at<leaf>(at.last));
          return true;
        }
      }
    }

   private:
    friend base;
    explicit handle(ticket_bst& map) : base::access(map) {}
  };

  ticket_bst() = default;
  explicit ticket_bst(Compare order) : base(std::move(order)) {}

  // What is wrong with the tree, if anything is: its order, its shape, or a lock that is still
  // taken. At rest, for tests. Throws std::bad_alloc.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    struct faults {
      const char* operator()(edge to) const {
        return (to & external_tree::marks & ~external_tree::leaf_mark) != 0 ? "is marked" : nullptr;
      }
      const char* operator()(const internal& node) const {
        return version_locks::is_any_taken(node.locks.read()) ? "is still locked" : nullptr;
      }
    };
    if (version_locks::is_any_taken(root_locks_.read())) return "the root is still locked";
    return external_tree::broken_order<leaf, internal>(root_.load(memory_order_acquire), less_,
                                                       faults{});
  }

 private:
  static void begin_again(sync::backoff& backoff) {
    Observer::restarted();
    backoff.wait();
  }

  // An edge and its lock.
  struct locked_edge {
    atomic_edge* link;
    version_locks* locks;
    std::size_t side;

    // Whether, its lock being free in the state `seen`, it leads to that node. Then it does until
    // somebody takes the lock, so that whoever takes it at that version knows it.
    [[nodiscard]] bool leads_to(edge to, version_locks::state seen) const {
      return !version_locks::is_taken(seen, side) && link->load(memory_order_acquire) == to;
    }
  };

  // Where a seek came to.
  struct route {
    locked_edge above;  // the edge to the parent
    internal* parent;   // of the leaf; null if that hangs from the root
    locked_edge way;    // the edge to the leaf
    edge last;          // what it held; 0 in an empty tree
  };

  // Announces to a guard's hazard pointers what an edge holds.
  static reclaim::any_node* address_in(edge to) {
    return external_tree::node_at<reclaim::any_node>(to);
  }

  [[nodiscard]] locked_edge root_edge() {
    return {.link = &root_, .locks = &root_locks_, .side = 0};
  }

  // (1) Every load of an edge on the way down, here and in a search (external_tree.h), is an
  // acquire, and meets the release of whoever stored the edge, (2) or (3).

  template <class Guard>
  [[nodiscard]] route seek(parameter<K> key, [[maybe_unused]] Guard& guard) {
    if constexpr (Reclaim::protects == reclaim::protection::named) {
      sync::backoff backoff;
      for (;;) {
        if (const auto at = protected_descent(key, guard)) return *at;
        begin_again(backoff);
      }
    } else {
      route at{.above = {},
               .parent = nullptr,
               .way = root_edge(),
               .last = root_.load(memory_order_acquire)};  // (1)
      if (at.last == 0) return at;
      while (external_tree::is_internal(at.last)) {
        ASSAY_POINT("ticket_bst_seek_step");
        step_down(key, at);
        at.last = at.way.link->load(memory_order_acquire);  // (1)
      }
      return at;
    }
  }

  // Moves on to the edge below the node that `at.last` leads to.
  void step_down(parameter<K> key, route& at) const {
    at.above = at.way;
    at.parent = external_tree::node_at<internal>(at.last);
    const std::size_t side = this->side_of(key, *at.parent);
    at.way = {.link = &at.parent->child[side], .locks = &at.parent->locks, .side = side};
  }

  // As seek(), announcing each node; empty if it met one that may have been removed. What it
  // returns is protected: the leaf, the parent, and the node of the edge to the parent.
  template <class Guard>
  [[nodiscard]] std::optional<route> protected_descent(parameter<K> key, Guard& guard) {
    std::size_t slot = 0;
    // The root is never removed.
    route at{.above = {},
             .parent = nullptr,
             .way = root_edge(),
             .last = guard.protect(slot, root_, &address_in)};
    if (at.last == 0) return at;
    while (external_tree::is_internal(at.last)) {
      ASSAY_POINT("ticket_bst_seek_step");
      const edge to_parent = at.last;
      step_down(key, at);
      slot = (slot + 1) % 3;
      at.last = guard.protect(slot, *at.way.link, &address_in);
      ASSAY_POINT("ticket_bst_seek_after_protect");
      if (version_locks::is_retired(at.parent->locks.read()) &&
          (at.above.link->load(memory_order_acquire) != to_parent ||
           version_locks::is_retired(at.above.locks->read()))) {
        return std::nullopt;
      }
    }
    return at;
  }

  // Puts a new leaf where a seek for its key ended, next to the leaf that is there, if any, unless
  // the edge has changed since its lock was `seen`. Says whether it did, and then owns it no more.
  [[nodiscard]] bool link(const route& at, version_locks::state seen,
                          std::unique_ptr<leaf>& fresh) {
    return base::link(at.last, fresh, [&at, seen](edge linked) {
      ASSAY_POINT("ticket_bst_insert_before_lock");
      if (!at.way.locks->try_lock(at.way.side, seen)) return false;
      ASSAY_POINT("ticket_bst_insert_locked");
      at.way.link->store(linked, memory_order_release);  // (2) with (1)
      ASSAY_POINT("ticket_bst_insert_before_unlock");
      at.way.locks->unlock(at.way.side);
      return true;
    });
  }

  // Replaces the parent by the leaf's sibling, if nothing has changed. Says whether it did.
  [[nodiscard]] static bool unlink(const route& at) {
    const auto seen_above = at.above.locks->read();
    const auto seen = at.parent->locks.read();
    ASSAY_POINT("ticket_bst_erase_after_read");
    if (!at.above.leads_to(external_tree::edge_to(at.parent), seen_above)) return false;
    if (version_locks::is_any_taken(seen) || !at.way.leads_to(at.last, seen)) return false;
    ASSAY_POINT("ticket_bst_erase_before_lock");
    if (!at.above.locks->try_lock(at.above.side, seen_above)) return false;
    ASSAY_POINT("ticket_bst_erase_locked_above");
    if (!at.parent->locks.try_retire(seen)) {
      at.above.locks->unlock_unchanged(at.above.side);
      return false;
    }
    ASSAY_POINT("ticket_bst_erase_locked");
    // Nobody else stores to this edge any more; an acquire, so that (3) hands on what it leads to.
    const edge sibling = at.parent->child[1 - at.way.side].load(memory_order_acquire);
    at.above.link->store(sibling, memory_order_release);  // (3) with (1)
    ASSAY_POINT("ticket_bst_erase_before_unlock");
    at.above.locks->unlock(at.above.side);
    return true;
  }

  // The same for a leaf without a parent: it leaves an empty tree.
  [[nodiscard]] static bool unlink_only_leaf(const route& at) {
    const auto seen = at.way.locks->read();
    ASSAY_POINT("ticket_bst_erase_after_read");
    if (!at.way.leads_to(at.last, seen)) return false;
    ASSAY_POINT("ticket_bst_erase_before_lock");
    if (!at.way.locks->try_lock(at.way.side, seen)) return false;
    ASSAY_POINT("ticket_bst_erase_locked");
    at.way.link->store(0, memory_order_release);  // (3) with (1)
    ASSAY_POINT("ticket_bst_erase_before_unlock");
    at.way.locks->unlock(at.way.side);
    return true;
  }
};

}  // namespace assay

#endif  // ASSAY_MAPS_TICKET_BST_H_
