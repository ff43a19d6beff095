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
//     // while no call runs
//     orders.for_each([](std::uint32_t customer, std::uint32_t order) { ... });
//
// A key with a value is there once: the caller of insert() must know that it is not there and that
// no other thread is inserting it. Debug builds abort if they see that it is.
//
// Its calls are not linearizable. An answer is right about what was there all the time from the
// beginning of the call to its end; what came or went meanwhile it may or may not see. elb_tree.h
// has the exact promises, elb_pairs.h says which keys and values there may be.
//
// Every call on a handle is lock-free, as far as elb_tree.h says: apart from the allocator, and
// with reclaim::epochs from threads that stall and hold up the freeing of memory. Each goes down
// one way from the root, which takes time logarithmic in the number of entries; more ways only
// where the values of a key, or the keys that are looked through, reach into more leaves.

#ifndef ASSAY_MAPS_ELB_MULTIMAP_H_
#define ASSAY_MAPS_ELB_MULTIMAP_H_

#include <concepts>
#include <optional>
#include <utility>

#include "assay/maps/elb_pairs.h"

namespace assay {

template <std::integral K, std::integral V, class Reclaim = reclaim::hazard_pointers,
          class Settings = elb_settings>
class elb_multimap : public elb::pairs<K, V, Reclaim, Settings> {
  using base = elb::pairs<K, V, Reclaim, Settings>;
  using entry = typename base::entry;
  static constexpr V least = base::least_value;
  static constexpr V most = base::greatest_value;

 public:
  class handle : public base::access {
    using base::access::in_;

   public:
    // Adds that value of the key, which is not there and which no other thread is adding.
    void insert(K key, V value) { in_.insert({key, value}); }

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
      return this->pair_of(in_.erase({key, least}, base::highest));
    }

    // Calls visit(value) for the values of the key, in ascending order: for all that are there all
    // the time, and for some that come or go. `visit` calls nothing of this handle; what it throws is
    // passed on.
    template <class Visit>
    void visit(K key, Visit&& visit) {
      in_.visit({key, least}, {key, most}, [&](const entry& each) { visit(each.value); });
    }

   private:
    friend elb_multimap;
    explicit handle(elb_multimap& map) : base::access(map) {}
    [[gnu::always_inline]] static std::optional<V> value_of(const std::optional<entry>& found) {
      return found ? std::optional(found->value) : std::nullopt;
    }
  };

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] handle attach() { return handle(*this); }
};

}  // namespace assay

#endif  // ASSAY_MAPS_ELB_MULTIMAP_H_
