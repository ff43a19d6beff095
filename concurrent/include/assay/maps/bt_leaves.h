// What trees that lead to leaves in different ways have in common: the leaves and their elements.
// bt_tree.h and radix_tree.h say how a thread finds its way to a leaf.

#ifndef ASSAY_MAPS_BT_LEAVES_H_
#define ASSAY_MAPS_BT_LEAVES_H_

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
#include "assay/maps/vector_search.h"
#include "assay/maps/vector_sort.h"

namespace assay::bt::inline ASSAY_ABI {

// For the other parts of the map alone. `Tree` derives from it, and leads to the leaves: it has
// arrive(), for_each_leaf() and delete_tree(). Any thread that has a guard of `domain` may call its
// functions; those that say "at rest" need the map at rest (concept.h).
template <class Tree, class K, class V, class Policies, class Types>
class leaves {
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
  using types = Types;
  using node_lock = typename types::node_lock;
  using version = typename node_lock::version;
  using words = typename types::words;
  using key_word = typename words::key_word;
  using entry = typename types::entry_type;
  using leaf = typename types::leaf;
  using edge = typename types::edge;
  using set = host::instruction_set;

  static constexpr std::size_t leaf_capacity = Policies::leaf_capacity;
  static constexpr std::size_t most_in_leaf = types::most_in_leaf;

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
  // An empty one. Throws std::bad_alloc.
  // NOLINTNEXTLINE(performance-unnecessary-value-param,bugprone-crtp-constructor-accessibility)
  leaves(compare less_, const allocator_type& allocator_)
      : allocator(allocator_), less(std::move(less_)) {
    root.store(types::edge_to(make<leaf>()), memory_order_relaxed);  // nobody else has it yet
  }
  leaves(const leaves&) = delete;
  leaves& operator=(const leaves&) = delete;
  // At rest, as swap() and clear().
  ~leaves() {
    Tree::delete_tree(root.load(memory_order_relaxed));
    memory::give_back();
  }

