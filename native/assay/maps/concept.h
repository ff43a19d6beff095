// What the trial loop, and every other part of Assay, expects of a concurrent map.
//
// Threads do not call the map itself. Each one enters through its own handle, which owns whatever a
// thread needs inside the map (an epoch slot, hazard pointers, a registration) and gives it back
// when it is destroyed:
//
//     my_map map;
//     auto handle = map.attach();                 // in each thread that will use the map
//     handle.insert(42, 7);                       // true: 42 was absent and is now present
//     handle.find(42);                            // std::optional(7)
//     handle.erase(42);                           // true: 42 was present and is now absent
//     map.for_each([](std::uint64_t key, std::uint64_t value) { ... });  // while no call runs
//
// A map whose threads need nothing inside it gets its handle from plain_handle.h.
//
// A map whose operations can run for long may take a `std::stop_token` as a last argument. It then
// answers with an optional of the ordinary answer, empty when it gave up because a stop was
// requested, in which case the call must have had no effect.

#ifndef ASSAY_MAPS_CONCEPT_H_
#define ASSAY_MAPS_CONCEPT_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <stop_token>

namespace assay {

// A thread's access to a map from K to V. A handle is used by the thread that attached it, and
// destroyed before the map is.
template <class Handle, class K, class V>
concept map_handle = requires(Handle& handle, const K& key, const V& value) {
  { handle.insert(key, value) } -> std::same_as<bool>;
  { handle.erase(key) } -> std::same_as<bool>;
  { handle.find(key) } -> std::same_as<std::optional<V>>;
};

// A handle whose operations give up when asked to stop.
template <class Handle, class K, class V>
concept stoppable_map_handle =
    requires(Handle& handle, const K& key, const V& value, const std::stop_token& stop) {
      { handle.insert(key, value, stop) } -> std::same_as<std::optional<bool>>;
      { handle.erase(key, stop) } -> std::same_as<std::optional<bool>>;
      { handle.find(key, stop) } -> std::same_as<std::optional<std::optional<V>>>;
    };

// A map from K to V that threads enter through handles. `for_each` is called only while the map is
// quiescent, that is, while no thread is inside a call to a handle. What it is given to call may
// throw, to end a walk early, and `for_each` must let the exception pass.
template <class Map, class K, class V>
concept concurrent_map = requires(Map& map, void (*visit)(K, V)) {
  requires map_handle<decltype(map.attach()), K, V> ||
               stoppable_map_handle<decltype(map.attach()), K, V>;
  map.for_each(visit);
};

}  // namespace assay

#endif  // ASSAY_MAPS_CONCEPT_H_
