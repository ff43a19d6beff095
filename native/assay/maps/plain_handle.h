// The handle of a map whose threads need nothing inside it: it passes every call on to the map.
//
//     class my_map {
//      public:
//       bool insert(std::uint64_t key, std::uint64_t value);   // called by any thread at any time
//       bool erase(std::uint64_t key);
//       std::optional<std::uint64_t> find(std::uint64_t key);
//       auto attach() { return assay::plain_handle(*this); }
//     };
//
// If the map has more of what concept.h or bag_concept.h describes, the handle offers it too.

#ifndef ASSAY_MAPS_PLAIN_HANDLE_H_
#define ASSAY_MAPS_PLAIN_HANDLE_H_

namespace assay {

// Its calls promise what the map's own functions do, and end when they end.
template <class Map>
class plain_handle {
 public:
  explicit plain_handle(Map& map) : map_(&map) {}

  template <class K, class V>
  auto insert(const K& key, const V& value)
    requires requires(Map& map) { map.insert(key, value); }
  {
    return map_->insert(key, value);
  }
  template <class K>
  bool erase(const K& key) {
    return map_->erase(key);
  }
  template <class K>
  auto find(const K& key) {
    return map_->find(key);
  }

  // `stop` is a stop token or nothing. Templates, so that only what is called must be there.
  template <class K, class Visit, class... Stop>
  auto range(const K& first, const K& last, Visit visit, const Stop&... stop)
    requires requires(Map& map) { map.range(first, last, visit, stop...); }
  {
    return map_->range(first, last, visit, stop...);
  }
  template <class... Stop>
  auto size(const Stop&... stop)
    requires requires(Map& map) { map.size(stop...); }
  {
    return map_->size(stop...);
  }
  template <class Visit, class... Stop>
  auto snapshot(Visit visit, const Stop&... stop)
    requires requires(Map& map) { map.snapshot(visit, stop...); }
  {
    return map_->snapshot(visit, stop...);
  }
  template <class Visit, class... Stop>
  auto iterate(Visit visit, const Stop&... stop)
    requires requires(Map& map) { map.iterate(visit, stop...); }
  {
    return map_->iterate(visit, stop...);
  }

  template <class K>
  [[gnu::always_inline]] auto erase_from(const K& key)
    requires requires(Map& bag) { bag.erase_from(key); }
  {
    return map_->erase_from(key);
  }
  template <class K, class V>
  auto push(const K& key, const V& value)
    requires requires(Map& queue) { queue.push(key, value); }
  {
    return map_->push(key, value);
  }
  [[gnu::always_inline]] auto try_pop()
    requires requires(Map& queue) { queue.try_pop(); }
  {
    return map_->try_pop();
  }

 private:
  Map* map_;
};

}  // namespace assay

#endif  // ASSAY_MAPS_PLAIN_HANDLE_H_