  void swap(leaves& other) noexcept(std::is_nothrow_swappable_v<compare>) {
    std::ranges::swap(less, other.less);
    swap_elements(other);
  }
  // Both have the same order.
  void swap_elements(leaves& other) noexcept {
    root.store(other.root.exchange(root.load(memory_order_acquire), memory_order_acq_rel),
               memory_order_release);
  }
  // Throws std::bad_alloc, with nothing changed.
  void clear() {
    leaf* const empty = make<leaf>();
    Tree::delete_tree(root.exchange(types::edge_to(empty), memory_order_acq_rel));
    memory::give_back();
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

  // For a search that only wants to arrive: fetches the two lines of the leaf that it will need.
  template <bool Writes>
  struct fetching {
    std::uint64_t hash;

    static void begin() {}
    static void pass(const auto& /*node*/, version /*seen*/, std::size_t /*child*/) {}
    void fetch(const leaf* node) const {
      fetch_line(node);
      if constexpr (types::has_homes) fetch_line(node->line_of(hash));
    }
    static void fetch_line(const void* at) {
      if constexpr (Writes && layout::fetches_to_write) {
        sync::prefetch_to_write(at);
      } else {
        sync::prefetch(at);
      }
    }
  };

  // Where in a leaf the key is, among these places.
  template <set Set, class Key = parameter<K>>
  [[nodiscard]] std::size_t place_by_key(const leaf& node, std::type_identity_t<Key> key,
                                         std::uint64_t hash, std::uint64_t places) const {
    if constexpr (types::has_fingerprints && bt::hashes_as<std::remove_cvref_t<Key>, K>) {
      std::uint64_t candidates = places & vector_search::equal_bytes<Set, leaf_capacity>(
                                              node.bytes().data(), leaf::fingerprint(hash));
      while (candidates != 0) {
        const auto place = static_cast<std::size_t>(std::countr_zero(candidates));
        const key_word word = node.key_at(place);
        if (words::key(word) == key) return place;
        candidates &= candidates - 1;
      }
    } else {
      static_cast<void>(hash);
      while (places != 0) {
        const auto place = static_cast<std::size_t>(std::countr_zero(places));
        const key_word word = node.key_at(place);
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
    for (sync::backoff backoff;; backoff.wait()) {
      located got{.where = self().template arrive<Set, Writes, Key>(key, hash),
                  .places = 0,
                  .place = nowhere,
                  .found = {}};
      const leaf& node = *got.where.at;
      got.places = node.places();
      got.place = self().template place_in<Set, Key>(node, key, hash, got.places);
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
  static void collect_wanted(const leaf& node, entries<most_in_leaf>& met, const Wanted& wanted) {
    std::uint64_t places = node.places();
    ASSAY_POINT("bt_map_places_read");
    entry* end = met.begin();  // not a member of `met`, which would be in memory
    for (; places != 0; places &= places - 1) {
      *end = node.at(static_cast<std::size_t>(std::countr_zero(places)));
      end += wanted(words::key(end->key)) ? 1 : 0;  // no branch
    }
    met.resize(static_cast<std::size_t>(end - met.begin()));
  }
  // All lines of a leaf.
  static void fetch_whole(const leaf* node) {
    for (std::size_t i = 0; i < sizeof(leaf); i += line) {
      sync::prefetch(reinterpret_cast<const std::byte*>(node) + i);
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

  // The order of elements by their keys.
  [[nodiscard]] auto by_key() const {
    return [this](const entry& one, const entry& other) {
      return less(words::key(one.key), words::key(other.key));
    };
  }
  // The elements of a leaf in ascending order: `met`, if they have it, else `sorted`, which is
  // overwritten. If a key is there twice, as in a leaf that was not validated, some of them may be
  // others.
  [[nodiscard]] const entries<most_in_leaf>& in_order(const leaf& node,
                                                      const entries<most_in_leaf>& met,
                                                      entries<most_in_leaf>& sorted) const {
    // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): callers keep it
    if (node.is_in_order()) return met;
    sort(met, sorted);
    return sorted;
  }

  // Deletes a leaf and its elements. At rest.
  static void delete_leaf(leaf* node) noexcept {
    entries<most_in_leaf> met;
    collect(*node, met);
    for (const entry& each : met) {
      if constexpr (words::has_box) memory::destroy(each.value);
      disown(each.key);
    }
    memory::destroy(node);
  }
  static void disown(const key_word& word) noexcept {
    if constexpr (!words::has_key) {
      if (word->disown()) memory::destroy(word);
    } else {
      static_cast<void>(word);
    }
  }

  // An element that is not in the map yet, and deleted if it never is.
  class fresh_entry {
   public:
    explicit fresh_entry(const leaves& of) : memory_(of.allocator) {}
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
    Tree::for_each_leaf(root.load(memory_order_acquire), [&](const leaf& node) {
      entries<most_in_leaf> met;
      entries<most_in_leaf> sorted;
      collect(node, met);
      for (const entry& each : in_order(node, met, sorted)) {
        visit(words::key(each.key), words::value(each.key, each.value));
      }
    });
  }
  [[no_unique_address]] const allocator_type allocator;
  // Read by every call, and apart from what else is written.
  alignas(64) node_lock root_lock;
  atomic<edge> root{};
  [[no_unique_address]] compare less;
  // Readers lock it, too, also of a constant map.
  [[no_unique_address]] mutable typename synchronisation::shared shared;

 private:
  [[nodiscard]] const Tree& self() const { return static_cast<const Tree&>(*this); }

  void sort(const entries<most_in_leaf>& met, entries<most_in_leaf>& sorted) const {
    sorted.resize(met.size());
#if defined(__x86_64__)
    if constexpr (types::has_sortable_keys) {
      if (const set with = set_now(); with != set::scalar) {
        vector_sort::sort(with, met.begin(), met.size(), sorted.begin());
        return;
      }
    }
#endif
    std::copy(met.begin(), met.end(), sorted.begin());
    std::sort(sorted.begin(), sorted.end(), by_key());
  }

  const set set_ = std::min(host::best_instruction_set(), layout::most_instructions);
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_LEAVES_H_
