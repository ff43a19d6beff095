// What is wrong with a map at rest (concept.h), as far as the map itself can say.
//
//     class my_map {
//      public:
//       static constexpr bool ordered = true;                   // for_each visits in order
//       std::optional<std::string> broken_invariant() const;    // what is wrong, if anything is
//       ...
//     };
//     if (const auto broken = assay::broken_invariant<std::uint64_t>(map)) {
//       std::puts(broken->c_str());
//     }
//
// A map has either of the two, both or none. Only its author knows about balance, reachability,
// counts and locks left behind; tests and checkers call this one function.

#ifndef ASSAY_MAPS_INVARIANT_H_
#define ASSAY_MAPS_INVARIANT_H_

#include <concepts>
#include <optional>
#include <string>

namespace assay {

template <class Map>
concept tells_broken_invariant = requires(Map& map) {
  { map.broken_invariant() } -> std::same_as<std::optional<std::string>>;
};

template <class Map>
concept ordered_map = requires { requires Map::ordered; };

// At rest. Throws std::bad_alloc, and what copies of keys throw.
template <class K, class Map>
[[nodiscard]] std::optional<std::string> broken_invariant(Map& map) {
  if constexpr (tells_broken_invariant<Map>) {
    if (auto broken = map.broken_invariant()) return broken;
  }
  if constexpr (ordered_map<Map>) {
    struct out_of_order {};
    std::optional<K> last;
    try {
      map.for_each([&](const K& key, const auto&) {
        if (last && !(*last < key)) throw out_of_order();
        last = key;
      });
    } catch (const out_of_order&) {
      return "a walk does not ascend";
    }
  }
  return std::nullopt;
}

}  // namespace assay

#endif  // ASSAY_MAPS_INVARIANT_H_
