#include <cds/container/michael_kvlist_hp.h>
#include <cds/container/split_list_map.h>

#include "cds_map.h"

struct split_list_traits : cds::container::split_list::traits {
  using ordered_list = cds::container::michael_list_tag;
  using hash = std::hash<std::uint64_t>;
  struct ordered_list_traits : cds::container::michael_list::traits {
    using less = std::less<>;
    using memory_model = cds::opt::v::sequential_consistent;  // see cds_michael_hash_map.cpp
  };
};
using split_list =
    cds::container::SplitListMap<cds::gc::HP, std::uint64_t, std::uint64_t, split_list_traits>;

// Its table may grow up to the number of buckets that it is told of when built: as many as there
// may be keys.
class split_list_map : public cds_map<split_list> {
 public:
  explicit split_list_map(assay::trial::map_hints hints) : cds_map(hints, hints.key_range, 1U) {}
};

static const assay::trial::subject<split_list_map> registered{
    "cds_split_list_map",
    "libcds's split-ordered list, a growing lock-free hash map, reclaiming by hazard pointers"};
