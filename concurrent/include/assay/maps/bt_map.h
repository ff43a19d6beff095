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
//     prices.for_each([](std::uint64_t key, double price) { ... });     // while no call runs
//
// docs/guide/bt_map.md says when to use another map, what each part of the layout gains, and what
// was changed from the thesis.
//
// Promises
// --------
// With bt::optimistic, the default:
//
// - insert, insert_or_assign, update, erase, find, contains, and each find of find_many, are
//   linearizable. A call that changes nothing takes effect when it reads the leaf's version, one
//   that changes the leaf when it takes the leaf's lock.
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
// With bt::coarse, range, iterate and approximate_size are as above, find_many is atomic in groups
// of 16, and every other operation takes effect in one critical section. They are as fair as the
// lock, and make progress as the lock does.
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
// Types
// -----
// Keys and values may be of types that can only be moved, and values of types that cannot: those
// are made where they stay, by try_emplace(). Calls that copy are refused when compiled. Copies,
// moves and comparisons may throw. A call that throws has changed nothing, except erase_range.
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
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
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

#include "assay/base/atomics.h"
#include "assay/base/backoff.h"
#include "assay/base/draw.h"
#include "assay/base/instruction_set.h"
#include "assay/base/point.h"
#include "assay/base/prefetch.h"
#include "assay/maps/bt_memory.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/bt_synchronisation.h"
#include "assay/maps/concept.h"
#include "assay/maps/implicit_handle.h"
#include "assay/maps/shape.h"
#include "assay/reclaim/concept.h"
#include "assay/reclaim/epochs.h"

namespace assay {

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
  // Where nodes, boxes and records come from, by many threads at once.
  using allocator = std::allocator<std::byte>;
  // Capacities of a leaf, in elements, and of an internal node, in children: 6 to 64. With 64-bit
  // keys and values, the nodes take 768 and 384 bytes, which allocators have sizes for.
  static constexpr std::size_t leaf_capacity = 44;
  static constexpr std::size_t internal_capacity = 23;
};

