#include <boost/unordered/concurrent_flat_map.hpp>
#include <cstdint>
#include <optional>

#include "assay/maps/concept.h"
#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"

template <class K, class V>
class boost_concurrent_flat_map {
 public:
  static constexpr bool size_is_atomic = false;

  bool insert(assay::parameter<K> key, assay::parameter<V> value) {
    return map_.emplace(key, value);
  }
  bool erase(assay::parameter<K> key) { return map_.erase(key) != 0; }
  [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
    std::optional<V> found;
    map_.cvisit(key, [&found](const auto& element) { found = element.second; });
    return found;
  }

  // A number that updates change after they have taken effect.
  std::uint64_t size() { return map_.size(); }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    map_.cvisit_all([&visit](const auto& element) { visit(element.first, element.second); });
  }

 private:
  boost::concurrent_flat_map<K, V> map_;
};

static const assay::subject::map_template<boost_concurrent_flat_map> registered{
    "boost_concurrent_flat_map",
    "Boost's concurrent_flat_map: open addressing with a lock for each 15 slots; its size is not "
    "atomic",
    "at once"};
