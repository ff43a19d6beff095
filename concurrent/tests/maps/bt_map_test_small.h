// bt_map with nodes so small that few elements make a tree with several levels.

#ifndef TESTS_MAPS_BT_MAP_TEST_SMALL_H_
#define TESTS_MAPS_BT_MAP_TEST_SMALL_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "assay/maps/bt_map.h"

namespace assay::bt_test {

template <class K, class Synchronisation = bt::optimistic, class Compare = std::less<>>
struct small_nodes : bt_policies<K> {
  using allocator = std::allocator<std::byte>;  // whose memory tests count and let run out
  using compare = Compare;
  using synchronisation = Synchronisation;
  static constexpr std::size_t leaf_capacity = 6;
  static constexpr std::size_t internal_capacity = 6;
};

}  // namespace assay::bt_test

#endif  // TESTS_MAPS_BT_MAP_TEST_SMALL_H_
