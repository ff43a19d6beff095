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
//       class handle { ... std::optional<V> find(const K& key); ... };
//       handle attach();
//       ASSAY_IMPLICIT(find, (const K& key), (key))
//
//      private:
//       ...
//       assay::implicit_handles<my_map> implicit_;  // the last one: its end is the first
//     };
//
// Promises
// --------
// - A call promises what the handle's does, and may throw std::bad_alloc at a thread's first.
// - A call within a call to the same map, as from a function that visits, has another handle, as it
//   must. A thread has as many for a map as its calls were ever within each other.
// - A map ends, at rest, and its handles with it, whatever threads had them. A thread ends, and
//   its handles with it, whatever maps they are of. Either may be first, or both at once.
// - Calls by destructors of thread_local objects, after the thread's handles have ended, make a
//   handle each.
//
// A call costs what it does through a handle, and one or two nanoseconds. A thread that calls many
// maps of one type in turn looks through its handles for all of them at each change of the map.

#ifndef ASSAY_MAPS_IMPLICIT_HANDLE_H_
#define ASSAY_MAPS_IMPLICIT_HANDLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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
  implicit_handles() = default;
  implicit_handles(const implicit_handles&) = delete;
  implicit_handles& operator=(const implicit_handles&) = delete;
  ~implicit_handles() {
    if (!registered_) return;
    const std::scoped_lock held(registered_->lock);
    for (entry* const each : registered_->entries) each->handle.reset();
    registered_->entries.clear();
    registered_->is_alive = false;
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
  [[nodiscard, gnu::always_inline]] lease use(Map& map) {
    entry* const last = recent_;
    if (last != nullptr && last->map == number_ && !last->is_busy) [[likely]] {
      return lease(*last);
    }
    return lease(find(map));
  }

 private:
  // What a map and the threads that have its handles share.
  struct registry {
    std::mutex lock;
    bool is_alive = true;
    std::vector<entry*> entries;  // of threads that have not ended
  };

  // A handle of a thread, and whose it is. Only the thread uses it; its handle is ended by the
  // first of thread and map that ends, with the registry's lock held.
  struct entry {
    std::uint64_t map;
    std::shared_ptr<registry> registered;
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
      for (const auto& each : entries_) {
        registry& of = *each->registered;
        const std::scoped_lock held(of.lock);
        if (!of.is_alive) continue;
        std::erase(of.entries, each.get());
        each->handle.reset();
      }
    }

    [[nodiscard]] entry* unused(std::uint64_t map) {
      for (const auto& each : entries_) {
        if (each->map == map && !each->is_busy) return each.get();
      }
      return nullptr;
    }
    // Throws std::bad_alloc, with `added` destroyed.
    entry& add(std::unique_ptr<entry> added) {
      recent_ = nullptr;  // may be one of those that are erased here
      std::erase_if(entries_, [](const std::unique_ptr<entry>& each) {
        const std::scoped_lock held(each->registered->lock);
        return !each->registered->is_alive;
      });
      entries_.reserve(entries_.size() + 1);
      registry& of = *added->registered;
      const std::scoped_lock held(of.lock);
      of.entries.push_back(added.get());
      entries_.push_back(std::move(added));
      return *entries_.back();
    }

   private:
    std::vector<std::unique_ptr<entry>> entries_;
  };

  [[gnu::noinline]] entry& find(Map& map) {
    std::call_once(is_registered_, [this] { registered_ = std::make_shared<registry>(); });
    if (has_ended_) {
      auto made = make(map);
      made->is_temporary = true;
      return *made.release();
    }
    thread_local thread_handles own;
    entry* found = own.unused(number_);
    if (found == nullptr) found = &own.add(make(map));
    recent_ = found;
    return *found;
  }
  std::unique_ptr<entry> make(Map& map) {
    auto made = std::make_unique<entry>(number_, registered_);
    made->handle.emplace(map.attach());
    return made;
  }

  // No two maps ever have the same. Relaxed: nothing else is told by it.
  static inline std::atomic<std::uint64_t> maps_{0};
  const std::uint64_t number_ = maps_.fetch_add(1, std::memory_order_relaxed) + 1;
  std::once_flag is_registered_;
  std::shared_ptr<registry> registered_;

  // What the thread used last, and whether `own` has ended. Without a constructor or destructor, so
  // that they are read without asking whether they exist.
  static inline constinit thread_local entry* recent_ = nullptr;
  static inline constinit thread_local bool has_ended_ = false;
};

}  // namespace assay::inline ASSAY_ABI

#endif  // ASSAY_MAPS_IMPLICIT_HANDLE_H_
