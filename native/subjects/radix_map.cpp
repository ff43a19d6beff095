#include "assay/maps/radix_map.h"

#include <functional>

#include "assay/subject/probed_reclaim.h"
#include "assay/subject/subject.h"

template <class K>
struct radix_subject_policies : assay::radix_policies<K> {
  using compare = std::less<>;
  using reclaim = assay::probed::epochs;
};

template <class K, class V>
class radix_subject : public assay::radix_map<K, V, radix_subject_policies<K>> {
 public:
  static constexpr bool ordered = true;
  static constexpr bool range_is_atomic = false;
};
static const assay::subject::map_template<radix_subject> registered{
    "radix_map",
    "assay::radix_map: leaves as bt_map's, found by the digits of keys (a radix tree) with "
    "optimistic locks, reclaiming by epochs",
    "epochs"};

// Nodes of 6, so that a few keys are in many of them.
struct small_radix_policies : radix_subject_policies<std::uint64_t> {
  static constexpr std::size_t leaf_capacity = 6;
};
class small_radix_map
    : public assay::radix_map<std::uint64_t, std::uint64_t, small_radix_policies> {
 public:
  static constexpr bool ordered = true;
  static constexpr bool range_is_atomic = false;
};
static const assay::subject::map<small_radix_map> registered_small{
    "radix_map_6", "radix_map with leaves of 6", "epochs"};
