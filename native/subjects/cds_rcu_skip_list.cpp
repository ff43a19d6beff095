#include "cds_map.h"
// libcds wants the kind of reclamation included before the map.
#include <cds/container/skip_list_map_rcu.h>

template <class K, class V>
class skip_list : public cds_map<cds::container::SkipListMap<cds_rcu, K, V>> {
 public:
  using cds_map<cds::container::SkipListMap<cds_rcu, K, V>>::cds_map;
  // Its searches find what is marked as erased, until that is unlinked
  // (satellites/rig/docs/rig.md).
  static constexpr bool linearizable = false;
};

static const assay::subject::map_template<skip_list> registered{
    "cds_rcu_skip_list", "libcds's lock-free skip list, reclaiming by buffered user-space RCU",
    "RCU"};
