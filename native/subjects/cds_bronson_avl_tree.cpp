// libcds's tree has no iterators, so that it is walked by searches alone. A search compares what it
// looks for with the key of each node on its way. What this walk looks for comes right after the
// last key that it met, and equals none; so the last key on the way that is greater is the next one
// in the tree. Keys of erased elements may still be there to lead the way; an ordinary search
// for the key tells.

#include "cds_map.h"
// libcds wants the kind of reclamation included before the map.
#include <cds/container/bronson_avltree_map_rcu.h>

#include <functional>
#include <optional>

namespace {

// What comes right after a key, or before all keys, and the least key met that is greater.
template <class K>
struct successor_search {
  const K* last;
  mutable const K* next = nullptr;
};

template <class K>
struct meets_successor {
  bool operator()(const successor_search<K>& search, const K& key) const {
    if (search.last != nullptr && !(*search.last < key)) return false;
    search.next = &key;
    return true;
  }
  // Asked only if the other was false.
  bool operator()(const K&, const successor_search<K>&) const { return true; }
};

template <class K>
struct tree_traits : cds::container::bronson_avltree::traits {
  using less = std::less<K>;
};

template <class K, class V>
class bronson_avl_tree {
  using map_type = cds::container::BronsonAVLTreeMap<cds_rcu, K, V, tree_traits<K>>;

 public:
  class handle {
   public:
    explicit handle(map_type& map) : map_(map) {}

    bool insert(assay::parameter<K> key, assay::parameter<V> value) {
      return map_.emplace(key, value);
    }
    bool erase(assay::parameter<K> key) { return map_.erase(key); }
    std::optional<V> find(assay::parameter<K> key) {
      std::optional<V> value;
      map_.find(key, [&value](const K&, const V& found) { value = found; });
      return value;
    }

   private:
    cds_thread attached_;
    map_type& map_;
  };

  explicit bronson_avl_tree(const assay::trial::map_hints& hints) : collector_(hints) {}

  handle attach() { return handle(map_); }

  template <class Visit>
  void for_each(Visit&& visit) {
    const cds_thread attached;
    // Nodes stay where they are while nobody updates.
    for (successor_search<K> search{nullptr};; search = {search.next}) {
      map_.contains(search, meets_successor<K>{});
      if (search.next == nullptr) return;
      map_.find(*search.next, [&visit](const K& key, const V& value) { visit(key, value); });
    }
  }

 private:
  cds_library library_;
  cds_collector<map_type, cds_rcu> collector_;
  cds_thread attached_;
  map_type map_;
};

const assay::trial::subject_template<bronson_avl_tree> registered{
    "cds_bronson_avl_tree",
    "libcds's Bronson AVL tree: optimistic, locks for updates, reclaiming by buffered user-space "
    "RCU; walked by searches"};

}  // namespace
