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
#include "assay/maps/bt_inline_vector.h"
#include "assay/maps/bt_memory.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"
#include "assay/maps/vector_sort.h"

namespace assay::bt::inline ASSAY_ABI {

// For the other parts of the map alone. Any thread that has a guard of `domain` may call its
// functions; those that say "at rest" need the map at rest (concept.h).
template <class K, class V, class Policies>
class tree {
 public:
  using key_type = K;
  using mapped_type = V;
  using compare = typename Policies::compare;
  using allocator_type = typename Policies::allocator;
  using domain = typename Policies::reclaim;
  using guard_type = typename domain::guard;
  using synchronisation = typename Policies::synchronisation;
  using section = typename synchronisation::section;
  using memory = bt::memory<allocator_type>;
  using layout = bt::layout_of<Policies>;
  using types = bt::nodes<K, V, Policies>;
  using node_lock = typename types::node_lock;
  using version = typename node_lock::version;
  using words = typename types::words;
  using key_word = typename words::key_word;
  using entry = typename types::entry_type;
  using leaf = typename types::leaf;
  using internal = typename types::internal;
  using edge = typename types::edge;
  using set = host::instruction_set;

  static constexpr std::size_t leaf_capacity = Policies::leaf_capacity;
  static constexpr std::size_t internal_capacity = Policies::internal_capacity;

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
  // A leaf and the separators on both sides of it, where there are any. It was that child of
  // `parent`, if it had one, when that had that version.
  struct piece {
    arrival where;
    std::optional<key_word> below;  // its keys are above this
    std::optional<key_word> upto;   // and at most this
    const internal* parent;
    version parent_seen;
    std::size_t child;
  };

  // An empty one. Throws std::bad_alloc.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved, if it can be
  tree(compare order, const allocator_type& allocator_)
      : allocator(allocator_), less(std::move(order)) {
    root.store(types::edge_to(make<leaf>()), memory_order_relaxed);  // nobody else has it yet
  }
  tree(const tree&) = delete;
  tree& operator=(const tree&) = delete;
  // At rest, as swap() and clear().
  ~tree() { delete_tree(root.load(memory_order_relaxed)); }

  void swap(tree& other) noexcept(std::is_nothrow_swappable_v<compare>) {
    std::ranges::swap(less, other.less);
    swap_elements(other);
  }
  // Both have the same order.
  void swap_elements(tree& other) noexcept {
    root.store(other.root.exchange(root.load(memory_order_acquire), memory_order_acq_rel),
               memory_order_release);
  }
  // Throws std::bad_alloc, with nothing changed.
  void clear() {
    leaf* const empty = make<leaf>();
    delete_tree(root.exchange(types::edge_to(empty), memory_order_acq_rel));
  }

  // A node, box or record from the map's allocator.
  template <class T, class... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments) const {
    return memory(allocator).template make<T>(std::forward<Arguments>(arguments)...);
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

  // For a search that only wants to arrive: fetches the two lines of the leaf that it will need.
  template <bool Writes>
  struct fetching {
    std::uint64_t hash;

    static void begin() {}
    static void pass(const internal& /*node*/, version /*seen*/, std::size_t /*child*/) {}
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

  // For who reads a leaf whole: keeps what a piece says of the way.
  struct between {
    piece& met;

    void begin() const { met = {}; }
    void pass(const internal& node, version seen, std::size_t child) const {
      if (child > 0) met.below = node.key(child - 1);
      if (child + 1 < node.size()) met.upto = node.key(child);
      met.parent = &node;
      met.parent_seen = seen;
      met.child = child;
    }
    static void fetch(const leaf* node) {
      for (std::size_t i = 0; i < sizeof(leaf); i += line) {
        sync::prefetch(reinterpret_cast<const std::byte*>(node) + i);
      }
    }
  };

  // Not inlined, as what follows: compilers would otherwise copy the way down to a dozen places.
  template <class Choose>
  [[nodiscard]] piece piece_by(const Choose& choose) const {
    piece found;
    between follow{found};
    found.where = way_down(choose, follow);
    return found;
  }
  [[nodiscard]] piece piece_of(parameter<K> key) const {
#if defined(__x86_64__)
    if constexpr (types::has_vectors) {
      const set with = set_now();
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
  [[nodiscard, gnu::noinline]] piece piece_after(const K& bound) const {
    return piece_by([&](const internal& node) { return node.child_after(bound, less); });
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
    const key_word bound = *at.upto;
    if (!go_to_next(at)) at = piece_after(words::key(bound));
  }
  // Fetches that leaf, if it has the same parent.
  static void fetch_next(const piece& at) { fetch_child(at, at.child + 1); }
  static void fetch_previous(const piece& at) { fetch_child(at, at.child - 1); }

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
        if (!less(key, met) && !less(met, key)) return place;
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
        return node.template child_of<Set>(key, less);
      } else {
        return node.child_of_other(key, less);
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
  // Into `met`, in place of what is there, those of its elements whose key is wanted. The leaf may
  // change meanwhile, as in collect_racing().
  template <class Wanted>
  static void collect_wanted(const leaf& node, entries<leaf_capacity>& met, const Wanted& wanted) {
    std::uint64_t places = node.places();
    ASSAY_POINT("bt_map_places_read");
    entry* end = met.begin();  // not a member of `met`, which would be in memory
    for (; places != 0; places &= places - 1) {
      *end = node.at(static_cast<std::size_t>(std::countr_zero(places)));
      end += wanted(words::key(end->key)) ? 1 : 0;  // no branch
    }
    met.resize(static_cast<std::size_t>(end - met.begin()));
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

  // The order of elements by their keys.
  [[nodiscard]] auto by_key() const {
    return [this](const entry& one, const entry& other) {
      return less(words::key(one.key), words::key(other.key));
    };
  }
  // Puts elements of one leaf into `sorted`, in place of what is there. If a key is there twice, as
  // in a leaf that was not validated, some of `sorted` may be left as it was.
  void sort(const entries<leaf_capacity>& met, entries<leaf_capacity>& sorted) const {
    sorted.resize(met.size());
#if defined(__x86_64__)
    if constexpr (types::has_vectors) {
      if (const set with = set_now(); with != set::scalar) {
        vector_sort::sort(with, met.begin(), met.size(), sorted.begin());
        return;
      }
    }
#endif
    std::copy(met.begin(), met.end(), sorted.begin());
    std::sort(sorted.begin(), sorted.end(), by_key());
  }

  // An element that is not in the map yet, and deleted if it never is.
  class fresh_entry {
   public:
    explicit fresh_entry(const tree& of) : memory_(of.allocator) {}
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

  // At rest, as what follows. Visits the elements in ascending order.
  template <class Visit>
  void for_each(Visit& visit) const {
    for_each_leaf(root.load(memory_order_acquire), [&](const leaf& node) {
      entries<leaf_capacity> met;
      entries<leaf_capacity> sorted;
      collect(node, met);
      sort(met, sorted);
      for (const entry& each : sorted) {
        visit(words::key(each.key), words::value(each.key, each.value));
      }
    });
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

  [[no_unique_address]] const allocator_type allocator;
  // Read by every call, and apart from what else is written.
  alignas(64) node_lock root_lock;
  atomic<edge> root{};
  [[no_unique_address]] compare less;
  // Readers lock it, too, also of a constant map.
  [[no_unique_address]] mutable typename synchronisation::shared shared;

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
    if (synchronisation::is_coarse || at.parent == nullptr) return false;
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
      between::fetch(types::leaf_at(at.parent->child(i)));
    }
  }

  const set set_ = std::min(host::best_instruction_set(), layout::most_instructions);
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_TREE_H_
