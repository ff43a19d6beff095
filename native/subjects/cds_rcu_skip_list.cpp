#include "cds_map.h"
// libcds wants the kind of reclamation included before the map.
#include <cds/container/skip_list_map_rcu.h>

using skip_list = cds::container::SkipListMap<cds_rcu, std::uint64_t, std::uint64_t>;

static const assay::trial::subject<cds_map<skip_list>> registered{
    "cds_rcu_skip_list", "libcds's lock-free skip list, reclaiming by buffered user-space RCU"};
