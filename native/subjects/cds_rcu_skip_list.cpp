#include "cds_map.h"
// libcds wants the kind of reclamation included before the map.
#include <cds/container/skip_list_map_rcu.h>

template <class K, class V>
using skip_list = cds_map<cds::container::SkipListMap<cds_rcu, K, V>>;

static const assay::trial::subject_template<skip_list> registered{
    "cds_rcu_skip_list", "libcds's lock-free skip list, reclaiming by buffered user-space RCU"};
