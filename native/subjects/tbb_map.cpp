// oneTBB's concurrent_map searches and inserts concurrently, but erases only while nothing else
// goes on (unsafe_erase), and looks for the nodes before the erased one from the head of a list:
// that takes time linear in the number of keys. So it is made a subject for its searches and
// inserts. An erase has the map to itself, and all else pays as little for that as can be: a thread
// says that it is inside, in a word of its own, and looks whether the map is closed. These are two
// stores and a load, about a nanosecond; an erase waits until everybody is outside.

#include <tbb/concurrent_map.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "assay/base/asymmetric_fence.h"
#include "assay/maps/concept.h"
#include "assay/subject/subject.h"
#include "assay/workload/operation_batch.h"

namespace {

template <class K, class V>
class tbb_map {
  // Where a thread says that it is inside.
  struct alignas(assay::workload::interference_bytes) door {
    std::atomic<bool> inside{false};
  };

 public:
  static constexpr bool ordered = true;

  class handle {
   public:
    explicit handle(tbb_map& map) : map_(&map), door_(map.open_door()) {}

    bool insert(assay::parameter<K> key, assay::parameter<V> value) {
      const visit inside(*this);
      return map_->map_.emplace(key, value).second;
    }
    bool erase(assay::parameter<K> key) { return map_->erase(key); }
    [[gnu::always_inline]] std::optional<V> find(assay::parameter<K> key) {
      const visit inside(*this);
      const auto found = map_->map_.find(key);
      return found == map_->map_.end() ? std::nullopt : std::optional(found->second);
    }

   private:
    // The time that a thread is inside.
    class visit {
     public:
      explicit visit(handle& self) : inside_(self.door_->inside) {
        for (;;) {
          inside_.store(true, std::memory_order_relaxed);
          assay::sync::light_fence();  // (1) with (4): this sees `closed_`, or the erase `inside`
          // (2) synchronises with (6): what was erased is gone.
          if (!self.map_->closed_.load(std::memory_order_acquire)) return;
          inside_.store(false, std::memory_order_release);
          const std::scoped_lock until_open(self.map_->erasing_);
        }
      }
      // (3) synchronises with (5): the visit is over.
      ~visit() { inside_.store(false, std::memory_order_release); }
      visit(const visit&) = delete;
      visit& operator=(const visit&) = delete;

     private:
      std::atomic<bool>& inside_;
    };

    tbb_map* map_;
    door* door_;
  };

  tbb_map() { assay::sync::prepare_light_fences(); }

  handle attach() { return handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : map_) visit(key, value);
  }

 private:
  // Doors stay as long as the map: those who left are outside for good.
  door* open_door() {
    const std::scoped_lock guard(erasing_);
    return &doors_.emplace_back();
  }

  bool erase(const K& key) {
    const std::scoped_lock guard(erasing_);
    closed_.store(true, std::memory_order_relaxed);
    assay::sync::heavy_fence();  // (4)
    for (const door& each : doors_) {
      while (each.inside.load(std::memory_order_acquire)) std::this_thread::yield();  // (5)
    }
    const bool erased = map_.unsafe_erase(key) != 0;
    closed_.store(false, std::memory_order_release);  // (6)
    return erased;
  }

  std::list<door> doors_;
  std::mutex erasing_;
  std::atomic<bool> closed_{false};
  // The process's allocator, as every other subject.
  tbb::concurrent_map<K, V, std::less<>, std::allocator<std::pair<const K, V>>> map_;
};

const assay::subject::map_template<tbb_map> registered{
    "tbb_map",
    "oneTBB's concurrent_map, a skip list: an erase has the map to itself and takes linear time",
    "at once"};

}  // namespace
