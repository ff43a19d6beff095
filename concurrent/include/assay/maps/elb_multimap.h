// Several values for each key, searched and changed by many threads at once, without locks: an
// elb_tree whose entries are keys with values (Bonnichsen 2016, section 5.4.3).
//
//     assay::elb_multimap<std::uint32_t, std::uint32_t> orders;    // customer -> order
//
//     auto handle = orders.attach();                               // in each thread
//     handle.insert(7, 1001);                                      // true
//     handle.insert(7, 1002);                                      // true
//     handle.insert(7, 1001);                                      // false: it is there
//     handle.find(7);                                              // one of the two
//     handle.visit(7, [](std::uint32_t order) { ... });            // both
//     handle.erase(7);                                             // 1001, the smaller one
//     handle.erase(7, 1002);                                       // true
//
//     // at rest: while no call runs
//     orders.for_each([](std::uint32_t customer, std::uint32_t order) { ... });
//
// A key with a value is there once. If several threads insert the same one at the same time,
// exactly one insert returns true (elb_tree.h, "One insert of an entry").
//
// Its calls are not linearizable. An answer is right about what was there all the time from the
// beginning of the call to its end; what came or went meanwhile it may or may not see. elb_tree.h
// has the exact promises.
//
// Every call on a handle is lock-free, as far as elb_tree.h says: apart from the allocator, and
// with reclaim::epochs from threads that stall and hold up the freeing of memory. Each goes down
// one way from the root, which takes time logarithmic in the number of entries; more ways only
// where the values of a key, or the keys that are looked through, reach into more leaves.
//
// Keys and values are integers of together at most 127 bits. Up to 63 bits make words of 64, else
// of 128, which take twice the memory and more time (docs/guide/elb_trees.md). If the types have
// more bits than are used, the settings say how many are: listing 5.3 of Bonnichsen's thesis (2016)
// has keys of 31 bits and values of 32.
//
//     struct small : assay::elb_settings {
//       static constexpr unsigned key_bits = 31, value_bits = 32;
//     };
//     assay::elb_multimap<std::uint32_t, std::uint32_t, assay::reclaim::epochs, small> map;

#ifndef ASSAY_MAPS_ELB_MULTIMAP_H_
#define ASSAY_MAPS_ELB_MULTIMAP_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "assay/maps/elb_entry.h"
#include "assay/maps/elb_tree.h"

namespace assay {

namespace elb {

// How many bits of a key and of a value are kept.
template <class K, class Settings>
constexpr unsigned key_bits() {
  if constexpr (requires { Settings::key_bits; }) return Settings::key_bits;
  return bits<K>;
}
template <class V, class Settings>
constexpr unsigned value_bits() {
  if constexpr (requires { Settings::value_bits; }) return Settings::value_bits;
  return bits<V>;
}

}  // namespace elb

// `Reclaim` decides when memory is freed, and `Settings` says how wide nodes are (elb_nodes in
// elb_tree.h) and how many bits of keys and values are kept.
//
// Any thread may call its functions; those that say "at rest" need the multimap at rest
// (concept.h): no other thread calls anything, and what others did happened before.
template <std::integral K, std::integral V, class Reclaim = reclaim::hazard_pointers,
          class Settings = elb_settings>
class elb_multimap {
  static constexpr unsigned key_bits = elb::key_bits<K, Settings>();
  static constexpr unsigned value_bits = elb::value_bits<V, Settings>();
  using entry = elb::element<K, V, key_bits, value_bits>;
  using tree = elb_tree<entry, Reclaim, Settings>;
  static constexpr V least = elb::least<V, value_bits>;
  static constexpr V most = elb::most<V, value_bits>;
  static constexpr entry highest{elb::most<K, key_bits>, most};

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = std::pair<K, V>;

  static constexpr bool lock_free = tree::lock_free;

  // A thread's access. Only the thread that attached it calls it, and not within a call to it, as
  // from a visit. It is destroyed before the container is, outside its calls, by that thread or by
  // one that knows that it is done. Debug builds abort, with a message, on a call by another
  // thread, within a call, or after it was moved from, and when it outlives its container.
  //
  // A call throws std::bad_alloc, with nothing changed, and std::out_of_range for a key or a value
  // with more bits than the settings say. Where keys and values have 63 or 127 bits together, the
  // greatest key with the greatest value is not an entry: to insert it throws std::out_of_range.
  class handle {
   public:
    // Gives the key that value, too, and returns true; returns false if the key has it already. If
    // several threads insert the same one at the same time, exactly one call returns true.
    bool insert(K key, V value) { return in_.insert({key, value}); }

