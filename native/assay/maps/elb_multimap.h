// Several values for each key, searched and changed by many threads at once, without locks: an
// elb_tree whose entries are keys with values (Bonnichsen 2016, section 5.4.3).
//
//     assay::elb_multimap<std::uint32_t, std::uint32_t> orders;    // customer -> order
//
//     auto handle = orders.attach();                               // in each thread
//     handle.insert(7, 1001);
//     handle.insert(7, 1002);
//     handle.find(7);                                              // one of them
//     handle.visit(7, [](std::uint32_t order) { ... });            // both
//     handle.erase(7);                                             // 1001, the smaller one
//     handle.erase(7, 1002);                                       // true
//
// A key with a value is there once: the caller of insert() must know that it is not there, nor
// being inserted by another thread. elb_tree.h says what each answer promises, where entries are
// keys with values. In short, it is right about what was there all the time, and may or may not see
// what came or went meanwhile.
//
// Keys and values are integers of together at most 127 bits. Up to 63 bits make words of 64, else
// of 128, which take twice the memory and more time (docs/guide/elb_trees.md). If the types have
// more bits than are used, the settings say how many are: listing 5.3 has keys of 31 and values of
// 32.
//
//     struct small : assay::elb_settings {
//       static constexpr unsigned key_bits = 31, value_bits = 32;
//     };
//     assay::elb_multimap<std::uint32_t, std::uint32_t, assay::reclaim::epochs, small> map;

#ifndef ASSAY_MAPS_ELB_MULTIMAP_H_
#define ASSAY_MAPS_ELB_MULTIMAP_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "assay/maps/elb_entry.h"
#include "assay/maps/elb_tree.h"

namespace assay {

template <std::integral K, std::integral V, class Reclaim = reclaim::hazard_pointers,
          class Settings = elb_settings>
class elb_multimap {
  using entry = elb::element_of<K, V, Settings>;
  using tree = elb_tree<entry, Reclaim, Settings>;
  static constexpr V least = elb::least<V, elb::value_bits<V, Settings>()>;
  static constexpr V most = elb::most<V, elb::value_bits<V, Settings>()>;
  static constexpr entry highest{elb::most<K, elb::key_bits<K, Settings>()>, most};

 public:
  static constexpr bool lock_free = tree::lock_free;

  // As elb_tree's, also in what its calls throw: std::bad_alloc, and std::out_of_range of a key or
  // a value with more bits than the settings say, and, where these are 63 or 127 together, of the
  // greatest key with the greatest value, which cannot be inserted.
  class handle {
   public:
    void insert(K key, V value) { in_.insert({key, value}); }

    // A value of the key, if it has any.
    [[gnu::always_inline]] std::optional<V> find(K key) {
      return value_of(in_.search({key, least}, {key, most}));
    }
    bool contains(K key) { return in_.search({key, least}, {key, most}).has_value(); }
    bool contains(K key, V value) { return in_.search({key, value}, {key, value}).has_value(); }

    // Removes the smallest value of the key, and returns it.
    [[gnu::always_inline]] std::optional<V> erase(K key) {
      return value_of(in_.erase({key, least}, {key, most}));
    }
    // Removes that value of the key; says whether it did.
    bool erase(K key, V value) { return in_.erase({key, value}, {key, value}).has_value(); }
    // Removes the smallest value of the lowest key from `key` on, and returns both.
    [[gnu::always_inline]] std::optional<std::pair<K, V>> erase_from(K key) {
      return pair_of(in_.erase({key, least}, highest));
    }
    // Calls visit(value) for the values of the key, in ascending order: for all that are there all
    // the time, and some of those that come or go. `visit` calls nothing of this handle.
    template <class Visit>
    void visit(K key, Visit&& visit) {
      in_.visit({key, least}, {key, most}, [&](const entry& each) { visit(each.value); });
    }
    [[nodiscard]] std::uint64_t approximate_size() { return in_.approximate_size(); }

   private:
    friend elb_multimap;
    explicit handle(tree& all) : in_(all.attach()) {}
    [[gnu::always_inline]] static std::optional<V> value_of(const std::optional<entry>& found) {
      return found ? std::optional(found->value) : std::nullopt;
    }
    [[gnu::always_inline]] static std::optional<std::pair<K, V>> pair_of(
        const std::optional<entry>& found) {
      return found ? std::optional(std::pair(found->key, found->value)) : std::nullopt;
    }

    typename tree::handle in_;
  };

  [[nodiscard]] handle attach() { return handle(all_); }

  // Calls visit(key, value) for each, in the order of keys and then of values. At rest.
  template <class Visit>
  void for_each(Visit&& visit) const {
    all_.for_each([&](const entry& each) { visit(each.key, each.value); });
  }
  // As elb_tree's.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return all_.broken_invariant();
  }
  [[nodiscard]] std::uint64_t unfreed() const { return all_.unfreed(); }

 private:
  tree all_;
};

}  // namespace assay

#endif  // ASSAY_MAPS_ELB_MULTIMAP_H_
