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
// If the map has more of what concept.h, bag_concept.h or subject/operations.h describes, the
// handle offers it too.

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
  [[gnu::always_inline]] auto find(const K& key) {
    return map_->find(key);
  }

  template <class K, class Visit>
  auto range(const K& first, const K& last, Visit visit)
    requires requires(Map& map) { map.range(first, last, visit); }
  {
    return map_->range(first, last, visit);
  }
  auto size()
    requires requires(Map& map) { map.size(); }
  {
    return map_->size();
  }
  template <class Visit>
  auto snapshot(Visit visit)
    requires requires(Map& map) { map.snapshot(visit); }
  {
    return map_->snapshot(visit);
  }
  template <class Visit>
  auto iterate(Visit visit)
    requires requires(Map& map) { map.iterate(visit); }
  {
    return map_->iterate(visit);
  }

  // What subject/operations.h describes.
  template <class K>
  auto contains(const K& key)
    requires requires(Map& map) { map.contains(key); }
  {
    return map_->contains(key);
  }
  template <class K, class V>
  auto insert_or_assign(const K& key, const V& value)
    requires requires(Map& map) { map.insert_or_assign(key, value); }
  {
    return map_->insert_or_assign(key, value);
  }
  template <class K, class Function>
  auto update(const K& key, Function function)
    requires requires(Map& map) { map.update(key, function); }
  {
    return map_->update(key, function);
  }
  template <class K>
  auto lower_bound(const K& key)
    requires requires(Map& map) { map.lower_bound(key); }
  {
    return map_->lower_bound(key);
  }
  template <class K>
  auto upper_bound(const K& key)
    requires requires(Map& map) { map.upper_bound(key); }
  {
    return map_->upper_bound(key);
  }
  auto minimum()
    requires requires(Map& map) { map.minimum(); }
  {
    return map_->minimum();
  }
  auto maximum()
    requires requires(Map& map) { map.maximum(); }
  {
    return map_->maximum();
  }
  template <class K, class Visit>
  void range_snapshot(const K& first, const K& last, Visit visit)
    requires requires(Map& map) { map.range_snapshot(first, last, visit); }
  {
    map_->range_snapshot(first, last, visit);
  }
  template <class Keys, class Found>
  void find_many(Keys keys, Found found)
    requires requires(Map& map) { map.find_many(keys, found); }
  {
    map_->find_many(keys, found);
  }
  auto clone()
    requires requires(Map& map) { map.clone(); }
  {
    return map_->clone();
  }

  // For operations of the map's own.
  Map& map() { return *map_; }

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
