#include "cds_map.h"
// libcds wants the kind of reclamation included before the map.
#include <cds/container/bronson_avltree_map_rcu.h>

#include <functional>
#include <optional>

#include "cds_walk.h"

namespace {

template <class K>
struct tree_traits : cds::container::bronson_avltree::traits {
  using less = std::less<K>;
};

template <class K, class V>
class bronson_avl_tree {
  using map_type = cds::container::BronsonAVLTreeMap<cds_rcu, K, V, tree_traits<K>>;

 public:
  static constexpr bool one_at_a_time = true;  // see cds_map.h

  class handle {
   public:
    explicit handle(map_type& map) : map_(map) {}

    bool insert(assay::parameter<K> key, assay::parameter<V> value) {
      return map_.emplace(key, value);
    }
    bool erase(assay::parameter<K> key) { return map_.erase(key); }
    [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
      std::optional<V> value;
      map_.find(key, [&value](const K&, const V& found) { value = found; });
      return value;
    }

   private:
    cds_thread attached_;
    map_type& map_;
  };

  explicit bronson_avl_tree(const assay::subject::map_hints& hints) : collector_(hints) {}

  handle attach() { return handle(map_); }

  template <class Visit>
  void for_each(Visit&& visit) {
    const cds_thread attached;
    walk_by_searches<K>(map_, [&](const K& met) {
      map_.find(met, [&visit](const K& key, const V& value) { visit(key, value); });
    });
  }

 private:
  cds_library library_;
  cds_collector<map_type, cds_rcu> collector_;
  cds_thread attached_;
  map_type map_;
};

const assay::subject::map_template<bronson_avl_tree> registered{
    "cds_bronson_avl_tree",
    "libcds's Bronson AVL tree: optimistic, locks for updates, reclaiming by buffered user-space "
    "RCU; walked by searches",
    "RCU"};

}  // namespace
