// What a concurrent map offers, and what code that works with any such map may rely on.
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
//     map.for_each([](std::uint64_t key, std::uint64_t value) { ... });  // at rest, see below
//
// A map whose threads need nothing inside it gets its handle from plain_handle.h.
//
// A map is *at rest* while no other thread calls anything on it or on its handles, and all that
// other threads did with it happened before: their calls have returned, and this thread has
// synchronised with them since, for example by joining them. A function that needs the map at rest
// says so; until it returns, the map stays at rest.
//
// A handle may offer more:
//
//     handle.range(10, 42, visit);   // visits the keys 10 <= key <= 42 in ascending order
//     handle.size();                 // how many elements there are
//     handle.snapshot(visit);        // visits every element, all as of one instant
//     handle.iterate(visit);         // visits every element, each as it is met
//
// The calls and what each promises. Each map says whether they wait for other threads, and what
// they cost.
//
//   map.attach()
//       a handle for the calling thread. By any thread
//   handle.insert(key, value)
//       adds the element if no element has its key; says whether it did. Replaces nothing
//   handle.erase(key)
//       removes the element of that key if there is one; says whether it did
//   handle.find(key)
//       a copy of the value of that key, if there is one
//   handle.range(first, last, visit)
//       visits the elements with first <= key <= last in ascending order; none if last < first
//   handle.size(), handle.snapshot(visit), handle.iterate(visit)
//       as above. A snapshot is atomic: it visits what the map held at one instant between its call
//       and its return. An iteration need not be: elements that are there all the time are visited
//       once, others may or may not be. Each map says whether its ranges and sizes are atomic
//   map.for_each(visit)
//       visits every element once, in any order. At rest
//
// A handle is called by the thread that attached it, one call at a time, and destroyed by that
// thread before the map is. It does not move to another thread, and a thread has at most one handle
// of a map at a time; it may have handles of several maps.
//
// A thread may wait with its handle attached, as long as it likes, while it is in no call. Other
// threads go on meanwhile. So a call gives back whatever it holds in the map (an epoch, a hazard
// pointer, a lock) before it returns. A map that frees memory only once each attached thread has
// made another call frees nothing while one waits, and must not wait for it.
//
// insert, erase and find are linearizable, unless a map says otherwise.
//
// `visit` is called as visit(key, value). A map that finds out halfway that it must start over
// calls visit.begin_again(), which forgets what was visited since the visit began. Both may throw,
// to end a visit early, and the map must let the exception pass: that is also how a visit is ended
// that might begin again forever.
//
// gcc 12 assembles an optional number that a call returns in memory, a byte after a word, and reads
// it back whole, which waits until both are written: 5 to 7 ns, half of what a search takes in a
// small map. To avoid that, make find() [[gnu::always_inline]], as the maps here do.

#ifndef ASSAY_MAPS_CONCEPT_H_
#define ASSAY_MAPS_CONCEPT_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace assay {

// How a map over any type takes a key or a value: a number by value, so that it stays in a register
// even if the call is not inlined.
template <class T>
using parameter = std::conditional_t<std::is_arithmetic_v<T>, T, const T&>;

// A thread's access to a map from K to V. A handle is used by the thread that attached it, and
// destroyed before the map is.
template <class Handle, class K, class V>
concept map_handle = requires(Handle& handle, const K& key, const V& value) {
  { handle.insert(key, value) } -> std::same_as<bool>;
  { handle.erase(key) } -> std::same_as<bool>;
  { handle.find(key) } -> std::same_as<std::optional<V>>;
};

// What a map may rely on when it is given a function to call with elements. It is cheap to copy,
// and its copies act as one.
template <class K, class V>
struct any_visitor {
  void operator()(const K& key, const V& value) const;
  void begin_again() const;
};

// What a handle may offer in addition.
template <class Handle, class K, class V>
concept offers_range = requires(Handle& handle, const K& key, any_visitor<K, V> visit) {
  { handle.range(key, key, visit) } -> std::same_as<void>;
};
template <class Handle>
concept offers_size = requires(Handle& handle) {
  { handle.size() } -> std::convertible_to<std::uint64_t>;
};
template <class Handle, class K, class V>
concept offers_snapshot = requires(Handle& handle, any_visitor<K, V> visit) {
  { handle.snapshot(visit) } -> std::same_as<void>;
};
template <class Handle, class K, class V>
concept offers_iterate = requires(Handle& handle, any_visitor<K, V> visit) {
  { handle.iterate(visit) } -> std::same_as<void>;
};

// A map from K to V that threads enter through handles. `for_each` is called only while the map is
// at rest. The function given to it may throw, to end a walk early, and `for_each` must let the
// exception pass.
template <class Map, class K, class V>
concept concurrent_map = requires(Map& map, void (*visit)(K, V)) {
  requires map_handle<decltype(map.attach()), K, V>;
  map.for_each(visit);
};

}  // namespace assay

#endif  // ASSAY_MAPS_CONCEPT_H_
