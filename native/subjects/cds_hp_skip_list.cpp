#include "cds_map.h"
// libcds wants the kind of reclamation included before the map.
#include <cds/container/skip_list_map_hp.h>

#include "assay/maps/concept.h"

template <class K, class V>
using skip_list_map = cds_map<cds::container::SkipListMap<cds::gc::HP, K, V>>;

template <class K, class V>
class hp_skip_list : public skip_list_map<K, V> {
 public:
  using skip_list_map<K, V>::skip_list_map;
  // Its searches find what is marked as erased, until that is unlinked
  // (satellites/rig/docs/rig.md).
  static constexpr bool linearizable = false;

  class handle : public skip_list_map<K, V>::handle {
   public:
    using skip_list_map<K, V>::handle::handle;

    // This map's insert() links an element before it gives it its value, as the rig saw.
    bool insert(assay::parameter<K> key, assay::parameter<V> value) {
      return this->map().emplace(key, value);
    }
  };
  handle attach() { return handle(this->map()); }
};

static const assay::subject::map_template<hp_skip_list> registered{
    "cds_hp_skip_list", "libcds's lock-free skip list, reclaiming by hazard pointers",
    "hazard pointers"};