// Its functions are called by any thread, those that say "at rest" while no thread is inside a call
// to a handle and all calls that ended happen before.
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

  using compare = typename Policies::compare;
  using domain = typename Policies::reclaim;
  using synchronisation = typename Policies::synchronisation;
  using memory = bt::memory<typename Policies::allocator>;
  using layout = bt::layout_of<Policies>;
  using section = typename synchronisation::section;
  using types = bt::nodes<K, V, Policies>;
  using node_lock = typename types::node_lock;
  using words = typename types::words;
  using key_word = typename words::key_word;
  using value_word = typename words::value_word;
  using entry = typename types::entry_type;
  using leaf = typename types::leaf;
  using internal = typename types::internal;
  using edge = typename types::edge;
  using version = typename node_lock::version;
  using guard_type = typename domain::guard;
  using set = host::instruction_set;

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
  explicit bt_map(compare less, std::uint64_t seed = 0, const allocator_type& allocator = {})
      : allocator_(allocator),
        root_(types::edge_to(make<leaf>())),
        less_(std::move(less)),
        set_(usable_set()),
        seed_(seed) {}
  explicit bt_map(const allocator_type& allocator) : bt_map(compare(), 0, allocator) {}
  bt_map(const bt_map&) = delete;
  bt_map& operator=(const bt_map&) = delete;
  // Takes the elements and the order of `other`, which is empty afterwards and can be used. Both
  // maps are at rest. Handles stay with the map that they were attached to, whatever it holds.
  // Frees what the map held before. Throws std::bad_alloc, with nothing changed. Not for allocators
  // with state: a node finds the allocator that it came from in the map that made it.
  // NOLINTBEGIN(performance-noexcept-move-constructor): the empty map needs a leaf
  bt_map(bt_map&& other)
    requires(memory::is_stateless)
      : bt_map(other.less_, other.seed_) {
    swap(other);
  }
  bt_map& operator=(bt_map&& other)
    requires(memory::is_stateless)
  {
    bt_map taken(std::move(other));
    swap(taken);
    return *this;
  }
  // NOLINTEND(performance-noexcept-move-constructor)
  // Exchanges elements and orders. Both maps are at rest; handles stay as above. Throws what
  // swapping two of `compare` throws.
  void swap(bt_map& other) noexcept(std::is_nothrow_swappable_v<compare>)
    requires(memory::is_stateless)
  {
    std::ranges::swap(less_, other.less_);
    // Nodes are in no domain before they are retired: what waits stays where it is.
    root_.store(other.root_.exchange(root_.load(memory_order_acquire), memory_order_acq_rel),
                memory_order_release);
  }
  friend void swap(bt_map& one, bt_map& other) noexcept(std::is_nothrow_swappable_v<compare>)
    requires(memory::is_stateless)
  {
    one.swap(other);
  }
  // At rest, with no handle left. Deletes everything.
  ~bt_map() { delete_tree(root_.load(memory_order_relaxed)); }

  // The allocator that it was given. Wait-free.
  [[nodiscard]] allocator_type get_allocator() const { return allocator_; }

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] handle attach() { return handle(*this); }

  // The same calls without a handle, by any thread: each has one implicitly (implicit_handle.h).
  // What a call promises stands at the handle's. Visits and other functions that a call is given
  // may call the map so, too.
  ASSAY_IMPLICIT(insert, (parameter<K> key, parameter<V> value), (key, value))
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
  template <class... Args>
  ASSAY_IMPLICIT(emplace, (Args && ... args), (std::forward<Args>(args)...))
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
  ASSAY_IMPLICIT(find, (parameter<K> key), (key))
  ASSAY_IMPLICIT(contains, (parameter<K> key), (key))
  template <class F>
  ASSAY_IMPLICIT(visit, (parameter<K> key, F&& f), (key, f))
  ASSAY_IMPLICIT(find_many, (std::span<const K> keys, std::span<std::optional<V>> found),
                 (keys, found))
  template <class F>
  ASSAY_IMPLICIT(range, (parameter<K> first, parameter<K> last, F f), (first, last, std::move(f)))
  template <class F>
  ASSAY_IMPLICIT(iterate, (F f), (std::move(f)))
  template <class F>
  ASSAY_IMPLICIT(visit_range, (parameter<K> first, parameter<K> last, F&& f), (first, last, f))
  template <class F>
  ASSAY_IMPLICIT(visit_all, (F && f), (f))
  template <class F>
  ASSAY_IMPLICIT(visit_range_descending, (parameter<K> first, parameter<K> last, F&& f),
                 (first, last, f))
  template <class F>
  ASSAY_IMPLICIT(visit_all_descending, (F && f), (f))
  template <class F>
  ASSAY_IMPLICIT(range_snapshot, (parameter<K> first, parameter<K> last, F f),
                 (first, last, std::move(f)))
  template <class F>
  ASSAY_IMPLICIT(snapshot, (F f), (std::move(f)))
  ASSAY_IMPLICIT(clone, (), ())
  ASSAY_IMPLICIT(size, (), ())
  ASSAY_IMPLICIT(approximate_size, (), ())
  ASSAY_IMPLICIT(empty, (), ())
  ASSAY_IMPLICIT(lower_bound, (parameter<K> key), (key))
  ASSAY_IMPLICIT(upper_bound, (parameter<K> key), (key))
  ASSAY_IMPLICIT(floor, (parameter<K> key), (key))
  ASSAY_IMPLICIT(predecessor, (parameter<K> key), (key))
  ASSAY_IMPLICIT(minimum, (), ())
  ASSAY_IMPLICIT(maximum, (), ())
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(erase, (const Q& key), (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(find, (const Q& key), (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(contains, (const Q& key), (key))
  template <bt::other_key<K, compare> Q, class F>
  ASSAY_IMPLICIT(visit, (const Q& key, F&& f), (key, f))
  template <bt::other_key<K, compare> Q, bt::other_key<K, compare> R, class F>
  ASSAY_IMPLICIT(visit_range, (const Q& first, const R& last, F&& f), (first, last, f))
  template <bt::other_key<K, compare> Q, bt::other_key<K, compare> R, class F>
  ASSAY_IMPLICIT(visit_range_descending, (const Q& first, const R& last, F&& f), (first, last, f))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(lower_bound, (const Q& key), (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(upper_bound, (const Q& key), (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(floor, (const Q& key), (key))
  template <bt::other_key<K, compare> Q>
  ASSAY_IMPLICIT(predecessor, (const Q& key), (key))

  // Calls visit(key, value) for each element, in ascending order. At rest. Throws std::bad_alloc
  // and what comparisons and `visit` throw.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each_leaf(root_.load(memory_order_acquire), [&](const leaf& node) {
      entries<leaf_capacity> met;
      collect(node, met);
      sort(met);
      for (const entry& each : met) visit(words::key(each.key), words::value(each.key, each.value));
    });
  }

  // Removes all elements, and frees at once their memory and that of all elements erased before.
  // At rest. Erased elements are not freed under reclaim::none, and a policy of your own without
  // free_all() frees them when it otherwise would. Throws std::bad_alloc, with nothing changed.
  void clear() {
    leaf* const empty = make<leaf>();
    delete_tree(root_.exchange(types::edge_to(empty), memory_order_acq_rel));
    if constexpr (requires { domain_.free_all(); }) domain_.free_all();
  }

  // Fills an empty map with elements, pairs of key and value, in ascending order of their keys. At
  // rest. Nodes are made nearly full, so that the map is as small as it can be. Throws
  // std::logic_error if it is not empty, std::invalid_argument if a key is not above the one before
  // it, std::bad_alloc, and what comparisons and copies throw; with nothing changed.
  template <std::forward_iterator Iterator>
  void load_sorted(Iterator first, Iterator last);

  // What is wrong with the tree, if anything is. At rest, for tests. Throws std::bad_alloc and what
  // comparisons throw.
  [[nodiscard]] std::optional<std::string> broken_invariant() const;

  // Nodes, depths and bytes. At rest. Throws std::bad_alloc.
  [[nodiscard]] assay::shape shape() const;

  // How many retired nodes and records wait to be freed; an estimate while threads are inside
  // calls.
  [[nodiscard]] std::uint64_t unfreed() const { return domain_.unfreed(); }

 private:
  // What a new handle draws. Each has a number of its own, and so, as every step of this is a
  // bijection, numbers of its own to draw. By any thread: the count alone is shared, and nothing
  // else is read because of it, so it is relaxed.
  [[nodiscard]] detail::random_draws next_draws() {
    detail::random_draws of_map(seed_);
    return detail::random_draws(of_map() + handles_.fetch_add(1, memory_order_relaxed));
  }

  // From here to the handle: what a thread does within its calls.

  // A node, box or record from the map's allocator.
  template <class T, class... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments) const {
    return memory(allocator_).template make<T>(std::forward<Arguments>(arguments)...);
  }

  // Up to N things, without an allocation.
  template <class T, std::size_t N>
  class inline_vector {
   public:
    void push(const T& item) { items_[size_++] = item; }
    void clear() { size_ = 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return items_[i]; }
    const T& operator[](std::size_t i) const { return items_[i]; }
    T* begin() { return items_.data(); }
    T* end() { return items_.data() + size_; }
    const T* begin() const { return items_.data(); }
    const T* end() const { return items_.data() + size_; }

   private:
    // With smaller arrays, gcc 12 warns that std::sort, which compares items up to 16 apart, leaves
    // them.
    std::array<T, std::max<std::size_t>(N, 32)> items_;
    std::size_t size_ = 0;
  };
  template <std::size_t N>
  using entries = inline_vector<entry, N>;

  static constexpr std::size_t nowhere = ~std::size_t{0};

  // A leaf and the version that it had when a thread came to it.
  struct arrival {
    leaf* at;
    version seen;
  };
  // What a search for a key found.
  struct located {
    arrival where;
    std::uint64_t places;  // that the leaf uses
    std::size_t place;     // of the key, or nowhere
    entry found;
  };
  // A leaf and the separators on both sides of it, where there are any.
  struct piece {
    arrival where;
    std::optional<key_word> below;  // its keys are above this
    std::optional<key_word> upto;   // and at most this
  };

  [[nodiscard]] static set usable_set() {
    return std::min(host::best_instruction_set(), layout::most_instructions);
  }
  // With what the calling thread searches now: a function with vector instructions ends by
  // vzeroupper, which aborts a transaction.
  [[nodiscard]] set set_now() const noexcept {
    return synchronisation::in_transaction() ? set::scalar : set_;
  }

  static std::uint64_t hash_of(parameter<K> key) {
    if constexpr (types::has_fingerprints) return bt::hash_of(key);
    return 0;
  }

  // Goes down from the root, at each internal node to the child that `choose` says, and tells
  // `follow` of it. Waits while a node on the way is locked. (3) What was read of a node counts
  // once it was validated, before the edge is followed.
  template <class Choose, class Follow>
  [[nodiscard]] arrival way_down(const Choose& choose, Follow& follow) const {
    for (sync::backoff backoff;; backoff.wait()) {
      ASSAY_POINT("bt_map_way_begins");
      follow.begin();
      const node_lock* above = &root_lock_;
      version above_seen = root_lock_.read();
      if (!node_lock::is_free(above_seen)) continue;
      edge to = root_.load(memory_order_acquire);
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

  // For a search that only wants to arrive: fetches the two lines of the leaf that it will need.
  template <bool Writes>
  struct fetching {
    std::uint64_t hash;

    static void begin() {}
    static void pass(const internal& /*node*/, std::size_t /*child*/) {}
    void fetch(const leaf* node) const {
      fetch_line(node);
      if constexpr (types::has_homes)
        fetch_line(&node->elements[leaf::home(hash) * types::per_line]);
    }
    static void fetch_line(const void* at) {
      if constexpr (Writes && layout::fetches_to_write) {
        sync::prefetch_to_write(at);
      } else {
        sync::prefetch(at);
      }
    }
  };

  // Keeps the separators next to the way.
  struct between {
    std::optional<key_word> below{};
    std::optional<key_word> upto{};

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
    between met;
    const arrival where = way_down(choose, met);
    return {where, met.below, met.upto};
  }
  [[nodiscard, gnu::noinline]] piece piece_of(parameter<K> key) const {
    return piece_by(
        [&](const internal& node) { return node.template child_of<set::scalar>(key, less_); });
  }
  template <bt::other_key<K, compare> Q>
  [[nodiscard, gnu::noinline]] piece piece_of(const Q& key) const {
    return piece_by([&](const internal& node) { return node.child_of_other(key, less_); });
  }
  [[nodiscard, gnu::noinline]] piece piece_after(const K& bound) const {
    return piece_by([&](const internal& node) { return node.child_after(bound, less_); });
  }
  [[nodiscard, gnu::noinline]] piece first_piece() const {
    return piece_by([](const internal& /*node*/) { return std::size_t{0}; });
  }
  [[nodiscard, gnu::noinline]] piece last_piece() const {
    return piece_by([](const internal& node) { return std::max<std::size_t>(node.size(), 1) - 1; });
  }

  // Where in a leaf the key is, among these places.
  template <set Set, class Key = parameter<K>>
  [[nodiscard]] std::size_t place_in(const leaf& node, std::type_identity_t<Key> key,
                                     std::uint64_t hash, std::uint64_t places) const {
    if constexpr (types::has_fingerprints && bt::hashes_as<std::remove_cvref_t<Key>, K>) {
      std::uint64_t candidates = places & vector_search::equal_bytes<Set, leaf_capacity>(
                                              node.fingerprints.data(), leaf::fingerprint(hash));
      while (candidates != 0) {
        const auto place = static_cast<std::size_t>(std::countr_zero(candidates));
        const key_word word = node.elements[place].key.load();
        if (words::key(word) == key) return place;
        candidates &= candidates - 1;
      }
    } else {
      static_cast<void>(hash);
      while (places != 0) {
        const auto place = static_cast<std::size_t>(std::countr_zero(places));
        const key_word word = node.elements[place].key.load();
        const K& met = words::key(word);
        if (!less_(key, met) && !less_(met, key)) return place;
        places &= places - 1;
      }
    }
    return nowhere;
  }

  // The answer was right when the leaf's version was read.
  template <set Set, bool Writes, class Key = parameter<K>>
  [[nodiscard]] located locate_as(std::type_identity_t<Key> key, std::uint64_t hash) const {
    const auto choose = [&](const internal& node) {
      if constexpr (std::is_same_v<Key, parameter<K>>) {
        return node.template child_of<Set>(key, less_);
      } else {
        return node.child_of_other(key, less_);
      }
    };
    fetching<Writes> follow{hash};
    for (sync::backoff backoff;; backoff.wait()) {
      located got{.where = way_down(choose, follow), .places = 0, .place = nowhere, .found = {}};
      const leaf& node = *got.where.at;
      got.places = node.places();
      got.place = place_in<Set, Key>(node, key, hash, got.places);
      if (got.place != nowhere) got.found = node.at(got.place);
      ASSAY_POINT("bt_map_leaf_read");
      if (node.lock.validate(got.where.seen)) return got;
    }
  }

#if defined(__x86_64__)
  // Whole, with all that they call, in the instructions that they are named after.
  template <bool Writes>
  [[gnu::flatten]] ASSAY_AVX2 located locate_avx2(parameter<K> key, std::uint64_t hash) const {
    return locate_as<set::avx2, Writes>(key, hash);
  }
  template <bool Writes>
  [[gnu::flatten]] ASSAY_AVX512 located locate_avx512(parameter<K> key, std::uint64_t hash) const {
    return locate_as<set::avx512, Writes>(key, hash);
  }
#endif

  template <bool Writes>
  [[nodiscard]] located locate(parameter<K> key, std::uint64_t hash) const {
#if defined(__x86_64__)
    if constexpr (types::has_vectors || types::has_fingerprints) {
      const set with = set_now();
      if (with == set::avx512) return locate_avx512<Writes>(key, hash);
      if (with == set::avx2) return locate_avx2<Writes>(key, hash);
    }
#endif
    return locate_scalar<Writes>(key, hash);
  }
  template <bool Writes>
  [[nodiscard, gnu::noinline]] located locate_scalar(parameter<K> key, std::uint64_t hash) const {
    return locate_as<set::scalar, Writes>(key, hash);
  }

  // For a key of another type than K: by comparisons, or for a string by its characters' hash.
  template <class Q>
  [[nodiscard, gnu::noinline]] located locate_other(const Q& key) const {
    if constexpr (types::has_fingerprints && bt::hashes_as<Q, K>) {
      using view = typename bt::string_traits<K>::view;
      const view text(key);
      return locate_as<set::scalar, false, const view&>(text, bt::hash_of(text));
    } else {
      return locate_as<set::scalar, false, const Q&>(key, 0);
    }
  }

  // What find_many does for up to `lanes` keys: a step for each in turn, so that all wait for
  // memory together.
  static constexpr std::size_t lanes = 16;
  struct lane {
    const node_lock* above;
    version above_seen;
    edge to;
    std::uint64_t hash;
    entry found;
    bool is_found;
    bool is_lost;  // met a change
  };
  using group = std::array<lane, lanes>;

  template <set Set>
  void locate_group_as(std::span<const K> keys, group& each) const {
    const version root_seen = root_lock_.read();
    const edge root = root_.load(memory_order_acquire);
    std::uint64_t active = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      each[i] = {.above = &root_lock_,
                 .above_seen = root_seen,
                 .to = root,
                 .hash = hash_of(keys[i]),
                 .found = {},
                 .is_found = false,
                 .is_lost = !node_lock::is_free(root_seen)};
      if (!each[i].is_lost) active |= UINT64_C(1) << i;
    }
    while (active != 0) {
      for (std::uint64_t left = active; left != 0; left &= left - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(left));
        if (!step<Set>(keys[i], each[i])) active &= ~(UINT64_C(1) << i);
      }
    }
  }
  // One step of way_down() or locate_as(). Whether there is another to do.
  template <set Set>
  [[nodiscard]] bool step(parameter<K> key, lane& at) const {
    at.is_lost = true;
    if (!at.above->validate(at.above_seen)) return false;  // (3)
    if (types::is_leaf(at.to)) {
      const leaf& node = *types::leaf_at(at.to);
      const version seen = node.lock.read();
      if (!node_lock::is_free(seen)) return false;
      const std::size_t place = place_in<Set>(node, key, at.hash, node.places());
      at.is_found = place != nowhere;
      if (at.is_found) at.found = node.at(place);
      at.is_lost = !node.lock.validate(seen);
      return false;
    }
    const internal& node = *types::internal_at(at.to);
    const version seen = node.lock.read();
    if (!node_lock::is_free(seen)) return false;
    at.to = node.child(node.template child_of<Set>(key, less_));
    at.above = &node.lock;
    at.above_seen = seen;
    at.is_lost = false;
    if (types::is_leaf(at.to)) {
      fetching<false>{at.hash}.fetch(types::leaf_at(at.to));
    } else {
      constexpr std::size_t bytes = offsetof(internal, children);
      for (edge from = at.to; from < at.to + bytes; from += bt::line) {
        // Not a pointer yet: nothing has said that it leads anywhere.
        sync::prefetch(reinterpret_cast<const void*>(from));  // NOLINT(performance-no-int-to-ptr)
      }
    }
    return true;
  }

#if defined(__x86_64__)
  [[gnu::flatten]] ASSAY_AVX2 void locate_group_avx2(std::span<const K> keys, group& each) const {
    locate_group_as<set::avx2>(keys, each);
  }
  [[gnu::flatten]] ASSAY_AVX512 void locate_group_avx512(std::span<const K> keys,
                                                         group& each) const {
    locate_group_as<set::avx512>(keys, each);
  }
#endif
  void locate_group(std::span<const K> keys, group& each) const {
#if defined(__x86_64__)
    if constexpr (types::has_vectors || types::has_fingerprints) {
      const set with = set_now();
      if (with == set::avx512) return locate_group_avx512(keys, each);
      if (with == set::avx2) return locate_group_avx2(keys, each);
    }
#endif
    locate_group_as<set::scalar>(keys, each);
  }

  // The elements of a leaf that nobody changes.
  template <class Into>
  static void collect(const leaf& node, Into& into) {
    collect(node, node.places(), into);
  }
  // The leaf may change meanwhile: the result is of no use unless its lock says that it did not.
  template <class Into>
  static void collect_racing(const leaf& node, Into& into) {
    const std::uint64_t places = node.places();
    ASSAY_POINT("bt_map_places_read");
    collect(node, places, into);
  }
  template <class Into>
  static void collect(const leaf& node, std::uint64_t places, Into& into) {
    for (; places != 0; places &= places - 1) {
      into.push(node.at(static_cast<std::size_t>(std::countr_zero(places))));
    }
  }

  [[nodiscard]] bool before(const entry& one, const entry& other) const {
    return less_(words::key(one.key), words::key(other.key));
  }
  template <class Entries>
  void sort(Entries& met) const {
    std::sort(met.begin(), met.end(),
              [this](const entry& one, const entry& other) { return before(one, other); });
  }

  // An element that is not in the map yet, and deleted if it never is.
  class fresh_entry {
   public:
    explicit fresh_entry(const bt_map& map) : memory_(map.allocator_) {}
    fresh_entry(const fresh_entry&) = delete;
    fresh_entry& operator=(const fresh_entry&) = delete;
    ~fresh_entry() {
      if (made_) destroy(held_);
    }

    [[nodiscard]] bool is_made() const { return made_; }
    // The value is made of `args`. Instead of what was made before.
    template <class Key, class... Args>
    void make(Key&& key, Args&&... args) {
      static_assert(std::is_constructible_v<K, Key>,
                    "this call of bt_map makes a key of the one that it was given, or of the one "
                    "that is there. K cannot be copied: give an element with std::move(key).");
      static_assert(std::is_constructible_v<V, Args...>,
                    "this call of bt_map makes a value of what it was given, and V cannot be made "
                    "of that. A value that cannot be copied is given with std::move(value).");
      entry now;
      if constexpr (words::has_value) {
        V value(std::forward<Args>(args)...);
        now = {std::forward<Key>(key), value};
      } else if constexpr (words::has_box) {
        now = {std::forward<Key>(key), memory_.template make<typename words::box_type>(
                                           std::in_place, std::forward<Args>(args)...)};
      } else {
        now = {memory_.template make<typename words::record_type>(
                   std::in_place, std::forward<Key>(key), std::forward<Args>(args)...),
               {}};
      }
      if (made_) destroy(held_);
      held_ = now;
      made_ = true;
    }
    [[nodiscard]] const entry& get() const { return held_; }
    // It is in the map now.
    void release() { made_ = false; }
    // The key that is sought: `given`, which may have been moved into the element.
    parameter<K> key_or(parameter<K> given) const {
      if constexpr (!words::has_key) {
        if (made_) return words::key(held_.key);
      }
      return given;  // NOLINT(bugprone-return-const-ref-from-parameter): callers keep it
    }

   private:
    [[no_unique_address]] const memory memory_;
    entry held_{};
    bool made_ = false;
  };

  // Frees an element that no node points to.
  static void destroy(const entry& old) {
    if constexpr (words::has_box) memory::destroy(old.value);
    if constexpr (!words::has_key) memory::destroy(old.key);
  }
  template <class T>
  static void retire(guard_type& guard, T* old) {
    guard.retire(old, typename memory::deleter());
  }
  // Retires an element that a leaf held. The leaf's lock is not held any more.
  static void retire_entry(guard_type& guard, const entry& old) {
    if constexpr (words::has_box) retire(guard, old.value);
    if constexpr (!words::has_key) retire_separator(guard, old.key);
  }
  static void retire_separator(guard_type& guard, const key_word& old) {
    if constexpr (!words::has_key) {
      if (old->disown()) retire(guard, old);
    } else {
      static_cast<void>(guard);
      static_cast<void>(old);
    }
  }
  // By a holder of the lock of the leaf that has it.
  static void own_separator(const key_word& made) {
    if constexpr (!words::has_key) {
      made->own();
    } else {
      static_cast<void>(made);
    }
  }

  // Balancing.

  // For an insert: no leaf that is full. For an erase: none that is nearly empty.
  enum class balance_reason : std::uint8_t { room, fill };
  enum class balance_result : std::uint8_t { nothing_to_do, done, lost };

  // Nodes with fewer are joined with a sibling. In the thesis, that is fewer than 3
  // (section 5.2.1): if 5 in 6 of a million keys are erased, the others take 230 bytes each. They
  // take 47 if leaves are joined when less than a quarter full.
  static constexpr std::size_t least_elements =
      layout::keeps_leaves_full ? std::max<std::size_t>(leaf_capacity / 4, 3) : 3;
  static constexpr std::size_t least_children = 3;

  // What is made to be nearly full has room for a few more if it is not small.
  static constexpr std::size_t nearly_full(std::size_t capacity) {
    return capacity - capacity / 16;
  }

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
          bt_map::retire(guard, types::leaf_at(each));
        } else {
          bt_map::retire(guard, types::internal_at(each));
        }
      }
      for (const key_word& each : separators) retire_separator(guard, each);
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

  using prepared = bt::prepared_nodes<leaf, internal, memory>;

  // Looks at the nodes on the way to that key's leaf, from the root down, and balances the first
  // that needs it.
  [[nodiscard]] balance_result balance_one(parameter<K> key, balance_reason reason, prepared& stock,
                                           removed& old) {
    level above{};
    level parent{&root_lock_, root_lock_.read(), nullptr, 0};
    if (!node_lock::is_free(parent.seen)) return balance_result::lost;
    edge to = root_.load(memory_order_acquire);
    for (;;) {
      ASSAY_POINT("bt_map_balance_step");
      if (!parent.validate()) return balance_result::lost;  // (3)
      if (types::is_leaf(to)) {
        leaf& node = *types::leaf_at(to);
        const version seen = node.lock.read();
        if (!node_lock::is_free(seen)) return balance_result::lost;
        const auto size = static_cast<std::size_t>(std::popcount(node.places()));
        if (reason == balance_reason::room && size == leaf_capacity) {
          return split(above, parent, node, seen, key, stock, old);
        }
        if (reason == balance_reason::fill && size < least_elements && parent.node != nullptr) {
          return join<leaf>(above, parent, stock, old);
        }
        return balance_result::nothing_to_do;
      }
      internal& node = *types::internal_at(to);
      const version seen = node.lock.read();
      if (!node_lock::is_free(seen)) return balance_result::lost;
      const std::size_t size = node.size();
      if (reason == balance_reason::room && size == internal_capacity) {
        return split(above, parent, node, seen, key, stock, old);
      }
      if (reason == balance_reason::fill && size < least_children && parent.node != nullptr) {
        return join<internal>(above, parent, stock, old);
      }
      above = parent;
      parent = {&node.lock, seen, &node, node.template child_of<set::scalar>(key, less_)};
      to = node.child(parent.child);
    }
  }

  template <class Node>
  [[nodiscard]] balance_result split(const level& above, const level& parent, Node& node,
                                     version seen, parameter<K> key, prepared& stock,
                                     removed& old) {
    ASSAY_POINT("bt_map_split_begins");
    contents<Node> all;
    all.add(node);
    if (all.size() < 2) return balance_result::lost;  // read while it was being changed
    replacement change{.left = 0,
                       .splits = true,
                       .separator = {},
                       .right = 0,
                       .first = parent.child,
                       .joins = false,
                       .locks = {&node.lock, nullptr},
                       .seen = {seen, {}},
                       .old = {types::edge_to(&node), 0}};
    all.divide(*this, all.left_of_split(*this, key), stock, change);
    return replace(above, parent, change, stock, old);
  }

  // Joins the child of `parent` that the way goes on to, and its sibling.
  template <class Node>
  [[nodiscard]] balance_result join(const level& above, const level& parent, prepared& stock,
                                    removed& old) {
    const std::size_t size = parent.node->size();
    const std::size_t first = parent.child > 0 ? parent.child - 1 : 0;
    if (first + 1 >= size) return balance_result::lost;  // read while it was being changed
    const std::array<edge, 2> at{parent.node->child(first), parent.node->child(first + 1)};
    const key_word separator = parent.node->key(first);
    if (!parent.validate()) return balance_result::lost;  // (3)
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
      return balance_result::lost;
    }
    contents<Node> all;
    all.add(*node[0]);
    all.add_separator(separator);
    all.add(*node[1]);
    if (fit_in_one(all.size(), contents<Node>::capacity)) {
      all.unite(stock, change);
    } else {
      change.splits = true;
      all.divide(*this, all.half(), stock, change);
    }
    return replace(above, parent, change, stock, old);
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

    void add(const leaf& node) { collect(node, all_); }
    void add_separator(const key_word& /*between*/) {}
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    [[nodiscard]] std::size_t half() const { return (size() + 1) / 2; }
    // How many are to be in the left one of two where `key` is to be added: a half. But where it is
    // above all others or below, those after it may be as well (as in Abseil's B-trees).
    [[nodiscard]] std::size_t left_of_split(const bt_map& map, parameter<K> key) const {
      if constexpr (layout::keeps_leaves_full) {
        const std::size_t most = std::min(nearly_full(capacity), size() - 1);
        if (std::all_of(all_.begin(), all_.end(),
                        [&](const entry& each) { return map.less_(words::key(each.key), key); })) {
          return most;
        }
        if (std::all_of(all_.begin(), all_.end(),
                        [&](const entry& each) { return map.less_(key, words::key(each.key)); })) {
          return size() - most;
        }
      }
      return half();
    }

    void unite(prepared& stock, replacement& change) {
      fill(stock.leaf(0), all_.begin(), all_.end());
      change.left = types::edge_to(&stock.leaf(0));
    }
    // As an element of the left one is the separator, all in the right one are above it.
    void divide(const bt_map& map, std::size_t left, prepared& stock, replacement& change) {
      entry* const last_of_left = all_.begin() + left - 1;
      std::nth_element(
          all_.begin(), last_of_left, all_.end(),
          [&map](const entry& one, const entry& other) { return map.before(one, other); });
      fill(stock.leaf(0), all_.begin(), last_of_left + 1);
      fill(stock.leaf(1), last_of_left + 1, all_.end());
      change.left = types::edge_to(&stock.leaf(0));
      change.right = types::edge_to(&stock.leaf(1));
      change.separator = last_of_left->key;
    }

   private:
    static void fill(leaf& node, const entry* from, const entry* to) {
      node.used.store(0, memory_order_relaxed);
      for (; from != to; ++from) node.put(*from);
    }

    entries<2 * leaf_capacity> all_;
  };

  class contents_of_internals {
   public:
    static constexpr std::size_t capacity = internal_capacity;

    void add(const internal& node) {
      // The size may be of another moment than the children: then this comes to nothing.
      const std::size_t size = std::min(node.size(), internal_capacity);
      for (std::size_t i = 0; i < size; ++i) {
        children_.push(node.child(i));
        if (i + 1 < size) keys_.push(node.key(i));
      }
    }
    void add_separator(const key_word& between) { keys_.push(between); }
    [[nodiscard]] std::size_t size() const { return children_.size(); }
    [[nodiscard]] std::size_t half() const { return (size() + 1) / 2; }
    [[nodiscard]] std::size_t left_of_split(const bt_map& /*map*/, parameter<K> /*key*/) const {
      return half();
    }

    void unite(prepared& stock, replacement& change) {
      fill(stock.internal(0), children_, keys_, 0, size());
      change.left = types::edge_to(&stock.internal(0));
    }
    void divide(const bt_map& /*map*/, std::size_t left, prepared& stock, replacement& change) {
      fill(stock.internal(0), children_, keys_, 0, left);
      fill(stock.internal(1), children_, keys_, left, size() - left);
      change.left = types::edge_to(&stock.internal(0));
      change.right = types::edge_to(&stock.internal(1));
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
  [[nodiscard]] balance_result replace(const level& above, const level& parent, replacement& change,
                                       prepared& stock, removed& old) {
    constexpr bool makes_leaves_separators = !words::has_key;
    const bool is_root = parent.node == nullptr;
    // Where two children of the root become one, that is the root.
    const bool lowers =
        !is_root && above.node == nullptr && !change.splits && parent.node->size() == 2;
    const bool replaces_parent = !is_root && (synchronisation::replaces_parents || lowers);

    edge top = change.left;  // what the edge above it all leads to when it is done
    internal* made = nullptr;
    if (is_root && change.splits) {
      made = &stock.internal(2);
      inline_vector<edge, internal_capacity> children;
      inline_vector<key_word, internal_capacity> keys;
      children.push(change.left);
      children.push(change.right);
      keys.push(change.separator);
      fill(*made, children, keys, 0, 2);
    } else if (replaces_parent && !lowers) {
      made = &stock.internal(2);
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
      return balance_result::lost;
    }
    ASSAY_POINT("bt_map_balance_locked");

    const bool of_leaves = types::is_leaf(change.left);
    if constexpr (makes_leaves_separators) {
      if (of_leaves) {
        if (change.splits) own_separator(change.separator);
        if (change.joins) old.separators.push(parent.node->key(change.first));
      }
    }
    if (is_root || replaces_parent) {
      const level& holder = is_root ? parent : above;
      if (holder.node == nullptr) {
        root_.store(top, memory_order_release);  // (1) of bt_node.h
      } else {
        holder.node->set_child(holder.child, top);
      }
    } else {
      change_children(*parent.node, change);
    }
    if (made != nullptr) stock.use_internal(2);
    if (of_leaves) {
      stock.use_leaf(0);
      if (change.splits) stock.use_leaf(1);
    } else {
      stock.use_internal(0);
      if (change.splits) stock.use_internal(1);
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
    return balance_result::done;
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

  // Balances until there is room for that key, or its leaf is not nearly empty. Not inlined, so
  // that it stays out of the way of what is done all the time.
  [[gnu::noinline]] void balance(parameter<K> key, balance_reason reason, prepared& stock,
                                 guard_type& guard) {
    for (sync::backoff backoff;;) {
      ASSAY_POINT("bt_map_balance_begins");
      stock.provide(memory(allocator_));
      removed old;
      balance_result got{};
      {
        const section in(shared_);
        got = balance_one(key, reason, stock, old);
      }
      old.retire(guard);
      if (got == balance_result::nothing_to_do) return;
      if (got == balance_result::lost) backoff.wait();
    }
  }
  // After an erase, which has taken effect: it does not fail for want of memory or because a
  // comparison throws. The leaf stays as it is, until the next erase from it.
  void balance_if_possible(parameter<K> key, prepared& stock, guard_type& guard) noexcept {
    try {
      balance(key, balance_reason::fill, stock, guard);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
  }

  // Operations on many leaves at one moment.

  enum class onward : std::uint8_t { yes, no, no_room };
  enum class walked : std::uint8_t { whole, changed, no_room };

  // Reads leaf after leaf in ascending order, from the one where `first` is, or from the first one,
  // and asks `each(leaf)` whether to go on: it has to if it has not met what it needs. Then all
  // leaves are validated, so that what was read was there at one moment, unless the answer is
  // `changed`. Needs no memory: the answer is `no_room` if `leaves` or what `each` has is used up.
  template <class Q, class Each>
  [[nodiscard]] walked walk(const Q* first, const Q* last, std::vector<arrival>& leaves,
                            bool locking, const Each& each) const {
    struct unlocking {
      const std::vector<arrival>* leaves;
      ~unlocking() {
        if (leaves == nullptr) return;
        for (const arrival& one : *leaves) one.at->lock.unlock_unchanged();
      }
    };
    leaves.clear();
    const unlocking at_the_end{locking ? &leaves : nullptr};
    piece at = first != nullptr ? piece_of(*first) : first_piece();
    for (;;) {
      if (leaves.size() == leaves.capacity()) return walked::no_room;
      if (locking) {
        for (sync::backoff backoff;; backoff.wait()) {
          ASSAY_POINT("bt_map_walk_before_lock");
          if (at.where.at->lock.try_lock(at.where.seen)) break;
          ASSAY_POINT("bt_map_walk_waits");
          at = at.below ? piece_after(words::key(*at.below)) : first_piece();
        }
      }
      leaves.push_back(at.where);
      ASSAY_POINT("bt_map_walk_step");
      const onward answer = each(*at.where.at);
      if (!at.where.at->lock.validate(at.where.seen) && !locking) return walked::changed;
      if (answer == onward::no_room) return walked::no_room;
      if (answer == onward::no || !at.upto) break;
      if (last != nullptr && !less_(words::key(*at.upto), *last)) break;
      at = piece_after(words::key(*at.upto));
    }
    return locking || are_valid(leaves) ? walked::whole : walked::changed;
  }
  [[nodiscard]] static bool are_valid(const std::vector<arrival>& leaves) {
    node_lock::all_read();
    return std::all_of(leaves.begin(), leaves.end(),
                       [](const arrival& one) { return one.at->lock.validate(one.seen); });
  }
  // After this many walks that met changes, leaves are locked.
  static constexpr unsigned undisturbed_attempts = 8;

  // At rest.

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
    const auto disown = [](const key_word& word) {
      if constexpr (!words::has_key) {
        if (word->disown()) memory::destroy(word);
      } else {
        static_cast<void>(word);
      }
    };
    if (types::is_leaf(to)) {
      leaf* const node = types::leaf_at(to);
      entries<leaf_capacity> met;
      collect(*node, met);
      for (const entry& each : met) {
        if constexpr (words::has_box) memory::destroy(each.value);
        disown(each.key);
      }
      memory::destroy(node);
      return;
    }
    internal* const node = types::internal_at(to);
    for (std::size_t i = 0; i < node->size(); ++i) {
      delete_tree(node->child(i));
      if (i + 1 < node->size()) disown(node->key(i));
    }
    memory::destroy(node);
  }

  class checking;

  [[no_unique_address]] const allocator_type allocator_;
  // Read by every call, and apart from what else is written.
  alignas(64) node_lock root_lock_;
  atomic<edge> root_;
  [[no_unique_address]] compare less_;
  const set set_;
  const std::uint64_t seed_;
  [[no_unique_address]] typename synchronisation::shared shared_;
  // Written when handles come and go.
  alignas(64) domain domain_;
  atomic<std::uint64_t> handles_{0};   // attached so far
  implicit_handles<bt_map> implicit_;  // the last, so that handles end before what they need
};

// A thread's access to the map. Only the thread that attached it calls it, and not within a call to
// it, as from a comparison, a copy or a visit. It is destroyed before the map is, outside its
// calls, by that thread or by one that knows that it is done, as after joining it. Debug builds
// abort, with a message, on a call by another thread, within a call, or after it was moved from,
// and when it outlives its map.
//
// Every call may throw std::bad_alloc and what comparisons and copies throw, with nothing changed.
// "Promises" above says what each call promises and for whom it waits. Where nothing else is said,
// a call goes down one way from the root, which takes time logarithmic in the number of elements.
template <class K, class V, class Policies>
class bt_map<K, V, Policies>::handle {
 public:
  // Adds the element if no element has its key; says whether it did. Locks the leaf, and first
  // balances it if it is full. Like erase(), it is not inlined: a loop over these and find(), which
  // is, would keep its own variables in memory (gcc 12: 14 instructions more a search).
  [[gnu::noinline]] bool insert(parameter<K> key, parameter<V> value) {
    return add(key, [&](fresh_entry& fresh) { fresh.make(key, value); });
  }
  // The same with a value, or a key and a value, that are moved. As try_emplace().
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
    return add(key, [&](fresh_entry& fresh) { fresh.make(key, std::forward<Args>(args)...); });
  }
  template <class... Args>
  bool try_emplace(K&& key, Args&&... args)
    requires moves_keys
  {
    return add(
        key, [&](fresh_entry& fresh) { fresh.make(std::move(key), std::forward<Args>(args)...); });
  }

  // try_emplace() by the name that other maps have for it.
  template <class Key, class... Args>
  bool emplace(Key&& key, Args&&... args) {
    return try_emplace(std::forward<Key>(key), std::forward<Args>(args)...);
  }

  // As try_emplace(). Returns a copy of the value that the key has then, be it old or new, and
  // whether the element was added.
  template <class... Args>
  std::pair<V, bool> get_or_emplace(parameter<K> key, Args&&... args) {
    return add_and_copy(key,
                        [&](fresh_entry& fresh) { fresh.make(key, std::forward<Args>(args)...); });
  }
  template <class... Args>
  std::pair<V, bool> get_or_emplace(K&& key, Args&&... args)
    requires moves_keys
  {
    return add_and_copy(
        key, [&](fresh_entry& fresh) { fresh.make(std::move(key), std::forward<Args>(args)...); });
  }

  // As try_emplace(), and then calls visit(key, value) with references to the key's element, be it
  // old or new; says whether the element was added. `visit` is called once, with no lock held;
  // others may have replaced the value by then. What it throws passes, and an element that was
  // added stays.
  template <class Visit, class... Args>
  bool emplace_and_visit(parameter<K> key, Visit visit, Args&&... args) {
    return add_and_visit(key, visit,
                         [&](fresh_entry& fresh) { fresh.make(key, std::forward<Args>(args)...); });
  }
  template <class Visit, class... Args>
  bool emplace_and_visit(K&& key, Visit visit, Args&&... args)
    requires moves_keys
  {
    return add_and_visit(key, visit, [&](fresh_entry& fresh) {
      fresh.make(std::move(key), std::forward<Args>(args)...);
    });
  }

  // Adds the element, or gives the element with its key this value; says whether it added it. Where
  // an equivalent key is there that is not equal, one of the two stays.
  bool insert_or_assign(parameter<K> key, parameter<V> value) {
    return assign(key, [&](fresh_entry& fresh) { fresh.make(key, value); });
  }
  // The same with a value, or a key and a value, that are moved.
  bool insert_or_assign(parameter<K> key, V&& value)
    requires moves_values
  {
    return assign(key, [&](fresh_entry& fresh) { fresh.make(key, std::move(value)); });
  }
  bool insert_or_assign(K&& key, V&& value)
    requires moves_keys
  {
    return assign(key, [&](fresh_entry& fresh) { fresh.make(std::move(key), std::move(value)); });
  }

  // As insert_or_assign(), but returns a copy of the value that was replaced, or nothing if the
  // element was added.
  std::optional<V> exchange(parameter<K> key, parameter<V> value) {
    std::optional<V> old;
    alter(key, [&](const entry* held, fresh_entry& fresh) {
      copy_of(held, old);
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
    static_assert(std::is_invocable_r_v<V, F&, const V&>,
                  "the function given to bt_map's update() takes the value, or a reference to a "
                  "constant one, and returns the new value.");
    return alter(key, [&](const entry* held, fresh_entry& fresh) {
      if (held == nullptr) return decision::keep;
      fresh.make(words::key(held->key), f(words::value(held->key, held->value)));
      return decision::put;
    });
  }

  // Adds an element with the key and the value make() if there is none, or else gives it the value
  // change(value); says whether it added it. Both functions are called as that of update(), either
  // of them several times and both in one call: only the last answer counts.
  template <class Make, class Change>
  bool upsert(parameter<K> key, Make make, Change change) {
    static_assert(std::is_invocable_r_v<V, Make&>,
                  "the first function given to bt_map's upsert() takes nothing and returns the "
                  "value of a new element.");
    static_assert(std::is_invocable_r_v<V, Change&, const V&>,
                  "the second function given to bt_map's upsert() takes the value, or a reference "
                  "to a constant one, and returns the new value.");
    return !alter(key, [&](const entry* held, fresh_entry& fresh) {
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
  [[gnu::noinline]] bool erase(parameter<K> key) {
    auto guard = me_.pin();
    return erase_pinned(key, guard);
  }

  // Removes the element with the key if there is one, and returns a copy of its value, which was
  // made before: the value itself can still be read by others, and is not theirs to lose. So it is
  // not for values that can only be moved: keep std::shared_ptr of those.
  std::optional<V> extract(parameter<K> key) {
    std::optional<V> removed;
    alter(key, [&](const entry* held, fresh_entry& /*fresh*/) {
      copy_of(held, removed);
      return held == nullptr ? decision::keep : decision::remove;
    });
    return removed;
  }

  // Removes the element with the key if there is one and p(value) holds for its value; says whether
  // it did. `p` is called as the function of update(): its last answer is about the value that was
  // removed, or that stays.
  template <class Predicate>
  bool erase_if(parameter<K> key, Predicate p) {
    static_assert(std::is_invocable_r_v<bool, Predicate&, const V&>,
                  "the function given to bt_map's erase_if() takes the value, or a reference to a "
                  "constant one, and returns whether the element is to be removed.");
    bool is_removed = false;
    alter(key, [&](const entry* held, fresh_entry& /*fresh*/) {
      is_removed = held != nullptr && p(words::value(held->key, held->value));
      return is_removed ? decision::remove : decision::keep;
    });
    return is_removed;
  }

  // Removes the elements with first <= key <= last, until it meets no more; says how many. Those in
  // one leaf are removed at one moment, one leaf after the other: what was there before is removed
  // by its end, what others add meanwhile may be. If it throws, those removed by then stay so.
  // Takes a few ways down for each leaf.
  std::uint64_t erase_range(parameter<K> first, parameter<K> last) {
    std::uint64_t number = 0;
    if (map_->less_(last, first)) return number;
    for (;;) {
      auto guard = me_.pin();  // one for each leaf, as a guard retires no more than some
      const entries<leaf_capacity> removed = remove_from_one_leaf(first, last);
      if (removed.size() == 0) return number;
      number += removed.size();
      // The key is good until the guard ends.
      for (const entry& each : removed) retire_entry(guard, each);
      map_->balance_if_possible(words::key(removed[0].key), stock_, guard);
    }
  }

  // The value of the key, if there is one. Takes no lock and writes nothing to the tree. Inlined
  // for the reason that concept.h gives.
  [[gnu::always_inline]] std::optional<V> find(parameter<K> key) {
    static_assert(std::copy_constructible<V>,
                  "bt_map's find() copies the value: use visit() for values that can only be "
                  "moved.");
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    const located at = look_up<false>(key, hash_of(key));
    std::optional<V> found;
    if (at.place != nowhere) found.emplace(words::value(at.found.key, at.found.value));
    return found;
  }

  // Whether there is an element with the key.
  bool contains(parameter<K> key) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    return look_up<false>(key, hash_of(key)).place != nowhere;
  }

  // find() for each key, into the same place of `found`, which has as many: about three times as
  // fast as one by one where the map is larger than the caches, since several searches wait for
  // memory at the same time. Throws std::invalid_argument if the sizes differ.
  void find_many(std::span<const K> keys, std::span<std::optional<V>> found) {
    if (keys.size() != found.size()) {
      throw std::invalid_argument(
          "bt_map::find_many: needs as many places for values as there are keys");
    }
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    group each;
    while (!keys.empty()) {
      const auto now = keys.first(std::min(keys.size(), lanes));
      {
        const section in(map_->shared_);
        map_->locate_group(now, each);
      }
      for (std::size_t i = 0; i < now.size(); ++i) {
        if (each[i].is_lost) {
          const located at = look_up<false>(now[i], each[i].hash);
          each[i].is_found = at.place != nowhere;
          each[i].found = at.found;
        }
        copy_of(each[i].is_found ? &each[i].found : nullptr, found[i]);
      }
      keys = keys.subspan(now.size());
      found = found.subspan(now.size());
    }
  }

  // Calls visit(key, value) for the elements with first <= key <= last, in ascending order, without
  // a lock. Throws what `visit` throws. Nodes that are retired meanwhile are not freed until the
  // last visit has ended.
  template <class Visit>
  void range(parameter<K> first, parameter<K> last, Visit visit) {
    const auto each = [&visit](const K& key, const V& value) { visit(key, value); };
    if (!map_->less_(last, first)) visit_ascending(&first, &last, each);
  }

  // Calls visit(key, value) for all elements, as range().
  template <class Visit>
  void iterate(Visit visit) {
    const auto each = [&visit](const K& key, const V& value) { visit(key, value); };
    visit_ascending(no_key, no_key, each);
  }

  // Calls visit(key, value) for the elements with first <= key <= last, in ascending order, all as
  // of one moment. They are copied first, which takes memory for all of them. Throws what `visit`
  // throws.
  template <class Visit>
  void range_snapshot(parameter<K> first, parameter<K> last, Visit visit) {
    if (!map_->less_(last, first)) visit_snapshot(&first, &last, visit);
  }

  // Calls visit(key, value) for all elements, as range_snapshot().
  template <class Visit>
  void snapshot(Visit visit) {
    visit_snapshot(nullptr, nullptr, visit);
  }

  // A second map with all elements, as of one moment, which is as small as it can be. They are
  // copied twice. Throws std::bad_alloc and what comparisons and copies throw.
  std::unique_ptr<bt_map> clone() {
    static_assert(std::copy_constructible<K> && std::copy_constructible<V>,
                  "bt_map's clone() copies all elements: K or V can only be moved.");
    std::vector<std::pair<K, V>> elements;
    snapshot([&](const K& key, const V& value) { elements.emplace_back(key, value); });
    auto copy = std::make_unique<bt_map>(
        map_->less_, map_->seed_,
        std::allocator_traits<allocator_type>::select_on_container_copy_construction(
            map_->allocator_));
    copy->load_sorted(elements.begin(), elements.end());
    return copy;
  }

  // How many elements there are, at one moment. Reads every leaf.
  std::uint64_t size() {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    std::uint64_t elements = 0;
    walk_undisturbed(
        no_key, no_key, [&] { elements = 0; }, [] {},
        [&](const leaf& node) {
          elements += static_cast<std::uint64_t>(std::popcount(node.places()));
          return onward::yes;
        });
    return elements;
  }

  // About how many elements there are: the mean of 64 guesses, each the product of the numbers of
  // children on a random way down and of the elements at its end (Knuth 1975, section 1). Right on
  // average while nothing changes.
  std::uint64_t approximate_size() {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    constexpr unsigned ways = 64;
    double sum = 0;
    for (unsigned i = 0; i < ways; ++i) sum += guess_size();
    return static_cast<std::uint64_t>(std::llround(sum / ways));
  }

  // The element with the least key that is at least `key`.
  std::optional<std::pair<K, V>> lower_bound(parameter<K> key) {
    return least(&key, [&](const K& met) { return !map_->less_(met, key); });
  }

  // The element with the least key above `key`.
  std::optional<std::pair<K, V>> upper_bound(parameter<K> key) {
    return least(&key, [&](const K& met) { return map_->less_(key, met); });
  }

  // The elements with the least and the greatest key.
  std::optional<std::pair<K, V>> minimum() {
    return least(no_key, [](const K& /*met*/) { return true; });
  }
  std::optional<std::pair<K, V>> maximum() {
    return greatest(no_key, [](const K& /*met*/) { return true; });
  }

  // Reading in place, in both directions, and by keys of other types.
  //
  // `visit` functions take a key and a value, as references to constant ones, which are good until
  // they return: no copy is made of what is in a record or a box. They are called with no lock
  // held, while this thread is pinned: what is erased meanwhile is freed later. They may call the
  // map through another handle, also to change or erase what they visit, which they go on to see
  // as it was. They do not call the map through this handle. What they throw is thrown on.

  // Calls f(key, value) for the element with the key, if there is one, and says whether there was.
  // Linearizable, as find(), and costs no more.
  template <class F>
  [[gnu::always_inline]] bool visit(parameter<K> key, F&& f) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    return visit_at(look_up<false>(key, hash_of(key)), f);
  }

  // Visits the elements with first <= key <= last, as range() does. If `f` returns a bool, false
  // ends the walk. Says whether the walk came to its end.
  template <class F>
  bool visit_range(parameter<K> first, parameter<K> last, F&& f) {
    return map_->less_(last, first) || visit_ascending(&first, &last, f);
  }
  // The same for all elements.
  template <class F>
  bool visit_all(F&& f) {
    return visit_ascending(no_key, no_key, f);
  }

  // The same in descending order: from the last element with first <= key <= last to the first.
  template <class F>
  bool visit_range_descending(parameter<K> first, parameter<K> last, F&& f) {
    return map_->less_(last, first) || visit_descending(&first, &last, f);
  }
  template <class F>
  bool visit_all_descending(F&& f) {
    return visit_descending(no_key, no_key, f);
  }

  // The element with the greatest key that is at most `key`, and that with the greatest below it.
  // Linearizable.
  std::optional<std::pair<K, V>> floor(parameter<K> key) {
    return greatest(&key, [&](const K& met) { return !map_->less_(key, met); });
  }
  std::optional<std::pair<K, V>> predecessor(parameter<K> key) {
    return greatest(&key, [&](const K& met) { return map_->less_(met, key); });
  }
  // Whether there is no element. Linearizable, and nearly always reads one leaf.
  [[nodiscard]] bool empty() {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    bool is_empty = true;
    walk_undisturbed(
        no_key, no_key, [&] { is_empty = true; }, [] {},
        [&](const leaf& node) {
          is_empty = node.places() == 0;
          return is_empty ? onward::yes : onward::no;
        });
    return is_empty;
  }

  // The same look-ups by keys of other types, where compare has is_transparent, as std::less<> has:
  // std::string_view for std::string, or a part of a key. Such a key is ordered among those of
  // type K as one of them would be, and equivalent to at most one of those that the map may hold.
  // No K is made of it. Strings are found by their hash, as by keys of type K, and all others by
  // comparison with every element of a leaf. Numbers are not other types of numbers: they are
  // converted.
  template <bt::other_key<K, compare> Q>
  std::optional<V> find(const Q& key) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    const located at = look_up_other(key);
    std::optional<V> found;
    copy_of(at.place != nowhere ? &at.found : nullptr, found);
    return found;
  }
  template <bt::other_key<K, compare> Q>
  bool contains(const Q& key) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    return look_up_other(key).place != nowhere;
  }
  template <bt::other_key<K, compare> Q, class F>
  bool visit(const Q& key, F&& f) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    return visit_at(look_up_other(key), f);
  }
  template <bt::other_key<K, compare> Q>
  bool erase(const Q& key) {
    auto guard = me_.pin();
    const located at = look_up_other(key);
    // The element may be erased meanwhile, or another one with its key, and no other, be there.
    return at.place != nowhere && erase_pinned(words::key(at.found.key), guard);
  }
  template <bt::other_key<K, compare> Q>
  std::optional<std::pair<K, V>> lower_bound(const Q& key) {
    return least(&key, [&](const K& met) { return !map_->less_(met, key); });
  }
  template <bt::other_key<K, compare> Q>
  std::optional<std::pair<K, V>> upper_bound(const Q& key) {
    return least(&key, [&](const K& met) { return map_->less_(key, met); });
  }
  template <bt::other_key<K, compare> Q>
  std::optional<std::pair<K, V>> floor(const Q& key) {
    return greatest(&key, [&](const K& met) { return !map_->less_(key, met); });
  }
  template <bt::other_key<K, compare> Q>
  std::optional<std::pair<K, V>> predecessor(const Q& key) {
    return greatest(&key, [&](const K& met) { return map_->less_(met, key); });
  }
  // These visit nothing where `last` is below `first`.
  template <bt::other_key<K, compare> First, bt::other_key<K, compare> Last, class F>
  bool visit_range(const First& first, const Last& last, F&& f) {
    return visit_ascending(&first, &last, f);
  }
  template <bt::other_key<K, compare> First, bt::other_key<K, compare> Last, class F>
  bool visit_range_descending(const First& first, const Last& last, F&& f) {
    return visit_descending(&first, &last, f);
  }

  // The map that it is of.
  bt_map& map() { return *map_; }

 private:
  friend bt_map;
  explicit handle(bt_map& map)
      : map_(&map), random_(map.next_draws()), me_(reclaim::join_without_nesting(map.domain_)) {}

  template <bool Writes>
  [[nodiscard]] located look_up(parameter<K> key, std::uint64_t hash) {
    const section in(map_->shared_);
    return map_->template locate<Writes>(key, hash);
  }

  template <class Q>
  [[nodiscard]] located look_up_other(const Q& key) {
    const section in(map_->shared_);
    return map_->locate_other(key);
  }

  bool erase_pinned(parameter<K> key, guard_type& guard) {
    const std::uint64_t hash = hash_of(key);
    for (sync::backoff backoff;; backoff.wait()) {
      located at{};
      {
        const section in(map_->shared_);
        at = map_->template locate<true>(key, hash);
        if (at.place == nowhere) return false;
        if (!remove_at(at)) continue;
      }
      retire_removed(guard, key, at);
      return true;
    }
  }

  enum class found_there : std::uint8_t { as_it_is, replaced, changed };

  // Adds the element that make(fresh) makes in `fresh` if its key is not there, and says whether it
  // did. Else `met(at, fresh)` says what it did with the one that is there: it was `changed` if the
  // leaf was. The key may be moved into the element that is made.
  template <class Make, class Met>
  bool put(guard_type& guard, fresh_entry& fresh, parameter<K> given, const Make& make,
           const Met& met) {
    const std::uint64_t hash = hash_of(given);
    // In a critical section no memory is asked for.
    if constexpr (synchronisation::is_coarse) make(fresh);
    for (sync::backoff backoff;; backoff.wait()) {
      const parameter<K> key = fresh.key_or(given);
      located at{};
      found_there done{};
      {
        const section in(map_->shared_);
        at = map_->template locate<true>(key, hash);
        if (at.place != nowhere) {
          done = met(at, fresh);
          if (done == found_there::as_it_is) return false;
        } else if (at.places != leaf::all) {
          if (!fresh.is_made()) make(fresh);
          if (put_at(at, hash, fresh)) return true;
        }
      }
      if (at.place == nowhere) {
        if (at.places == leaf::all) map_->balance(key, balance_reason::room, stock_, guard);
      } else if (done == found_there::replaced) {
        retire_entry(guard, at.found);
        return false;
      }
    }
  }
  template <class Make>
  bool add(parameter<K> key, const Make& make) {
    auto guard = me_.pin();
    fresh_entry fresh(*map_);
    return put(guard, fresh, key, make,
               [](const located& /*at*/, fresh_entry& /*fresh*/) { return found_there::as_it_is; });
  }
  // The same, with the element that has the key then: `there` is good until the guard ends.
  template <class Make>
  bool add_or_find(guard_type& guard, parameter<K> key, const Make& make, entry& there) {
    fresh_entry fresh(*map_);
    return put(
        guard, fresh, key,
        [&](fresh_entry& made) {
          make(made);
          there = made.get();
        },
        [&](const located& at, fresh_entry& /*made*/) {
          there = at.found;
          return found_there::as_it_is;
        });
  }
  template <class Make>
  std::pair<V, bool> add_and_copy(parameter<K> key, const Make& make) {
    auto guard = me_.pin();
    std::optional<V> value;
    entry there{};
    const bool is_added = add_or_find(
        guard, key,
        [&](fresh_entry& fresh) {
          make(fresh);
          copy_of(&fresh.get(), value);  // here, so that nothing has changed if it fails
        },
        there);
    if (!is_added) copy_of(&there, value);
    return {*std::move(value), is_added};
  }
  template <class Visit, class Make>
  bool add_and_visit(parameter<K> key, Visit& visit, const Make& make) {
    auto guard = me_.pin();
    entry there{};
    const bool is_added = add_or_find(guard, key, make, there);
    visit(words::key(there.key), words::value(there.key, there.value));
    return is_added;
  }
  template <class Make>
  bool assign(parameter<K> key, const Make& make) {
    auto guard = me_.pin();
    fresh_entry fresh(*map_);
    return put(guard, fresh, key, make, [&](const located& at, fresh_entry& made) {
      if (!made.is_made()) make(made);
      return replace_at(at, made) ? found_there::replaced : found_there::changed;
    });
  }

  // Puts an element into a leaf with room, unless the leaf was changed.
  static bool put_at(const located& at, std::uint64_t hash, fresh_entry& fresh) {
    ASSAY_POINT("bt_map_insert_before_lock");
    leaf& node = *at.where.at;
    if (!node.lock.try_lock(at.where.seen)) return false;
    ASSAY_POINT("bt_map_insert_locked");
    node.put(leaf::free_place(at.places, hash), fresh.get(), hash);
    node.lock.unlock();
    fresh.release();
    return true;
  }
  // Puts the new element where one with the same key is, unless the leaf was changed.
  static bool replace_at(const located& at, fresh_entry& fresh) {
    leaf& node = *at.where.at;
    ASSAY_POINT("bt_map_assign_before_lock");
    if (!node.lock.try_lock(at.where.seen)) return false;
    ASSAY_POINT("bt_map_assign_locked");
    // The key too: the record has both. Of a key that is a word these are the same bits or others
    // that are equivalent.
    node.elements[at.place].key.store(fresh.get().key);
    node.elements[at.place].value.store(fresh.get().value);
    node.lock.unlock();
    fresh.release();
    return true;
  }
  // Removes the element from its leaf, unless the leaf was changed.
  static bool remove_at(const located& at) {
    leaf& node = *at.where.at;
    ASSAY_POINT("bt_map_erase_before_lock");
    if (!node.lock.try_lock(at.where.seen)) return false;
    ASSAY_POINT("bt_map_erase_locked");
    node.remove(at.place);
    node.lock.unlock();
    return true;
  }
  // What is left to do after that.
  void retire_removed(guard_type& guard, parameter<K> key, const located& at) {
    retire_entry(guard, at.found);
    if (static_cast<std::size_t>(std::popcount(at.places)) <= least_elements) {
      map_->balance_if_possible(key, stock_, guard);
    }
  }
  // Removes all elements with first <= key <= last from the first leaf that has any.
  entries<leaf_capacity> remove_from_one_leaf(parameter<K> first, parameter<K> last) {
    entries<leaf_capacity> removed;
    for (sync::backoff backoff;; backoff.wait()) {
      const section in(map_->shared_);
      for (piece at = map_->piece_of(first);; at = map_->piece_after(words::key(*at.upto))) {
        leaf& node = *at.where.at;
        std::uint64_t doomed = 0;
        removed.clear();
        for (std::uint64_t left = node.places(); left != 0; left &= left - 1) {
          const auto place = static_cast<std::size_t>(std::countr_zero(left));
          const entry each = node.at(place);
          const K& key = words::key(each.key);
          if (map_->less_(key, first) || map_->less_(last, key)) continue;
          removed.push(each);
          doomed |= UINT64_C(1) << place;
        }
        ASSAY_POINT("bt_map_erase_range_before_lock");
        if (doomed == 0) {
          if (!node.lock.validate(at.where.seen)) break;
          if (!at.upto || !map_->less_(words::key(*at.upto), last)) return removed;
          continue;
        }
        if (!node.lock.try_lock(at.where.seen)) break;
        for (; doomed != 0; doomed &= doomed - 1) {
          node.remove(static_cast<std::size_t>(std::countr_zero(doomed)));
        }
        node.lock.unlock();
        return removed;
      }
    }
  }

  // What is to become of the element with a key: it stays as it is, is replaced by a new one or
  // added, or is removed.
  enum class decision : std::uint8_t { keep, put, remove };

  // Does what decide(held, fresh) says, and says whether there was an element with the key. `held`
  // is that element, or nullptr; one that is to be put there is made in `fresh`. It is called with
  // no lock held, and again when the element was changed meanwhile, so that its last answer is
  // about what the map held when the call took effect.
  template <class Decide>
  bool alter(parameter<K> key, const Decide& decide) {
    auto guard = me_.pin();
    const std::uint64_t hash = hash_of(key);
    fresh_entry fresh(*map_);
    located at = look_up<true>(key, hash);
    for (;;) {
      const bool was_there = at.place != nowhere;
      const entry old = at.found;
      const decision decided = decide(was_there ? &old : nullptr, fresh);
      if (decided == decision::keep) return was_there;
      if (!carry_out(decided, guard, key, hash, at, fresh)) continue;
      if (decided == decision::remove) {
        retire_removed(guard, key, at);
      } else if (was_there) {
        retire_entry(guard, old);
      }
      return was_there;
    }
  }
  // Does what was decided about what was found at `at`, or says no, and in `at` what is there now.
  // Others may change the rest of the leaf meanwhile.
  bool carry_out(decision decided, guard_type& guard, parameter<K> key, std::uint64_t hash,
                 located& at, fresh_entry& fresh) {
    const bool was_there = at.place != nowhere;
    const entry old = at.found;
    // With bt::coarse it was found in another critical section.
    bool is_current = !synchronisation::is_coarse;
    for (sync::backoff backoff;; backoff.wait()) {
      bool is_full = false;
      {
        const section in(map_->shared_);
        if (!is_current) at = map_->template locate<true>(key, hash);
        is_current = false;
        const bool is_there = at.place != nowhere;
        if (is_there != was_there || (was_there && !is_same(old, at.found))) return false;
        is_full = !was_there && at.places == leaf::all;
        if (!is_full && (decided == decision::remove ? remove_at(at)
                         : was_there                 ? replace_at(at, fresh)
                                                     : put_at(at, hash, fresh))) {
          return true;
        }
      }
      if (is_full) map_->balance(key, balance_reason::room, stock_, guard);
    }
  }
  // Into `copy`, which is empty if there is no element.
  static void copy_of(const entry* held, std::optional<V>& copy) {
    static_assert(
        std::copy_constructible<V>,
        "this call of bt_map copies the value, which others may read: use one that visits "
        "it, or keep std::shared_ptr of values that can only be moved.");
    copy.reset();
    if (held != nullptr) copy.emplace(words::value(held->key, held->value));
  }

  // Whether nobody has replaced the element meanwhile. What pointers lead to is not reused while
  // this thread is pinned; numbers that were replaced and put back make no difference.
  static bool is_same(const entry& old, const entry& now) {
    if constexpr (words::has_value) {
      // Numbers such as 0.0 and -0.0, or not-a-numbers, are compared as the bits that they are.
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
      return std::memcmp(&old.value, &now.value, sizeof(old.value)) == 0;
    } else if constexpr (words::has_box) {
      return old.value == now.value;
    } else {
      return old.key == now.key;
    }
  }

  template <class Visit>
  [[gnu::always_inline]] static bool visit_at(const located& at, Visit& visit) {
    if (at.place == nowhere) return false;
    visit(words::key(at.found.key), words::value(at.found.key, at.found.value));
    return true;
  }

  // Whether to go on after this element.
  template <class Visit>
  static bool goes_on(Visit& visit, const entry& met) {
    const K& key = words::key(met.key);
    const V& value = words::value(met.key, met.value);
    if constexpr (std::is_same_v<decltype(visit(key, value)), bool>) {
      return visit(key, value);
    } else {
      visit(key, value);
      return true;
    }
  }

  // What is in a leaf, in ascending order, and which leaf that is: `find_piece` says it.
  template <class FindPiece>
  piece read_piece(entries<leaf_capacity>& met, const FindPiece& find_piece) {
    for (sync::backoff backoff;; backoff.wait()) {
      met.clear();
      {
        const section in(map_->shared_);
        const piece at = find_piece();
        collect_racing(*at.where.at, met);
        ASSAY_POINT("bt_map_range_leaf_read");
        if (at.where.at->lock.validate(at.where.seen)) {
          map_->sort(met);
          return at;
        }
      }
    }
  }

  template <class First, class Last, class Visit>
  bool visit_ascending(const First* first, const Last* last, Visit& visit) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    entries<leaf_capacity> met;
    key_word bound{};  // what is at most this has been visited
    for (bool begins = true;; begins = false) {
      if (!begins && last != nullptr && !map_->less_(words::key(bound), *last)) return true;
      const piece at = read_piece(met, [&] {
        if (!begins) return map_->piece_after(words::key(bound));
        return first != nullptr ? map_->piece_of(*first) : map_->first_piece();
      });
      for (const entry& each : met) {
        const K& key = words::key(each.key);
        if (begins ? first != nullptr && map_->less_(key, *first)
                   : !map_->less_(words::key(bound), key)) {
          continue;  // also what was joined to this leaf after it had been visited
        }
        if (last != nullptr && map_->less_(*last, key)) return true;
        if (!goes_on(visit, each)) return false;
      }
      if (!at.upto) return true;
      bound = *at.upto;
    }
  }

  template <class First, class Last, class Visit>
  bool visit_descending(const First* first, const Last* last, Visit& visit) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    entries<leaf_capacity> met;
    key_word bound{};  // what is above this has been visited
    for (bool begins = true;; begins = false) {
      if (!begins && first != nullptr && map_->less_(words::key(bound), *first)) return true;
      const piece at = read_piece(met, [&] {
        if (!begins) return map_->piece_of(words::key(bound));
        return last != nullptr ? map_->piece_of(*last) : map_->last_piece();
      });
      for (std::size_t i = met.size(); i-- > 0;) {
        const K& key = words::key(met[i].key);
        if (begins ? last != nullptr && map_->less_(*last, key)
                   : map_->less_(words::key(bound), key)) {
          continue;  // also what was joined to this leaf after it had been visited
        }
        if (first != nullptr && map_->less_(key, *first)) return true;
        if (!goes_on(visit, met[i])) return false;
      }
      if (!at.below) return true;
      bound = *at.below;
    }
  }

  template <class Visit>
  void visit_snapshot(const K* first, const K* last, Visit& visit) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    std::vector<entry> found;
    walk_undisturbed(
        first, last, [&] { found.clear(); },
        [&] {
          if (found.capacity() - found.size() < leaf_capacity) {
            found.reserve(2 * found.capacity() + leaf_capacity);
          }
        },
        [&](const leaf& node) {
          entries<leaf_capacity> met;
          collect_racing(node, met);
          if (found.capacity() - found.size() < met.size()) return onward::no_room;
          map_->sort(met);
          found.insert(found.end(), met.begin(), met.end());
          return onward::yes;
        });
    for (const entry& each : found) {
      const K& key = words::key(each.key);
      if (first != nullptr && map_->less_(key, *first)) continue;
      if (last != nullptr && map_->less_(*last, key)) return;
      visit(key, words::value(each.key, each.value));
    }
  }

  // The least element for which `wanted(key)` holds and that is not below *from. `wanted` holds for
  // all keys from some key on.
  template <class Q, class Wanted>
  std::optional<std::pair<K, V>> least(const Q* from, const Wanted& wanted) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    bool is_found = false;
    entry found{};
    walk_undisturbed(
        from, static_cast<const Q*>(nullptr), [&] { is_found = false; }, [] {},
        [&](const leaf& node) {
          entries<leaf_capacity> met;
          collect_racing(node, met);
          for (const entry& each : met) {
            if (wanted(words::key(each.key)) && (!is_found || map_->before(each, found))) {
              found = each;
              is_found = true;
            }
          }
          return is_found ? onward::no : onward::yes;
        });
    return element_of(is_found, found);
  }
  // The greatest element for which `wanted(key)` holds, from the leaf of *from downwards, or from
  // the last one. `wanted` holds for all keys up to some key.
  template <class Q, class Wanted>
  std::optional<std::pair<K, V>> greatest(const Q* from, const Wanted& wanted) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    for (sync::backoff backoff;; backoff.wait()) {
      bool is_found = false;
      entry found{};
      bool is_whole = false;
      {
        const section in(map_->shared_);
        leaves_.clear();
        // Leaves are hardly ever empty, but may be, where memory was missing to join them.
        for (piece at = from != nullptr ? map_->piece_of(*from) : map_->last_piece();
             leaves_.size() < leaves_.capacity(); at = map_->piece_of(words::key(*at.below))) {
          leaves_.push_back(at.where);
          ASSAY_POINT("bt_map_walk_step");
          entries<leaf_capacity> met;
          collect_racing(*at.where.at, met);
          for (const entry& each : met) {
            if (wanted(words::key(each.key)) && (!is_found || map_->before(found, each))) {
              found = each;
              is_found = true;
            }
          }
          if (is_found || !at.below) {
            is_whole = are_valid(leaves_);
            break;
          }
        }
      }
      if (is_whole) return element_of(is_found, found);
      if (leaves_.size() == leaves_.capacity()) leaves_.reserve(2 * leaves_.size() + 8);
    }
  }
  static std::optional<std::pair<K, V>> element_of(bool is_found, const entry& found) {
    static_assert(std::copy_constructible<K> && std::copy_constructible<V>,
                  "this call of bt_map copies the element that it finds: use one that visits it "
                  "where K or V can only be moved.");
    std::optional<std::pair<K, V>> element;
    if (is_found) element.emplace(words::key(found.key), words::value(found.key, found.value));
    return element;
  }

  // A walk that met no change, or that locked what it came to: begin() forgets what was met before,
  // and more_room() makes room for more.
  template <class Q, class Begin, class MoreRoom, class Each>
  void walk_undisturbed(const Q* first, const Q* last, const Begin& begin,
                        const MoreRoom& more_room, const Each& each) {
    sync::backoff backoff;
    for (unsigned attempt = 0;;) {
      walked got{};
      {
        const section in(map_->shared_);
        begin();
        got = map_->walk(first, last, leaves_, attempt >= undisturbed_attempts, each);
      }
      if (got == walked::whole) return;
      if (got == walked::changed) {
        ++attempt;
        backoff.wait();
      } else {
        if (leaves_.size() == leaves_.capacity()) leaves_.reserve(2 * leaves_.size() + 8);
        more_room();
      }
    }
  }

  double guess_size() {
    struct counting {
      double product = 1;
      void begin() { product = 1; }
      void pass(const internal& node, std::size_t /*child*/) {
        product *= static_cast<double>(node.size());
      }
      static void fetch(const leaf* /*node*/) {}
    };
    for (sync::backoff backoff;; backoff.wait()) {
      const section in(map_->shared_);
      counting met;
      const arrival where = map_->way_down(
          [this](const internal& node) {
            return static_cast<std::size_t>(random_() % std::max<std::size_t>(node.size(), 1));
          },
          met);
      const auto elements = static_cast<double>(std::popcount(where.at->places()));
      if (where.at->lock.validate(where.seen)) return met.product * elements;
    }
  }

  static constexpr const K* no_key = nullptr;

  bt_map* map_;
  prepared stock_;
  std::vector<arrival> leaves_;  // of the walk that is going on
  detail::random_draws random_;
  // Last, so that it leaves first: nothing above needs it.
  typename domain::participant me_;
};

}  // namespace assay

// The members that are defined apart from it.
// NOLINTBEGIN(misc-header-include-cycle)
#include "assay/maps/bt_invariants.h"
#include "assay/maps/bt_load.h"
// NOLINTEND(misc-header-include-cycle)

#endif  // ASSAY_MAPS_BT_MAP_H_
