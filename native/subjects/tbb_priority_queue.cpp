#include <tbb/concurrent_priority_queue.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"
#include "drained_walk.h"

template <class K, class V>
class tbb_priority_queue {
  using entry = std::pair<K, V>;

 public:
  void push(K key, V value) { queue_.emplace(key, value); }
  [[gnu::always_inline]] std::optional<entry> try_pop() {
    entry lowest;
    return queue_.try_pop(lowest) ? std::optional(lowest) : std::nullopt;
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    walk_drained(*this, visit);
  }

 private:
  // The process's allocator, as every other subject.
  tbb::concurrent_priority_queue<entry, std::greater<>, std::allocator<entry>> queue_;
};

static const assay::subject::bag<tbb_priority_queue> registered{
    "tbb_priority_queue",
    "oneTBB's concurrent_priority_queue: a binary heap on which one thread carries out what the "
    "others ask for",
    "at once"};
