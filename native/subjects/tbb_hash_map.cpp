#include <tbb/concurrent_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "assay/maps/concept.h"
#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"

template <class K, class V>
class tbb_hash_map {
 public:
  static constexpr bool size_is_atomic = false;

  bool insert(assay::parameter<K> key, assay::parameter<V> value) {
    return map_.insert({key, value});
  }
  bool erase(assay::parameter<K> key) { return map_.erase(key); }
  [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
    typename map_type::const_accessor found;
    return map_.find(found, key) ? std::optional(found->second) : std::nullopt;
  }

  // One atomic number, which may differ from the contents while updates go on.
  std::uint64_t size() { return map_.size(); }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_) visit(key, value);
  }

 private:
  // The process's allocator, as every other subject; tbb_allocator would take tbbmalloc if it finds
  // it.
  using map_type = tbb::concurrent_hash_map<K, V, tbb::tbb_hash_compare<K>,
                                            std::allocator<std::pair<const K, V>>>;
  map_type map_;
};

static const assay::subject::map_template<tbb_hash_map> registered{
    "tbb_hash_map",
    "oneTBB's concurrent_hash_map: chained buckets with a lock for each bucket and element; its "
    "size is not atomic",
    "at once"};
