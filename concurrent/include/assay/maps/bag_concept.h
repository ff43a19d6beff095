// What a concurrent multimap or priority queue offers: a bag of entries, each of which is a key and
// a value.
//
// It is entered through handles, and walked at rest, as a map is (concept.h defines both). But the
// caller of an insert knows that the entry is not there, so an insert returns nothing, and an erase
// returns the entry that it has removed:
//
//     my_multimap bag;
//     auto handle = bag.attach();                 // in each thread that will use the bag
//     handle.insert(42, 7);                       // next to other values of 42
//     handle.find(42);                            // std::optional(7), or another value of 42
//     handle.erase_from(40);                      // {42, 7}: an entry of the lowest key from 40 on
//
//     my_queue queue;
//     auto handle = queue.attach();
//     handle.push(42, 7);
//     handle.try_pop();                           // {42, 7}: one of the lowest key, or near to it
//
//     bag.for_each([](std::uint32_t key, std::uint32_t value) { ... });  // at rest
//
// The calls and what each promises; who may call them, and what they may throw, is as in concept.h.
//
//   handle.insert(key, value), handle.push(key, value)
//       adds the entry, which is not there and which no other thread is adding
//   handle.find(key)
//       one value of that key, if there is any
//   handle.erase_from(key)
//       removes an entry of the lowest key from `key` on, and returns it; none if there is no such
//       entry. No other call returns it
//   handle.try_pop()
//       removes an entry of the lowest key, or of one near to it as the queue says, and returns it;
//       none if there is no entry. No other call returns it
//
// Each bag says what they promise while other threads change it (ELB-trees, for one, are not
// linearizable).
//
// Functions that return an optional should be inlined, for the reason that concept.h gives.

#ifndef ASSAY_MAPS_BAG_CONCEPT_H_
#define ASSAY_MAPS_BAG_CONCEPT_H_

#include <concepts>
#include <optional>
#include <utility>

namespace assay {

template <class Handle, class K, class V>
concept multimap_handle = requires(Handle& handle, K key, V value) {
  { handle.insert(key, value) } -> std::same_as<void>;
  { handle.erase_from(key) } -> std::same_as<std::optional<std::pair<K, V>>>;
  { handle.find(key) } -> std::same_as<std::optional<V>>;
};

template <class Handle, class K, class V>
concept queue_handle = requires(Handle& handle, K key, V value) {
  { handle.push(key, value) } -> std::same_as<void>;
  { handle.try_pop() } -> std::same_as<std::optional<std::pair<K, V>>>;
};

// As concurrent_map. But for_each may take all entries out, as long as it puts them back before it
// calls `visit`: most queues cannot be looked at in any other way.
template <class Bag, class K, class V>
concept concurrent_bag = requires(Bag& bag, void (*visit)(K, V)) {
  requires(multimap_handle<decltype(bag.attach()), K, V> !=
           queue_handle<decltype(bag.attach()), K, V>);
  bag.for_each(visit);
};

}  // namespace assay

#endif  // ASSAY_MAPS_BAG_CONCEPT_H_