    // Inserts the pairs from `first` to `last`, one after the other, and returns how many were not
    // there. Throws as insert(), and what the iterators throw; what came before stays.
    template <std::input_iterator From, std::sentinel_for<From> To>
    std::size_t insert_range(From first, To last) {
      std::size_t added = 0;
      for (; first != last; ++first) {
        const auto& [key, value] = *first;
        added += insert(key, value) ? 1U : 0U;
      }
      return added;
    }

    // As insert(), without looking whether the key has the value. The caller must know that it does
    // not, and that no other thread is adding it: otherwise it may be there twice, and debug builds
    // abort if they see it.
    void insert_new(K key, V value) { in_.insert_new({key, value}); }

    // A value of the key, if it has any.
    [[gnu::always_inline]] std::optional<V> find(K key) {
      return value_of(in_.search({key, least}, {key, most}));
    }
    // Whether the key has a value, and whether it has that value.
    bool contains(K key) { return in_.search({key, least}, {key, most}).has_value(); }
    bool contains(K key, V value) { return in_.search({key, value}, {key, value}).has_value(); }

    // Removes the smallest value of the key, and returns it. No other call returns it.
    [[gnu::always_inline]] std::optional<V> erase(K key) {
      return value_of(in_.erase({key, least}, {key, most}));
    }
    // Removes that value of the key; says whether it did.
    bool erase(K key, V value) { return in_.erase({key, value}, {key, value}).has_value(); }
    // Removes the smallest value of the lowest key from `key` on, and returns both.
    [[gnu::always_inline]] std::optional<std::pair<K, V>> erase_from(K key) {
      const auto found = in_.erase({key, least}, highest);
      return found ? std::optional(std::pair(found->key, found->value)) : std::nullopt;
    }

    // Calls visit(value) for the values of the key, in ascending order: for each that is there
    // during the whole call; those that others add or erase meanwhile it may visit or not. `visit`
    // must not use this handle; what it throws is passed on.
    template <class Visit>
    void visit(K key, Visit&& visit) {
      in_.visit({key, least}, {key, most}, [&](const entry& each) { visit(each.value); });
    }

    // About how many entries there are: see elb_tree.h. Lock-free.
    [[nodiscard]] std::uint64_t approximate_size() { return in_.approximate_size(); }

   private:
    friend elb_multimap;
    explicit handle(elb_multimap& map) : in_(map.all_.attach()) {}
    [[gnu::always_inline]] static std::optional<V> value_of(const std::optional<entry>& found) {
      return found ? std::optional(found->value) : std::nullopt;
    }

    typename tree::handle in_;
  };

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] handle attach() { return handle(*this); }

  // Calls visit(key, value) for each entry, in the order of keys and then of values. At rest.
  // Throws std::bad_alloc and what `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    all_.for_each([&](const entry& each) { visit(each.key, each.value); });
  }

  // Whether it holds no entry. At rest.
  [[nodiscard]] bool empty() const { return all_.empty(); }
  // How many entries it holds. At rest. Takes time linear in their number. Throws std::bad_alloc.
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  // Removes all entries; handles stay valid. At rest. Takes time linear in their number. Throws
  // std::bad_alloc, with nothing changed.
  void clear() { all_.clear(); }

  // What is wrong, if anything is: see elb_tree.h. At rest, for tests. Throws std::bad_alloc.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return all_.broken_invariant();
  }

  // Nodes, depths and bytes: see elb_tree.h. At rest.
  [[nodiscard]] assay::shape shape() const { return all_.shape(); }

  // How many retired nodes wait to be freed; an estimate while threads are inside calls.
  [[nodiscard]] std::uint64_t unfreed() const { return all_.unfreed(); }

 private:
  tree all_;
};

}  // namespace assay

#endif  // ASSAY_MAPS_ELB_MULTIMAP_H_
