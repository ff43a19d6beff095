// A sequential map made a subject by one lock around every operation.

#ifndef ASSAY_SUBJECTS_LOCKED_MAP_H_
#define ASSAY_SUBJECTS_LOCKED_MAP_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <type_traits>

#include "assay/maps/plain_handle.h"
#include "assay/trial/subject.h"

// The lock of a map that one thread has to itself.
struct no_lock {
  void lock() {}
  void unlock() {}
};

// `Map` has the interface of std::map. Searches share the lock where it can be shared.
template <class Map, class Lock>
class locked_map {
  static constexpr bool shareable = requires(Lock& lock) { lock.lock_shared(); };
  using search_guard =
      std::conditional_t<shareable, std::shared_lock<Lock>, std::unique_lock<Lock>>;

 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock guard(lock_);
    return map_.emplace(key, value).second;
  }
  bool erase(std::uint64_t key) {
    const std::scoped_lock guard(lock_);
    return map_.erase(key) != 0;
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const search_guard guard(lock_);
    const auto found = map_.find(key);
    return found == map_.end() ? std::nullopt : std::optional(found->second);
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
