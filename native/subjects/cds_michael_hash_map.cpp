#include <cds/container/michael_kvlist_hp.h>
#include <cds/container/michael_map.h>

#include <functional>

#include "cds_map.h"

struct list_traits : cds::container::michael_list::traits {
  using less = std::less<>;
  // In its default model the list unlinks a node by an exchange with acquire order only, which
  // publishes the next node to threads that do not synchronise with its maker: a data race, which
  // ThreadSanitizer finds.
  using memory_model = cds::opt::v::sequential_consistent;
};
template <class K, class V>
using list = cds::container::MichaelKVList<cds::gc::HP, K, V, list_traits>;

template <class K>
struct map_traits : cds::container::michael_map::traits {
  using hash = std::hash<K>;
};
template <class K, class V>
using michael =
    cds_list_map<cds::container::MichaelHashMap<cds::gc::HP, list<K, V>, map_traits<K>>>;

// Its number of buckets is fixed when it is built: as many as there may be keys.
template <class K, class V>
class michael_hash_map : public michael<K, V> {
 public:
  explicit michael_hash_map(const assay::subject::map_hints& hints)
      : michael<K, V>(hints, hints.key_range, 1U) {}
};

static const assay::subject::map_template<michael_hash_map> registered{
    "cds_michael_hash_map",
    "libcds's Michael hash map: a fixed table of lock-free lists, reclaiming by hazard pointers",
    "hazard pointers"};
