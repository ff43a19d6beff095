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
// If the map has more of what concept.h, bag_concept.h or the handle of bt_map.h describes, the
// handle offers it too.

#ifndef ASSAY_MAPS_PLAIN_HANDLE_H_
#define ASSAY_MAPS_PLAIN_HANDLE_H_

#include <utility>

// Passes the call of a function on, if the map has it.
#define ASSAY_PASS_ON(function)                                                \
  template <class... Args>                                                     \
  auto function(Args&&... args)                                                \
    requires requires(Map& map) { map.function(std::forward<Args>(args)...); } \
  {                                                                            \
    return map_->function(std::forward<Args>(args)...);                        \
  }

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

  ASSAY_PASS_ON(range)
  ASSAY_PASS_ON(size)
  ASSAY_PASS_ON(snapshot)
  ASSAY_PASS_ON(iterate)

  // What the handle of bt_map.h describes.
  ASSAY_PASS_ON(contains)
  ASSAY_PASS_ON(visit)
  ASSAY_PASS_ON(insert_or_assign)
  ASSAY_PASS_ON(try_emplace)
  ASSAY_PASS_ON(emplace)
  ASSAY_PASS_ON(get_or_emplace)
  ASSAY_PASS_ON(emplace_and_visit)
  ASSAY_PASS_ON(update)
  ASSAY_PASS_ON(upsert)
  ASSAY_PASS_ON(exchange)
  ASSAY_PASS_ON(extract)
  ASSAY_PASS_ON(erase_if)
  ASSAY_PASS_ON(erase_range)
  ASSAY_PASS_ON(lower_bound)
  ASSAY_PASS_ON(upper_bound)
  ASSAY_PASS_ON(floor)
  ASSAY_PASS_ON(predecessor)
  ASSAY_PASS_ON(minimum)
  ASSAY_PASS_ON(maximum)
  ASSAY_PASS_ON(range_snapshot)
  ASSAY_PASS_ON(visit_range)
  ASSAY_PASS_ON(visit_all)
  ASSAY_PASS_ON(visit_range_descending)
  ASSAY_PASS_ON(visit_all_descending)
  ASSAY_PASS_ON(empty)
  ASSAY_PASS_ON(find_many)
  ASSAY_PASS_ON(clone)

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

#undef ASSAY_PASS_ON

#endif  // ASSAY_MAPS_PLAIN_HANDLE_H_
