// An ordered map for many threads, for keys with digits: integers, pairs and tuples of them, and
// byte strings. It has all that bt_map.h has, promises the same, and is faster where a map is large
// and where keys are dense.
//
//     assay::radix_map<std::uint64_t, double> prices;
//     assay::radix_map<std::string, int> words;
//
//     auto handle = prices.attach();                        // in each thread
//     handle.insert(7, 1.5);
//     handle.range(1, 9, [](std::uint64_t key, double price) { ... });  // in ascending order
//
// radix_tree.h says how it works and why that is right. docs/guide/radix_map.md says when to use
// it.
//
// The leaves are those of a bt_map, and another index leads to them (radix_tree.h): instead of keys
// that separate nodes, the digits of the keys themselves (Leis, Kemper and Neumann 2013),
// synchronised by optimistic lock coupling (Leis, Scheibner, Kemper and Neumann 2016, section 3).
// So it is a bt_map of other policies, and bt_map.h describes its functions.
//
// What differs from a bt_map
// --------------------------
// - Keys are integers of at most 64 bits, bool and characters, std::string, std::string_view and
//   the same of char8_t, and pairs and tuples of integers. Their order is std::less<K>.
// - A search passes one inner node for each digit in which many keys differ, not a number that is
//   logarithmic in the number of elements. With keys of n bytes, at most n + 1.
// - 64 neighbouring integers take about 12 bytes each, in all.
// - A leaf that is nearly empty is joined with the one before it or after it only if that is a leaf
//   with the same parent. An empty one is joined also where the neighbour is the last or first leaf
//   below an inner node with the same parent, at most 64 nodes further down, and has room.

#ifndef ASSAY_MAPS_RADIX_MAP_H_
#define ASSAY_MAPS_RADIX_MAP_H_

#include <concepts>
#include <cstddef>
#include <functional>

#include "assay/base/abi.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/radix_balance.h"
#include "assay/maps/radix_invariants.h"
#include "assay/maps/radix_key.h"
#include "assay/maps/radix_load.h"
#include "assay/maps/radix_tree.h"

namespace assay::radix::inline ASSAY_ABI {

// What leads to leaves: the digits of keys.
struct by_digits {
  template <class K, class V, class Policies>
  struct tree_of {
    static_assert(key<K>,
                  "keys of radix_map are integers, byte strings, or pairs or tuples of integers, "
                  "each of at most 64 bits: use bt_map for others.");
    static_assert(std::same_as<typename Policies::compare, std::less<K>> ||
                      std::same_as<typename Policies::compare, std::less<>>,
                  "radix_map has the order of its keys' digits: `compare` of its policies is "
                  "std::less<K> or std::less<>. Use bt_map for other orders.");
    static_assert(std::same_as<typename Policies::synchronisation, bt::optimistic>,
                  "`synchronisation` of radix_map's policies is bt::optimistic.");
    using type = radix::tree<K, V, Policies>;
  };
  template <class Tree, class Iterator>
  static void load_sorted(Tree& tree, Iterator first, Iterator last) {
    radix::load_sorted(tree, first, last);
  }
  template <class Tree>
  static auto broken_invariant(const Tree& tree) {
    return radix::broken_invariant(tree);
  }
  template <class Tree>
  static auto shape_of(const Tree& tree) {
    return radix::shape_of(tree);
  }
};

}  // namespace assay::radix::inline ASSAY_ABI

namespace assay::inline ASSAY_ABI {

// What a radix_map is made of, as bt_policies.
template <class K>
struct radix_policies : bt_policies<K> {
  using index = radix::by_digits;
};

template <class K, class V, class Policies = radix_policies<K>>
using radix_map = bt_map<K, V, Policies>;

}  // namespace assay::inline ASSAY_ABI

#endif  // ASSAY_MAPS_RADIX_MAP_H_
