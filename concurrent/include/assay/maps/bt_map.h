// An ordered map for many threads: the BT-tree of Bonnichsen's thesis (2016, sections 5.2 and
// 5.2.1), with locks that searches read and never take.
//
//     assay::bt_map<std::uint64_t, double> prices;          // any key with an order, any value
//
//     auto handle = prices.attach();                        // in each thread
//     handle.insert(7, 1.5);                                // true: 7 was not there
//     handle.insert_or_assign(7, 2.5);                      // false: it was, and is 2.5 now
//     handle.find(7);                                       // std::optional(2.5)
//     handle.update(7, [](double price) { return 2 * price; });         // true: it was there
//     handle.upsert(8, [] { return 1.0; }, [](double price) { return price + 1; });  // true: added
//     handle.erase_if(8, [](double price) { return price < 2; });       // true: removed
//     handle.range(1, 9, [](std::uint64_t key, double price) { ... });  // in ascending order
//     handle.erase(7);                                      // true
//
//     prices.find(7);                                       // the same without a handle
//     prices.for_each([](std::uint64_t key, double price) { ... });     // at rest (concept.h)
//
// docs/guide/bt_map.md says when to use another map, what each part of the layout gains, and what
// was changed from the thesis. bt_tree.h says how it works and why that is right.
//
// Promises
// --------
// With bt::optimistic, the default:
//
// - insert, insert_or_assign, update, erase, find, contains, and each find of find_many, insert of
//   insert_many and erase of erase_many, are linearizable. A call that changes nothing takes effect
//   when it reads the leaf's version, one that changes the leaf when it takes the leaf's lock.
// - The same holds for try_emplace, emplace, get_or_emplace, emplace_and_visit, exchange, upsert,
//   extract and erase_if, and for what erase_range removes from each leaf, but not for all of it.
// - visit, empty, size, snapshot, range_snapshot, clone, lower_bound, upper_bound, floor,
//   predecessor, minimum and maximum are linearizable, too: all leaves that they read had, at one
//   moment, the versions that they were read at (locks/optimistic_lock.h has the argument for
//   several locks).
// - range, iterate, visit_range, visit_all and the descending ones visit in order, one leaf after
//   the other, each as it was at one moment. What is there all the time is visited once, what is
//   never there is not visited, and nothing is visited twice.
//
// No operation is lock-free: each waits while another thread holds a lock that it needs. A search
// waits while the leaf, or an internal node on its way, is being changed. Any operation can starve:
// it begins again when a leaf that it needs was changed meanwhile; another thread has then made
// progress. Locks are held for a few instructions, in which no memory is asked for and nothing of
// the user's is called. The exception are snapshot operations that were disturbed several times:
// they lock leaf after leaf, copy elements and compare keys meanwhile.
//
// With bt::coarse, range, iterate, approximate_size, insert_many and erase_many are as above,
// find_many is atomic in groups of 16, and every other operation takes effect in one critical
// section. They are as fair as the lock, and make progress as the lock does.
//
// Types
// -----
// Keys and values may be of types that can only be moved, and values of types that cannot: those
// are made where they stay, by try_emplace(). Calls that copy are refused when compiled. Copies,
// moves and comparisons may throw. A call that throws has changed nothing, with four exceptions:
// erase_range, insert_many, erase_many and emplace_and_visit say what they leave.
// Destructors must not throw. `compare` is a strict weak order, called from many threads at once
// and while locks are held: it does not call the map. Copies, and functions given to the map, may
// call it through another handle. Types may have any alignment.
//
// Keys and values of 1, 2, 4 or 8 bytes that are trivially copyable and have no padding are in the
// nodes; others are in records that never change and are replaced whole. A record lives on while
// its key separates nodes, even if its element was erased.

#ifndef ASSAY_MAPS_BT_MAP_H_
#define ASSAY_MAPS_BT_MAP_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/draw.h"
#include "assay/maps/bt_invariants.h"
#include "assay/maps/bt_load.h"
#include "assay/maps/bt_memory.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/bt_synchronisation.h"
#include "assay/maps/bt_tree.h"
#include "assay/maps/bt_writer.h"
#include "assay/maps/concept.h"
#include "assay/maps/implicit_handle.h"
#include "assay/maps/node_allocator.h"
#include "assay/maps/shape.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"

namespace assay::bt::inline ASSAY_ABI {

// What leads to leaves: internal nodes with keys that separate their children.
struct by_separators {
  template <class K, class V, class Policies>
  struct tree_of {
    using type = bt::tree<K, V, Policies>;
  };
  template <class Tree, class Iterator>
  static void load_sorted(Tree& tree, Iterator first, Iterator last) {
    bt::load_sorted(tree, first, last);
  }
  template <class Tree>
  static auto broken_invariant(const Tree& tree) {
    return bt::broken_invariant(tree);
  }
  template <class Tree>
  static auto shape_of(const Tree& tree) {
    return bt::shape_of(tree);
  }
};

}  // namespace assay::bt::inline ASSAY_ABI

