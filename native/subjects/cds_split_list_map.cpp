#include <cds/container/michael_kvlist_hp.h>
#include <cds/container/split_list_map.h>

#include "cds_map.h"

template <class K>
struct split_list_traits : cds::container::split_list::traits {
  using ordered_list = cds::container::michael_list_tag;
  using hash = std::hash<K>;
  struct ordered_list_traits : cds::container::michael_list::traits {
    using less = std::less<>;
    using memory_model = cds::opt::v::sequential_consistent;  // see cds_michael_hash_map.cpp
  };
};
template <class K, class V>
using split_list =
    cds_list_map<cds::container::SplitListMap<cds::gc::HP, K, V, split_list_traits<K>>>;

// Its table grows up to the number of buckets that its constructor is given: one for each key of
// the range.
template <class K, class V>
class split_list_map : public split_list<K, V> {
 public:
  explicit split_list_map(const assay::subject::map_hints& hints)
      : split_list<K, V>(hints, hints.key_range, 1U) {}
};

static const assay::subject::map_template<split_list_map> registered{
    "cds_split_list_map",
    "libcds's split-ordered list, a growing lock-free hash map, reclaiming by hazard pointers",
    "hazard pointers"};
