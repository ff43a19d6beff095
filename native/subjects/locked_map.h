// A sequential map made a subject by one lock around every operation.

#ifndef ASSAY_SUBJECTS_LOCKED_MAP_H_
#define ASSAY_SUBJECTS_LOCKED_MAP_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <type_traits>
#include <utility>

#include "assay/maps/concept.h"
#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"

// The lock of a map that one thread has to itself.
struct no_lock {
  void lock() {}
  void unlock() {}
};

// `Map` has the interface of std::map, or of std::unordered_map. What only reads shares the lock
// where it can be shared. All operations are atomic; a range or a visit of all keeps updates out
// until it ends.
template <class Map, class Lock>
class locked_map {
  static constexpr bool shareable = requires(Lock& lock) { lock.lock_shared(); };
  using read_guard = std::conditional_t<shareable, std::shared_lock<Lock>, std::unique_lock<Lock>>;
  using K = typename Map::key_type;
  using V = typename Map::mapped_type;

 public:
  static constexpr bool ordered = requires(const Map& map, const K& key) { map.lower_bound(key); };

  locked_map() = default;
  explicit locked_map(Map map) : map_(std::move(map)) {}

  bool insert(assay::parameter<K> key, assay::parameter<V> value) {
    const std::scoped_lock guard(lock_);
    return map_.emplace(key, value).second;
  }
  bool erase(assay::parameter<K> key) {
    const std::scoped_lock guard(lock_);
    return map_.erase(key) != 0;
  }
  [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
    const read_guard guard(lock_);
    const auto found = map_.find(key);
    return found == map_.end() ? std::nullopt : std::optional(found->second);
  }

  template <class Visit>
    requires ordered
  void range(const K& first, const K& last, Visit visit) {
    const read_guard guard(lock_);
    for (auto next = map_.lower_bound(first); next != map_.end() && !(last < next->first); ++next) {
      visit(next->first, next->second);
    }
  }
  std::uint64_t size() {
    const read_guard guard(lock_);
    return map_.size();
  }
  template <class Visit>
  void snapshot(Visit visit) {
    const read_guard guard(lock_);
    for_each(visit);
  }
  template <class Visit>
  void iterate(Visit visit) {
    snapshot(visit);
  }

  std::unique_ptr<locked_map> clone() {
    const read_guard guard(lock_);
    return std::make_unique<locked_map>(map_);
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_) visit(key, value);
  }

 private:
  Lock lock_;
  Map map_;
};

#endif  // ASSAY_SUBJECTS_LOCKED_MAP_H_