namespace assay::inline ASSAY_ABI {

// What a map is made of. To change it, derive from this and name what is different:
//
//     struct small : assay::bt_policies<int> {
//       using compare = std::greater<>;
//       static constexpr std::size_t leaf_capacity = 32;
//     };
//     assay::bt_map<int, double, small> map;
template <class K>
struct bt_policies {
  using compare = std::less<K>;            // the order of the keys: a strict weak one
  using reclaim = assay::reclaim::epochs;  // when memory is freed; reclaim::none never does
  using synchronisation = bt::optimistic;  // see bt_synchronisation.h
  using index = bt::by_separators;         // what leads to leaves; radix_map.h has another
  // Where nodes, boxes and records come from, by many threads at once: large pages.
  using allocator = node_allocator<std::byte>;
  // Capacities of a leaf, in elements, and of an internal node, in children: 6 to 64. With 64-bit
  // keys and values, the nodes take 768 and 384 bytes.
  static constexpr std::size_t leaf_capacity = 44;
  static constexpr std::size_t internal_capacity = 23;
};

// Any thread may call its functions; those that say "at rest" need the map at rest (concept.h): no
// other thread calls anything, and what others did happened before.
template <class K, class V, class Policies = bt_policies<K>>
class bt_map {
  static_assert(std::is_same_v<K, std::remove_cvref_t<K>> && std::destructible<K> &&
                    std::is_same_v<V, std::remove_cvref_t<V>> && std::destructible<V>,
                "keys and values of bt_map are objects, neither constant nor references.");
  static_assert(std::derived_from<Policies, bt_policies<K>>,
                "the third parameter of bt_map is not a struct of policies: derive one from "
                "assay::bt_policies<K>, with the same K, and name in it what is different.");
  static_assert(bt::order<typename Policies::compare, K>,
                "`compare` of bt_map's policies does not order its keys: `less(key, key)` answers "
                "true or false, also if `less` is constant. std::less<K> needs K to have <.");
  static_assert(bt::synchronisation<typename Policies::synchronisation>,
                "`synchronisation` of bt_map's policies is not a way of synchronisation: use "
                "bt::optimistic, bt::optimistic_replacing or bt::coarse<Lock>.");
  static_assert(reclaim::policy<typename Policies::reclaim>,
                "`reclaim` of bt_map's policies is not a reclamation policy: use reclaim::epochs "
                "or reclaim::none, or a type that does what assay/reclaim/concept.h asks of one.");
  static_assert(Policies::reclaim::protects == reclaim::protection::everything,
                "bt_map cannot be used with hazard pointers: its searches pass nodes and records "
                "that they have not announced. `reclaim` of its policies is reclaim::epochs or "
                "reclaim::none.");
  static_assert(bt::allocator<typename Policies::allocator>,
                "`allocator` of bt_map's policies is not an allocator: use std::allocator<T>, "
                "std::pmr::polymorphic_allocator<T> or another one whose pointers are T*.");
  static_assert(Policies::leaf_capacity >= 6 && Policies::internal_capacity >= 6,
                "a node of bt_map holds at least 6 elements or children: with fewer, the halves of "
                "a node that was split would have to be joined at once. Raise `leaf_capacity` or "
                "`internal_capacity` of its policies.");
  static_assert(Policies::leaf_capacity <= 64 && Policies::internal_capacity <= 64,
                "a node of bt_map holds at most 64 elements or children: lower `leaf_capacity` or "
                "`internal_capacity` of its policies.");

  using index = typename Policies::index;
  using tree = typename index::template tree_of<K, V, Policies>::type;
  using compare = typename Policies::compare;
  using domain = typename Policies::reclaim;
  using words = typename tree::words;
  using entry = typename tree::entry;
  using fresh_entry = typename tree::fresh_entry;
  using decision = bt::decision;
  static constexpr bool has_stateless_allocator = tree::memory::is_stateless;

  // Whether calls have a form that moves: words are copied, and numbers are parameters by value.
  static constexpr bool moves_keys = !words::has_key && !std::is_arithmetic_v<K>;
  static constexpr bool moves_values = !words::has_value && !std::is_arithmetic_v<V>;

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = std::pair<const K, V>;
  using key_compare = compare;
  using allocator_type = typename Policies::allocator;

  static constexpr std::size_t leaf_capacity = Policies::leaf_capacity;
  static constexpr std::size_t internal_capacity = Policies::internal_capacity;

  class handle;

  // `seed` decides what approximate_size() draws: maps with equal seeds whose handles are attached
  // in the same order draw alike. Throws std::bad_alloc.
  bt_map() : bt_map(compare()) {}
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved, if it can be
  explicit bt_map(compare order, std::uint64_t seed = 0, const allocator_type& allocator = {})
      : tree_(std::move(order), allocator), seed_(seed) {}
  explicit bt_map(const allocator_type& allocator) : bt_map(compare(), 0, allocator) {}
  bt_map(const bt_map&) = delete;
  bt_map& operator=(const bt_map&) = delete;
  // Takes the elements and the order of `other`, which is empty afterwards and can be used. Both
  // maps are at rest. Handles stay with the map that they were attached to, whatever it holds.
  // Frees what the map held before. Throws std::bad_alloc, with nothing changed. Not for allocators
  // with state: a node finds the allocator that it came from in the map that made it.
  // NOLINTBEGIN(performance-noexcept-move-constructor): the empty map needs a leaf
  bt_map(bt_map&& other)
    requires(has_stateless_allocator && std::copy_constructible<compare>)
      : bt_map(other.tree_.less, other.seed_) {
    other.expect_at_rest();
    tree_.swap_elements(other.tree_);
  }
  bt_map& operator=(bt_map&& other)
    requires(has_stateless_allocator && std::copy_constructible<compare> && std::swappable<compare>)
  {
    bt_map taken(std::move(other));
    swap(taken);
    return *this;
  }
  // NOLINTEND(performance-noexcept-move-constructor)
  // Exchanges elements and orders. Both maps are at rest; handles stay as above. Throws what
  // swapping two of `compare` throws.
  void swap(bt_map& other) noexcept(std::is_nothrow_swappable_v<compare>)
    requires(has_stateless_allocator && std::swappable<compare>)
  {
    expect_at_rest();
    other.expect_at_rest();
    tree_.swap(other.tree_);  // in no domain before nodes are retired: what waits stays where it is
  }
  friend void swap(bt_map& one, bt_map& other) noexcept(std::is_nothrow_swappable_v<compare>)
    requires(has_stateless_allocator && std::swappable<compare>)
  {
    one.swap(other);
  }
  // At rest, with no handle left. Deletes everything.
  ~bt_map() = default;

