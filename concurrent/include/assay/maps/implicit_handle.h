// Calls to a map by threads that have not attached a handle: each thread has one of its own for
// each map that it has called, made at its first call.
//
//     prices.find(7);  // instead of auto handle = prices.attach(); ... handle.find(7);
//
// A map has a member, and a line for each operation of its handle that it offers so:
//
//     template <class K, class V>
//     class my_map {
//      public:
//       class handle { ... bool insert(const K& key, const V& value);
//                          std::optional<V> find(const K& key); };
//       handle attach();
//       ASSAY_IMPLICIT(insert, (const K& key, const V& value), (key, value))
//       ASSAY_IMPLICIT(find, (const K& key) const, (key))
//
//      private:
//       ...
//       mutable assay::implicit_handles<my_map> implicit_;  // the last one: its end is the first
//     };
//
// Promises
// --------
// - A call promises what the handle's does, and may throw std::bad_alloc at a thread's first.
// - A call within a call to the same map, as from a function that visits, has another handle, as it
//   must. A thread has as many for a map as its calls were ever within each other.
// - When a map ends, at rest (concept.h), its handles end with it, whatever threads had them. When
//   a thread ends, its handles end with it, whatever maps they are of. Either may be first, or both
//   at once.
// - Calls by destructors of thread_local objects, after the thread's handles have ended, make a
//   handle each.
//
// A call takes one or two nanoseconds more than through a handle. If the thread's last call was to
// another map, it also looks into a hash table, however many maps there are. What a thread has of
// maps that have ended is forgotten when its table has doubled, in constant time a map.

#ifndef ASSAY_MAPS_IMPLICIT_HANDLE_H_
#define ASSAY_MAPS_IMPLICIT_HANDLE_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assay/base/abi.h"

// The operation of the handle with these parameters, called with these arguments.
#define ASSAY_IMPLICIT(operation, parameters, arguments)           \
  [[gnu::always_inline]] decltype(auto) operation parameters {     \
    return implicit_.use(*this)->operation arguments; /* NOLINT */ \
  }

namespace assay::inline ASSAY_ABI {

// The handles that threads have implicitly of one map, whose member this is. Used by any thread;
// destroyed at rest, before anything that handles need.
template <class Map>
class implicit_handles {
  struct entry;

 public:
  implicit_handles() = default;  // throws std::bad_alloc
  implicit_handles(const implicit_handles&) = delete;
  implicit_handles& operator=(const implicit_handles&) = delete;
  ~implicit_handles() {
    const std::scoped_lock held(registered_->lock);
    for (entry* const each : registered_->entries) each->handle.reset();
    registered_->entries.clear();
  }

  // The thread's handle, for one call.
  class lease {
   public:
    explicit lease(entry& of) : of_(&of) { of.is_busy = true; }
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease() {
      of_->is_busy = false;
      if (of_->is_temporary) [[unlikely]] {
        delete of_;
      }
    }
    auto* operator->() const { return &*of_->handle; }

   private:
    entry* of_;
  };

  // Throws std::bad_alloc if the thread has no handle yet that is not in use.
  [[nodiscard, gnu::always_inline]] lease use(const Map& map) {
    entry* const last = recent_;
    if (last != nullptr && last->registered == registered_ && !last->is_busy) [[likely]] {
      return lease(*last);
    }
    return lease(find(map));
  }

 private:
  // What a map and the threads that have its handles share. It stays as long as an entry has it, so
  // that its address tells the map from all others, also from later ones.
  struct registry {
    std::mutex lock;
    std::vector<entry*> entries;  // until the map ends
  };

  // A handle of a thread, which alone uses it. The handle is ended by the first of thread and map
  // that ends, with the registry's lock held.
  struct entry {
    explicit entry(const std::shared_ptr<registry>& of) : registered(of) {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() {
      const std::scoped_lock held(registered->lock);
      std::erase(registered->entries, this);
      handle.reset();
    }
    [[nodiscard]] bool has_ended() const {
      const std::scoped_lock held(registered->lock);
      return !handle;
    }

    const std::shared_ptr<registry> registered;
    std::optional<typename Map::handle> handle;
    bool is_busy = false;
    bool is_temporary = false;
  };

  // All of a thread.
  class thread_handles {
   public:
    thread_handles() = default;
    thread_handles(const thread_handles&) = delete;
    thread_handles& operator=(const thread_handles&) = delete;
    ~thread_handles() {
      has_ended_ = true;
      recent_ = nullptr;
    }

    [[nodiscard]] entry* unused(const registry& of) {
      const auto [first, last] = entries_.equal_range(&of);
      const auto at =
          std::find_if(first, last, [](const auto& each) { return !each.second->is_busy; });
      return at == last ? nullptr : at->second.get();
    }
    // Throws std::bad_alloc, with `added` destroyed.
    entry& add(std::unique_ptr<entry> added) {
      if (entries_.size() >= most_) {
        recent_ = nullptr;  // may be one of those that are erased here
        std::erase_if(entries_, [](const auto& each) { return each.second->has_ended(); });
        most_ = 2 * entries_.size() + least_;
      }
      const registry* const of = added->registered.get();
      return *entries_.emplace(of, std::move(added))->second;
    }

   private:
    static constexpr std::size_t least_ = 16;
    std::size_t most_ = least_;
    // Several of one map, where calls were within each other.
    std::unordered_multimap<const registry*, std::unique_ptr<entry>> entries_;
  };

  [[gnu::noinline]] entry& find(const Map& map) {
    if (has_ended_) {
      auto made = make(map);
      made->is_temporary = true;
      return *made.release();
    }
    thread_local thread_handles own;
    entry* found = own.unused(*registered_);
    if (found == nullptr) found = &own.add(make(map));
    recent_ = found;
    return *found;
  }
  std::unique_ptr<entry> make(const Map& map) {
    auto made = std::make_unique<entry>(registered_);
    // Calls that change the map are none of a constant one's, so this handle only reads such a one.
    made->handle.emplace(const_cast<Map&>(map).attach());  // NOLINT(*-const-cast)
    const std::scoped_lock held(registered_->lock);
    registered_->entries.push_back(made.get());
    return made;
  }

  const std::shared_ptr<registry> registered_ = std::make_shared<registry>();

  // What the thread used last, and whether `own` has ended. Without a constructor or destructor, so
  // that they are read without asking whether they exist. A shared library may have its own, and so
  // its own handles.
  static inline constinit thread_local entry* recent_ = nullptr;
  static inline constinit thread_local bool has_ended_ = false;
};

}  // namespace assay::inline ASSAY_ABI

#endif  // ASSAY_MAPS_IMPLICIT_HANDLE_H_
