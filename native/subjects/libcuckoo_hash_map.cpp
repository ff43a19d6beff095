#include <libcuckoo/cuckoohash_map.hh>
#include <optional>

#include "assay/maps/concept.h"
#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"

// Without size(), which reads plain counters that others write meanwhile.
template <class K, class V>
class libcuckoo_hash_map {
 public:
  bool insert(assay::parameter<K> key, assay::parameter<V> value) {
    return map_.insert(key, value);
  }
  bool erase(assay::parameter<K> key) { return map_.erase(key); }
  [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
    std::optional<V> found;
    map_.find_fn(key, [&found](const V& value) { found = value; });
    return found;
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_.lock_table()) visit(key, value);
  }

 private:
  libcuckoo::cuckoohash_map<K, V> map_;
};

static const assay::subject::map_template<libcuckoo_hash_map> registered{
    "libcuckoo_hash_map",
    "libcuckoo's cuckoohash_map: each key in one of two buckets of 4 slots, under both buckets' "
    "locks",
    "at once"};