  // The allocator that it was given. Wait-free.
  [[nodiscard]] allocator_type get_allocator() const { return tree_.allocator; }

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] handle attach() { return handle(*this); }

  // The functions of `handle`, which class `handle` below describes, without a handle: any thread
  // may call them, and gets a handle of its own at its first call (implicit_handle.h). A function
  // that is given to one of them may call the map in this way, too.
  ASSAY_IMPLICIT(insert, (parameter<K> key, parameter<V> value), (key, value))
  ASSAY_IMPLICIT(insert, (const value_type& element), (element))
  ASSAY_IMPLICIT(insert, (value_type && element), (std::move(element)))
  ASSAY_IMPLICIT(insert, (parameter<K> key, V&& value) requires moves_values,
                 (key, std::move(value)))
  ASSAY_IMPLICIT(insert, (K && key, V&& value) requires moves_keys,
                 (std::move(key), std::move(value)))
  template <class... Args>
  ASSAY_IMPLICIT(try_emplace, (parameter<K> key, Args&&... args),
                 (key, std::forward<Args>(args)...))
  template <class... Args>
  ASSAY_IMPLICIT(try_emplace, (K && key, Args&&... args) requires moves_keys,
                 (std::move(key), std::forward<Args>(args)...))
  template <class Key, class... Args>
    requires std::constructible_from<K, Key> && std::constructible_from<V, Args...>
  ASSAY_IMPLICIT(emplace, (Key && key, Args&&... args),
                 (std::forward<Key>(key), std::forward<Args>(args)...))
  template <class... Args>
  ASSAY_IMPLICIT(get_or_emplace, (parameter<K> key, Args&&... args),
                 (key, std::forward<Args>(args)...))
  template <class... Args>
  ASSAY_IMPLICIT(get_or_emplace, (K && key, Args&&... args) requires moves_keys,
                 (std::move(key), std::forward<Args>(args)...))
  template <class F, class... Args>
  ASSAY_IMPLICIT(emplace_and_visit, (parameter<K> key, F f, Args&&... args),
                 (key, std::move(f), std::forward<Args>(args)...))
  template <class F, class... Args>
  ASSAY_IMPLICIT(emplace_and_visit, (K && key, F f, Args&&... args) requires moves_keys,
                 (std::move(key), std::move(f), std::forward<Args>(args)...))
  ASSAY_IMPLICIT(insert_or_assign, (parameter<K> key, parameter<V> value), (key, value))
  ASSAY_IMPLICIT(insert_or_assign, (parameter<K> key, V&& value) requires moves_values,
                 (key, std::move(value)))
  ASSAY_IMPLICIT(insert_or_assign, (K && key, V&& value) requires moves_keys,
                 (std::move(key), std::move(value)))
  ASSAY_IMPLICIT(exchange, (parameter<K> key, parameter<V> value), (key, value))
  template <class Make, class Change>
  ASSAY_IMPLICIT(upsert, (parameter<K> key, Make make, Change change),
                 (key, std::move(make), std::move(change)))
  ASSAY_IMPLICIT(extract, (parameter<K> key), (key))
  template <class F>
  ASSAY_IMPLICIT(erase_if, (parameter<K> key, F f), (key, std::move(f)))
  ASSAY_IMPLICIT(erase_range, (parameter<K> first, parameter<K> last), (first, last))
  template <class F>
  ASSAY_IMPLICIT(update, (parameter<K> key, F f), (key, std::move(f)))
  ASSAY_IMPLICIT(erase, (parameter<K> key), (key))
  ASSAY_IMPLICIT(find, (parameter<K> key) const, (key))
  ASSAY_IMPLICIT(contains, (parameter<K> key) const, (key))
  template <class F>
  ASSAY_IMPLICIT(visit, (parameter<K> key, F&& f) const, (key, f))
  ASSAY_IMPLICIT(find_many, (std::span<const K> keys, std::span<std::optional<V>> found) const,
                 (keys, found))
  ASSAY_IMPLICIT(insert_many,
                 (std::span<const K> keys, std::span<const V> values, std::span<bool> added),
                 (keys, values, added))
  ASSAY_IMPLICIT(erase_many, (std::span<const K> keys, std::span<bool> erased), (keys, erased))
  template <class F>
  ASSAY_IMPLICIT(range, (parameter<K> first, parameter<K> last, F f) const,
                 (first, last, std::move(f)))
  template <class F>
  ASSAY_IMPLICIT(iterate, (F f) const, (std::move(f)))
  template <class F>
  ASSAY_IMPLICIT(visit_range, (parameter<K> first, parameter<K> last, F&& f) const,
                 (first, last, f))
  template <class F>
  ASSAY_IMPLICIT(visit_all, (F && f) const, (f))
  template <class F>
  ASSAY_IMPLICIT(visit_range_descending, (parameter<K> first, parameter<K> last, F&& f) const,
                 (first, last, f))
  template <class F>
  ASSAY_IMPLICIT(visit_all_descending, (F && f) const, (f))
  template <class F>
  ASSAY_IMPLICIT(range_snapshot, (parameter<K> first, parameter<K> last, F f) const,
                 (first, last, std::move(f)))
  template <class F>
  ASSAY_IMPLICIT(snapshot, (F f) const, (std::move(f)))
  ASSAY_IMPLICIT(clone, () const, ())
  ASSAY_IMPLICIT(size, () const, ())
  ASSAY_IMPLICIT(approximate_size, () const, ())
  ASSAY_IMPLICIT(empty, () const, ())
  ASSAY_IMPLICIT(lower_bound, (parameter<K> key) const, (key))
  ASSAY_IMPLICIT(upper_bound, (parameter<K> key) const, (key))
  ASSAY_IMPLICIT(floor, (parameter<K> key) const, (key))
  ASSAY_IMPLICIT(predecessor, (parameter<K> key) const, (key))
  ASSAY_IMPLICIT(minimum, () const, ())
  ASSAY_IMPLICIT(maximum, () const, ())
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(erase, (const Q& key), (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(extract, (const Q& key), (key))
  template <bt::other_key<K, compare> Q, class F>
  ASSAY_IMPLICIT(erase_if, (const Q& key, F f), (key, std::move(f)))
  template <bt::other_key<K, compare> Q, bt::other_key<K, compare> R>
  ASSAY_IMPLICIT(erase_range, (const Q& first, const R& last), (first, last))
  template <bt::other_key<K, compare> Q, class F>
  ASSAY_IMPLICIT(update, (const Q& key, F f), (key, std::move(f)))
  template <bt::other_key<K, compare> Q, bt::other_key<K, compare> R, class F>
  ASSAY_IMPLICIT(range, (const Q& first, const R& last, F f) const, (first, last, std::move(f)))
  template <bt::other_key<K, compare> Q, bt::other_key<K, compare> R, class F>
  ASSAY_IMPLICIT(range_snapshot, (const Q& first, const R& last, F f) const,
                 (first, last, std::move(f)))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(find, (const Q& key) const, (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(contains, (const Q& key) const, (key))
  template <bt::other_key<K, compare> Q, class F>
  ASSAY_IMPLICIT(visit, (const Q& key, F&& f) const, (key, f))
  template <bt::other_key<K, compare> Q, bt::other_key<K, compare> R, class F>
  ASSAY_IMPLICIT(visit_range, (const Q& first, const R& last, F&& f) const, (first, last, f))
  template <bt::other_key<K, compare> Q, bt::other_key<K, compare> R, class F>
  ASSAY_IMPLICIT(visit_range_descending, (const Q& first, const R& last, F&& f) const,
                 (first, last, f))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(lower_bound, (const Q& key) const, (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(upper_bound, (const Q& key) const, (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(floor, (const Q& key) const, (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(predecessor, (const Q& key) const, (key))

  // Calls visit(key, value) for each element, in ascending order. At rest. Throws std::bad_alloc
  // and what comparisons and `visit` throw.
  template <class Visit>
  void for_each(Visit&& visit) const {
    tree_.for_each(visit);
  }

  // Removes all elements, and frees at once their memory and that of all elements erased before.
  // At rest. Erased elements are not freed under reclaim::none, and a policy of your own without
  // free_all() frees them when it otherwise would. Throws std::bad_alloc, with nothing changed.
  void clear() {
    expect_at_rest();
    tree_.clear();
    if constexpr (requires { domain_.free_all(); }) domain_.free_all();
  }

  // Fills an empty map with elements, pairs of key and value, in ascending order of their keys. At
  // rest. Nodes are made nearly full, so that the map is as small as it can be. Throws
  // std::logic_error if it is not empty, std::invalid_argument if a key is not above the one before
  // it, std::bad_alloc, and what comparisons and copies throw; with nothing changed.
  template <std::forward_iterator Iterator>
  void load_sorted(Iterator first, Iterator last) {
    index::load_sorted(tree_, first, last);
  }

  // Describes what is wrong with the tree, if anything is. At rest, for tests. Throws
  // std::bad_alloc and what comparisons throw.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return index::broken_invariant(tree_);
  }

  // Nodes, depths and bytes. At rest. Throws std::bad_alloc.
  [[nodiscard]] assay::shape shape() const { return index::shape_of(tree_); }

  // How many retired nodes and records wait to be freed; an estimate while threads are inside
  // calls.
  [[nodiscard]] std::uint64_t unfreed() const { return domain_.unfreed(); }

 private:
  // Finds a call that is going on. A policy of your own without such a function finds nothing.
  void expect_at_rest() const {
    constexpr const char* otherwise =
        "a bt_map is moved, swapped or cleared while a call to it visits";
    if constexpr (requires { domain_.expect_at_rest(otherwise); }) {
      domain_.expect_at_rest(otherwise);
    }
  }

  // What a new handle draws. Each has a number of its own, and so, as every step of this is a
  // bijection, numbers of its own to draw. By any thread: the count alone is shared, and nothing
  // else is read because of it, so it is relaxed.
  [[nodiscard]] detail::random_draws next_draws() {
    detail::random_draws of_map(seed_);
    return detail::random_draws(of_map() + handles_.fetch_add(1, memory_order_relaxed));
  }

  tree tree_;
  const std::uint64_t seed_;
  // Written when handles come and go, also those that read a constant map.
  alignas(64) mutable domain domain_;
  mutable atomic<std::uint64_t> handles_{0};  // attached so far
  mutable implicit_handles<bt_map>
      implicit_;  // the last, so that handles end before what they need
};

// A thread's access to the map. Only the thread that attached it calls it, and not within a call to
// it, as from a comparison, a copy or a visit. It is destroyed before the map is, outside its
// calls, by that thread or by one that knows that it is done, as after joining it. Debug builds
// abort, with a message, on a call by another thread, within a call, or after it was moved from,
// and when it outlives its map.
//
// Every call may throw std::bad_alloc and what comparisons and copies throw, with nothing changed
// where nothing else is said. "Promises" above says what each call promises and for whom it waits.
// Where nothing else is said, a call goes down one way from the root, which takes time logarithmic
// in the number of elements.
template <class K, class V, class Policies>
class bt_map<K, V, Policies>::handle {
 public:
  // Adds the element if no element has its key; says whether it did. Locks the leaf, and first
  // balances it if it is full. Like erase(), it is not inlined: a loop over these and find(), which
  // is, would keep its own variables in memory (gcc 12: 14 instructions more a search).
  [[gnu::noinline]] bool insert(parameter<K> key, parameter<V> value) {
    return thread_.add(key, [&](fresh_entry& fresh) { fresh.make(key, value); });
  }
  bool insert(const value_type& element) { return insert(element.first, element.second); }
  // The same with a value, or a key and a value, that are moved. As with try_emplace(), they may be
  // lost although nothing was added.
  bool insert(value_type&& element) {
    return try_emplace(element.first, std::move(element.second));
  }
  bool insert(parameter<K> key, V&& value)
    requires moves_values
  {
    return try_emplace(key, std::move(value));
  }
  bool insert(K&& key, V&& value)
    requires moves_keys
  {
    return try_emplace(std::move(key), std::move(value));
  }

  // Adds an element with the key and the value V(args...) if no element has the key; says whether
  // it did. The value is made at most once, with no lock held, and not at all if the key was there
  // from the beginning. If another thread adds the key during the call, what was moved into the
  // call may be lost although nothing was added; with bt::coarse it is lost whenever the key is
  // there.
  template <class... Args>
  bool try_emplace(parameter<K> key, Args&&... args) {
    return thread_.add(key,
                       [&](fresh_entry& fresh) { fresh.make(key, std::forward<Args>(args)...); });
  }
  template <class... Args>
  bool try_emplace(K&& key, Args&&... args)
    requires moves_keys
  {
    return thread_.add(
        key, [&](fresh_entry& fresh) { fresh.make(std::move(key), std::forward<Args>(args)...); });
  }

  // try_emplace() by the name that other maps have for it. The key may be anything that a K can be
  // made of: that K is made in any case.
  template <class Key, class... Args>
    requires std::constructible_from<K, Key> && std::constructible_from<V, Args...>
  bool emplace(Key&& key, Args&&... args) {
    if constexpr (std::convertible_to<Key, K>) {
      return try_emplace(std::forward<Key>(key), std::forward<Args>(args)...);
    } else {
      return try_emplace(K(std::forward<Key>(key)), std::forward<Args>(args)...);
    }
  }

  // As try_emplace(). Returns a copy of the value that the key has then, be it old or new, and
  // whether the element was added.
  template <class... Args>
  std::pair<V, bool> get_or_emplace(parameter<K> key, Args&&... args) {
    return thread_.add_and_copy(
        key, [&](fresh_entry& fresh) { fresh.make(key, std::forward<Args>(args)...); });
  }
  template <class... Args>
  std::pair<V, bool> get_or_emplace(K&& key, Args&&... args)
    requires moves_keys
  {
    return thread_.add_and_copy(
        key, [&](fresh_entry& fresh) { fresh.make(std::move(key), std::forward<Args>(args)...); });
  }

  // As try_emplace(), and then calls visit(key, value) with references to the key's element, be it
  // old or new; says whether the element was added. `visit` is called once, with no lock held;
  // others may have replaced the value by then. What it throws passes, and an element that was
  // added stays.
  template <class Visit, class... Args>
  bool emplace_and_visit(parameter<K> key, Visit visit, Args&&... args) {
    return thread_.add_and_visit(
        key, visit, [&](fresh_entry& fresh) { fresh.make(key, std::forward<Args>(args)...); });
  }
  template <class Visit, class... Args>
  bool emplace_and_visit(K&& key, Visit visit, Args&&... args)
    requires moves_keys
  {
    return thread_.add_and_visit(key, visit, [&](fresh_entry& fresh) {
      fresh.make(std::move(key), std::forward<Args>(args)...);
    });
  }

  // Adds the element, or gives the element with its key this value; says whether it added it. Where
  // an equivalent key is there that is not equal, one of the two stays.
  bool insert_or_assign(parameter<K> key, parameter<V> value) {
    return thread_.assign(key, [&](fresh_entry& fresh) { fresh.make(key, value); });
  }
  // The same with a value, or a key and a value, that are moved.
  bool insert_or_assign(parameter<K> key, V&& value)
    requires moves_values
  {
    return thread_.assign(key, [&](fresh_entry& fresh) { fresh.make(key, std::move(value)); });
  }
  bool insert_or_assign(K&& key, V&& value)
    requires moves_keys
  {
    return thread_.assign(
        key, [&](fresh_entry& fresh) { fresh.make(std::move(key), std::move(value)); });
  }

  // As insert_or_assign(), but returns a copy of the value that was replaced, or nothing if the
  // element was added.
  std::optional<V> exchange(parameter<K> key, parameter<V> value) {
    std::optional<V> old;
    thread_.alter(key, [&](const entry* held, fresh_entry& fresh) {
      tree::copy_of(held, old);
      if (!fresh.is_made()) fresh.make(key, value);
      return decision::put;
    });
    return old;
  }

  // Gives the element with the key the value f(value), if there is one, and says whether there was.
  // `f` takes the value, or a reference to a constant one, and is called with no lock held. It is
  // called again whenever the value was changed meanwhile: only its last answer counts.
  template <class F>
  bool update(parameter<K> key, F f) {
    return thread_.alter(key, updating(f));
  }

  // If no element has the key, adds one with the value make() and returns true; otherwise gives it
  // the value change(value) and returns false. Like the function given to update(), both are called
  // with no lock held, and again whenever another thread has changed the element meanwhile: each
  // may be called several times, and both in one call. Only what the last call of them returned
  // becomes the value.
  template <class Make, class Change>
  bool upsert(parameter<K> key, Make make, Change change) {
    static_assert(std::is_invocable_r_v<V, Make&>,
                  "the first function given to bt_map's upsert() takes nothing and returns the "
                  "value of a new element.");
    static_assert(std::is_invocable_r_v<V, Change&, const V&>,
                  "the second function given to bt_map's upsert() takes the value, or a reference "
                  "to a constant one, and returns the new value.");
    return !thread_.alter(key, [&](const entry* held, fresh_entry& fresh) {
      if (held == nullptr) {
        fresh.make(key, make());
      } else {
        fresh.make(words::key(held->key), change(words::value(held->key, held->value)));
      }
      return decision::put;
    });
  }

  // Removes the element with the key if there is one; says whether it did. Locks the leaf, and
  // balances it if few elements are left.
  [[gnu::noinline]] bool erase(parameter<K> key) { return thread_.erase(key); }

  // Removes the element with the key if there is one, and returns a copy of its value. The value
  // itself cannot be moved out, as other threads may still be reading it. So V must be copyable:
  // in place of values that can only be moved, store std::shared_ptr to them.
  std::optional<V> extract(parameter<K> key) {
    std::optional<V> removed;
    thread_.alter(key, extracting(removed));
    return removed;
  }

  // Removes the element with the key if there is one and p(value) holds for its value; says whether
  // it did. `p` is called as the function of update(): its last answer is about the value that was
  // removed, or that stays.
  template <class Predicate>
  bool erase_if(parameter<K> key, Predicate p) {
    bool is_removed = false;
    thread_.alter(key, erasing_if(p, is_removed));
    return is_removed;
  }

  // Removes the elements with first <= key <= last and returns how many it removed. Not atomic: it
  // removes those of one leaf at one moment, one leaf after the other. All that were there when it
  // was called are gone when it returns; those that others add meanwhile it may remove or leave. If
  // it throws, what it has removed by then stays removed. Goes down from the root a few times for
  // each leaf that it empties, and begins at `first` each time: leaves that could not be joined
  // with others, as where memory was missing, are passed again and again.
  std::uint64_t erase_range(parameter<K> first, parameter<K> last) {
    return thread_.erase_range(first, last);
  }

  // The value of the key, if there is one. Takes no lock and writes nothing to the tree. Inlined
  // for the reason that concept.h gives.
  [[gnu::always_inline]] std::optional<V> find(parameter<K> key) {
    static_assert(std::copy_constructible<V>,
                  "bt_map's find() copies the value: use visit() for values that can only be "
                  "moved.");
    return thread_.find(key);
  }

  // Whether there is an element with the key.
  bool contains(parameter<K> key) { return thread_.contains(key); }

  // find() for each key, into the same place of `found`, which has as many, in any order. Faster
  // than one by one where the map is larger than the caches, since 16 searches wait for memory at
  // the same time (1.9 and 2.4 times with 10^6 and 10^7 keys: docs/guide/bt_map.md). Throws
  // std::invalid_argument if the sizes differ.
  void find_many(std::span<const K> keys, std::span<std::optional<V>> found) {
    expect_places(keys, found, "bt_map::find_many: needs as many places for values as keys");
    thread_.find_many(keys, found);
  }

  // insert() for each key, with the value in the same place of `values`; into that place of `added`
  // what insert() would say. The calls take effect one after the other, in the order of the keys,
  // and other threads may come between them. Each waits as insert() does, and may begin again when
  // others change its leaf. Faster than one by one, as find_many(). If it throws, those elements
  // have been added for which `added` says so. Throws std::invalid_argument if the sizes differ,
  // with nothing changed. A std::vector<bool> has no span: take a std::array<bool, n>, or a
  // std::unique_ptr<bool[]>.
  void insert_many(std::span<const K> keys, std::span<const V> values, std::span<bool> added) {
    expect_places(keys, values, "bt_map::insert_many: needs as many values as keys");
    expect_places(keys, added, "bt_map::insert_many: needs as many places for answers as keys");
    std::ranges::fill(added, false);
    thread_.insert_many(keys, values, added);
  }
  // The same for erase().
  void erase_many(std::span<const K> keys, std::span<bool> erased) {
    expect_places(keys, erased, "bt_map::erase_many: needs as many places for answers as keys");
    std::ranges::fill(erased, false);
    thread_.erase_many(keys, erased);
  }

  // Calls visit(key, value) for the elements with first <= key <= last, in ascending order, without
  // a lock. Ignores what `visit` returns: use visit_range() where the walk may end early, and
  // range() where it always goes to the end. Throws what `visit` throws. No node that another
  // thread removes meanwhile is freed before the walk has ended.
  template <class Visit>
  void range(parameter<K> first, parameter<K> last, Visit visit) {
    const auto each = [&visit](const K& key, const V& value) { visit(key, value); };
    if (!map_->tree_.less(last, first)) thread_.visit_ascending(&first, &last, each);
  }

  // Calls visit(key, value) for all elements, as range() does; visit_all() may end early.
  template <class Visit>
  void iterate(Visit visit) {
    const auto each = [&visit](const K& key, const V& value) { visit(key, value); };
    thread_.visit_ascending(no_key, no_key, each);
  }

  // Calls visit(key, value) for the elements with first <= key <= last, in ascending order, which
  // are exactly those that the map held at one moment of the call. Copies all of them before the
  // first visit, which takes memory. Throws what `visit` throws.
  template <class Visit>
  void range_snapshot(parameter<K> first, parameter<K> last, Visit visit) {
    if (!map_->tree_.less(last, first)) thread_.visit_snapshot(&first, &last, visit);
  }

  // Calls visit(key, value) for all elements, as range_snapshot().
  template <class Visit>
  void snapshot(Visit visit) {
    thread_.visit_snapshot(no_key, no_key, visit);
  }

  // Returns a new map with all elements that this one held at one moment of the call. Its nodes are
  // nearly full, so that it is as small as it can be. Copies each element twice. Throws
  // std::bad_alloc and what comparisons and copies throw.
  std::unique_ptr<bt_map> clone() {
    static_assert(std::copy_constructible<K> && std::copy_constructible<V>,
                  "bt_map's clone() copies all elements: K or V can only be moved.");
    std::vector<std::pair<K, V>> elements;
    snapshot([&](const K& key, const V& value) { elements.emplace_back(key, value); });
    auto copy = std::make_unique<bt_map>(
        map_->tree_.less, map_->seed_,
        std::allocator_traits<allocator_type>::select_on_container_copy_construction(
            map_->tree_.allocator));
    copy->load_sorted(elements.begin(), elements.end());
    return copy;
  }

  // How many elements the map held at one moment of the call. Reads every leaf; approximate_size()
  // is faster.
  std::uint64_t size() { return thread_.size(); }

  // About how many elements there are, from 64 random ways down. Each gives a guess: the product of
  // the numbers of children on the way and of the elements in the leaf at its end (Knuth 1975,
  // section 1). Returns their mean, which is right on average while nothing changes.
  std::uint64_t approximate_size() { return thread_.approximate_size(); }

  // The element with the least key that is at least `key`.
  std::optional<std::pair<K, V>> lower_bound(parameter<K> key) {
    return thread_.least(&key, [&](const K& met) { return !map_->tree_.less(met, key); });
  }

  // The element with the least key above `key`.
  std::optional<std::pair<K, V>> upper_bound(parameter<K> key) {
    return thread_.least(&key, [&](const K& met) { return map_->tree_.less(key, met); });
  }

  // The elements with the least and the greatest key.
  std::optional<std::pair<K, V>> minimum() {
    return thread_.least(no_key, [](const K& /*met*/) { return true; });
  }
  std::optional<std::pair<K, V>> maximum() {
    return thread_.greatest(no_key, [](const K& /*met*/) { return true; });
  }

  // Reading in place, in both directions, and by keys of other types.
  //
  // These call f(key, value) with references, and copy nothing that is in a record (see "Types"
  // above). The references are valid until f returns: what other threads erase meanwhile is freed
  // only after the call. f is called with no lock held. It may call the map through another handle,
  // or without one, also to change or erase the element that it is given, which it continues to
  // see as it was. It must not call the map through this handle. What it throws is passed on.

  // Calls f(key, value) for the element with the key, if there is one, and says whether there was.
  // Linearizable, as find(), and costs no more.
  template <class F>
  [[gnu::always_inline]] bool visit(parameter<K> key, F&& f) {
    return thread_.visit(key, f);
  }

  // Visits the elements with first <= key <= last, as range() does, but may end early: if f returns
  // a bool, false ends the walk. Returns whether the walk went to its end, that is, whether f
  // never returned false.
  template <class F>
  bool visit_range(parameter<K> first, parameter<K> last, F&& f) {
    return map_->tree_.less(last, first) || thread_.visit_ascending(&first, &last, f);
  }
  // The same for all elements.
  template <class F>
  bool visit_all(F&& f) {
    return thread_.visit_ascending(no_key, no_key, f);
  }

  // The same in descending order: from the last element with first <= key <= last to the first.
  template <class F>
  bool visit_range_descending(parameter<K> first, parameter<K> last, F&& f) {
    return map_->tree_.less(last, first) || thread_.visit_descending(&first, &last, f);
  }
  template <class F>
  bool visit_all_descending(F&& f) {
    return thread_.visit_descending(no_key, no_key, f);
  }

  // The element with the greatest key that is at most `key`.
  std::optional<std::pair<K, V>> floor(parameter<K> key) {
    return thread_.greatest(&key, [&](const K& met) { return !map_->tree_.less(key, met); });
  }
  // The element with the greatest key below `key`.
  std::optional<std::pair<K, V>> predecessor(parameter<K> key) {
    return thread_.greatest(&key, [&](const K& met) { return map_->tree_.less(met, key); });
  }
  // Whether there is no element. Linearizable, and nearly always reads one leaf.
  [[nodiscard]] bool empty() { return thread_.empty(); }

  // The same by keys of other types, where compare has is_transparent, as std::less<> has: for
  // example by a std::string_view where K is std::string, or by a part of a key. No K is made of
  // it. `compare` must order the other key among those of type K, and it may be equivalent to at
  // most one key that the map holds. Strings are found by their hash, as fast as by a K; all others
  // are compared with every element of a leaf. A number of another type is converted to K.
  template <bt::other_key<K, compare> Q>
  std::optional<V> find(const Q& key) {
    return thread_.find(key);
  }
  template <bt::other_key<K, compare> Q>
  bool contains(const Q& key) {
    return thread_.contains(key);
  }
  template <bt::other_key<K, compare> Q, class F>
  bool visit(const Q& key, F&& f) {
    return thread_.visit(key, f);
  }
  template <bt::other_key<K, compare> Q>
  bool erase(const Q& key) {
    return thread_.erase(key);
  }
  template <bt::other_key<K, compare> Q>
  std::optional<V> extract(const Q& key) {
    std::optional<V> removed;
    thread_.alter(key, extracting(removed));
    return removed;
  }
  template <bt::other_key<K, compare> Q, class Predicate>
  bool erase_if(const Q& key, Predicate p) {
    bool is_removed = false;
    thread_.alter(key, erasing_if(p, is_removed));
    return is_removed;
  }
  template <bt::other_key<K, compare> Q, class F>
  bool update(const Q& key, F f) {
    return thread_.alter(key, updating(f));
  }
  template <bt::other_key<K, compare> Q>
  std::optional<std::pair<K, V>> lower_bound(const Q& key) {
    return thread_.least(&key, [&](const K& met) { return !map_->tree_.less(met, key); });
  }
  template <bt::other_key<K, compare> Q>
  std::optional<std::pair<K, V>> upper_bound(const Q& key) {
    return thread_.least(&key, [&](const K& met) { return map_->tree_.less(key, met); });
  }
  template <bt::other_key<K, compare> Q>
  std::optional<std::pair<K, V>> floor(const Q& key) {
    return thread_.greatest(&key, [&](const K& met) { return !map_->tree_.less(key, met); });
  }
  template <bt::other_key<K, compare> Q>
  std::optional<std::pair<K, V>> predecessor(const Q& key) {
    return thread_.greatest(&key, [&](const K& met) { return map_->tree_.less(met, key); });
  }
  // These visit and remove nothing where `last` is below `first`.
  template <bt::other_key<K, compare> First, bt::other_key<K, compare> Last>
  std::uint64_t erase_range(const First& first, const Last& last) {
    return thread_.erase_range(first, last);
  }
  template <bt::other_key<K, compare> First, bt::other_key<K, compare> Last, class Visit>
  void range(const First& first, const Last& last, Visit visit) {
    const auto each = [&visit](const K& key, const V& value) { visit(key, value); };
    thread_.visit_ascending(&first, &last, each);
  }
  template <bt::other_key<K, compare> First, bt::other_key<K, compare> Last, class Visit>
  void range_snapshot(const First& first, const Last& last, Visit visit) {
    thread_.visit_snapshot(&first, &last, visit);
  }
  template <bt::other_key<K, compare> First, bt::other_key<K, compare> Last, class F>
  bool visit_range(const First& first, const Last& last, F&& f) {
    return thread_.visit_ascending(&first, &last, f);
  }
  template <bt::other_key<K, compare> First, bt::other_key<K, compare> Last, class F>
  bool visit_range_descending(const First& first, const Last& last, F&& f) {
    return thread_.visit_descending(&first, &last, f);
  }

  // The map that this handle belongs to.
  bt_map& map() { return *map_; }

 private:
  friend bt_map;
  explicit handle(bt_map& map) : map_(&map), thread_(map.tree_, map.domain_, map.next_draws()) {}

  static constexpr const K* no_key = nullptr;

  static void expect_places(const auto& keys, const auto& places, const char* otherwise) {
    if (keys.size() != places.size()) throw std::invalid_argument(otherwise);
  }

  // What alter() is to decide. They refer to their arguments.
  template <class F>
  static auto updating(F& f) {
    static_assert(std::is_invocable_r_v<V, F&, const V&>,
                  "the function given to bt_map's update() takes the value, or a reference to a "
                  "constant one, and returns the new value.");
    return [&f](const entry* held, fresh_entry& fresh) {
      if (held == nullptr) return decision::keep;
      fresh.make(words::key(held->key), f(words::value(held->key, held->value)));
      return decision::put;
    };
  }
  static auto extracting(std::optional<V>& removed) {
    return [&removed](const entry* held, fresh_entry& /*fresh*/) {
      tree::copy_of(held, removed);
      return held == nullptr ? decision::keep : decision::remove;
    };
  }
  template <class Predicate>
  static auto erasing_if(Predicate& p, bool& is_removed) {
    static_assert(std::is_invocable_r_v<bool, Predicate&, const V&>,
                  "the function given to bt_map's erase_if() takes the value, or a reference to a "
                  "constant one, and returns whether the element is to be removed.");
    return [&p, &is_removed](const entry* held, fresh_entry& /*fresh*/) {
      is_removed = held != nullptr && p(words::value(held->key, held->value));
      return is_removed ? decision::remove : decision::keep;
    };
  }

  bt_map* map_;
  bt::writer<tree> thread_;
};

}  // namespace assay::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_MAP_H_
