// What stands before each refusal of trees_test_refused.cpp, compiled once for all of them.

#ifndef TESTS_MAPS_TREES_TEST_REFUSED_H_
#define TESTS_MAPS_TREES_TEST_REFUSED_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "assay/maps/bt_map.h"
#include "assay/maps/elb_tree.h"
#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/radix_map.h"
#include "assay/maps/ticket_bst.h"
#include "assay/reclaim/hazard_pointers.h"

struct no_policy {};
// Nearly one: nodes cannot be retired.
struct half_a_policy : assay::reclaim::epochs {
  struct guard {};
};

namespace assay {
template <class K, class Reclaim>
struct bt_policies_reclaim : bt_policies<K> {
  using reclaim = Reclaim;
};
template <class K, class V, class Policy>
using bt_map_reclaim = bt_map<K, V, bt_policies_reclaim<K, Policy>>;
template <class K, class V, class Policy>
using bt_map_no_policies = bt_map<K, V, Policy>;
template <class K, class V, class Policy>
using bt_map_policies_of_others = bt_map<K, V, bt_policies<long>>;
template <class K, std::size_t Leaf, std::size_t Internal>
struct bt_policies_capacities : bt_policies<K> {
  static constexpr std::size_t leaf_capacity = Leaf;
  static constexpr std::size_t internal_capacity = Internal;
};
template <class K, class V, class Policy>
using bt_map_leaf_5 = bt_map<K, V, bt_policies_capacities<K, 5, 6>>;
template <class K, class V, class Policy>
using bt_map_internal_5 = bt_map<K, V, bt_policies_capacities<K, 6, 5>>;
template <class K, class V, class Policy>
using bt_map_leaf_65 = bt_map<K, V, bt_policies_capacities<K, 65, 64>>;
template <class K, class V, class Policy>
using bt_map_internal_65 = bt_map<K, V, bt_policies_capacities<K, 64, 65>>;
template <class K, class V, class Policy>
using bt_map_constant_keys = bt_map<const K, V>;
template <class K, class V, class Policy>
using bt_map_of_references = bt_map<K, V&>;
template <class K, class V, class Policy>
using bt_map_without_order = bt_map<no_policy, V>;
template <class K, class Compare>
struct bt_policies_compare : bt_policies<K> {
  using compare = Compare;
};
template <class K, class V, class Policy>
using bt_map_order_of_others = bt_map<K, V, bt_policies_compare<K, std::less<std::string>>>;
template <class K, class Synchronisation>
struct bt_policies_synchronisation : bt_policies<K> {
  using synchronisation = Synchronisation;
};
template <class K, class V, class Policy>
using bt_map_own_synchronisation = bt_map<K, V, bt_policies_synchronisation<K, std::mutex>>;
template <class K, class V, class Policy>
using bt_map_no_lock = bt_map<K, V, bt_policies_synchronisation<K, bt::coarse<int>>>;

template <class K, class V, class Policy>
using radix_map_fractions = radix_map<double, V>;
struct descending : radix_policies<int> {
  using compare = std::greater<>;
};
template <class K, class V, class Policy>
using radix_map_descending = radix_map<int, V, descending>;
struct behind_one_lock : radix_policies<int> {
  using synchronisation = bt::coarse<std::mutex>;
};
template <class K, class V, class Policy>
using radix_map_coarse = radix_map<int, V, behind_one_lock>;
struct replacing : radix_policies<int> {
  using synchronisation = bt::optimistic_replacing;
};
template <class K, class V, class Policy>
using radix_map_replacing = radix_map<int, V, replacing>;
__extension__ using integer_of_128_bits = __int128;  // std::is_integral in GNU dialects alone
template <class K, class V, class Policy>
using radix_map_wide_part = radix_map<std::pair<int, integer_of_128_bits>, V>;
struct transparent : radix_policies<std::tuple<int>> {
  using compare = std::less<>;
};
template <class K, class V, class Policy>
struct radix_map_wider_key {
  radix_map<std::tuple<int>, V, transparent> map;
  bool found = map.contains(std::tuple<long>(1L << 40U));
};

template <class Settings, class Policy>
using elb_tree_of = elb_tree<unsigned, Policy, Settings>;
template <class K, class V, class Policy>
using elb_tree_6 = elb_tree_of<elb_nodes<6>, Policy>;
template <class K, class V, class Policy>
using elb_tree_leaf_5 = elb_tree_of<elb_nodes<5, 6>, Policy>;
template <class K, class V, class Policy>
using elb_tree_internal_5 = elb_tree_of<elb_nodes<6, 5>, Policy>;
template <class K, class V, class Policy>
using elb_tree_internal_512 = elb_tree_of<elb_nodes<6, 512>, Policy>;
struct dense_from_4 : elb_nodes<16> {
  static constexpr std::size_t dense = 4;
};
template <class K, class V, class Policy>
using elb_tree_dense_from_4 = elb_tree_of<dense_from_4, Policy>;
struct dense_when_full : elb_nodes<16> {
  static constexpr std::size_t dense = 16;
};
template <class K, class V, class Policy>
using elb_tree_dense_when_full = elb_tree_of<dense_when_full, Policy>;
struct often_sparse : elb_nodes<16> {
  static constexpr std::size_t sparse = 6;
};
template <class K, class V, class Policy>
using elb_tree_often_sparse = elb_tree_of<often_sparse, Policy>;
struct sparse_when_split : elb_nodes<32> {
  static constexpr std::size_t dense = 16;
  static constexpr std::size_t sparse = 8;
};
template <class K, class V, class Policy>
using elb_tree_sparse_when_split = elb_tree_of<sparse_when_split, Policy>;
struct never_sparse_internal : elb_nodes<16> {
  static constexpr std::size_t sparse_internal = 0;
};
template <class K, class V, class Policy>
using elb_tree_never_sparse_internal = elb_tree_of<never_sparse_internal, Policy>;
template <class K, class V, class Policy>
using elb_tree_of_128_bits = elb_tree<elb::element<std::uint64_t, std::uint64_t>, Policy>;
template <class K, class V, class Policy>
using elb_tree_of_signed_numbers = elb_tree<int, Policy>;
}  // namespace assay

#endif  // TESTS_MAPS_TREES_TEST_REFUSED_H_
