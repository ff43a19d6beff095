#include "cds_map.h"
// libcds wants the kind of reclamation included before the map.
#include <cds/container/ellen_bintree_map_hp.h>

#include <functional>

#include "cds_walk.h"

namespace {

template <class K>
struct tree_traits : cds::container::ellen_bintree::traits {
  using less = std::less<K>;
};
template <class K, class V>
using tree = cds::container::EllenBinTreeMap<cds::gc::HP, K, V, tree_traits<K>>;

template <class K, class V>
class ellen_bin_tree : public cds_map<tree<K, V>> {
 public:
  using cds_map<tree<K, V>>::cds_map;

  template <class Visit>
  void for_each(Visit&& visit) {
    const cds_thread attached;
    walk_by_searches<K>(this->map(), [&](const K& met) {
      this->map().find(met, [&visit](const auto& found) { visit(found.first, found.second); });
    });
  }
};

const assay::subject::map_template<ellen_bin_tree> registered{
    "cds_ellen_bin_tree",
    "libcds's Ellen binary search tree: lock-free, external, reclaiming by hazard pointers; walked "
    "by searches",
    "hazard pointers"};

}  // namespace
