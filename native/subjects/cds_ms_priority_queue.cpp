#include <cds/container/mspriority_queue.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

#include "assay/maps/plain_handle.h"
#include "assay/subject/subject.h"
#include "cds_map.h"
#include "drained_walk.h"

template <class K, class V>
class ms_priority_queue {
  using entry = std::pair<K, V>;
  struct traits : cds::container::mspriority_queue::traits {
    using less = std::greater<entry>;  // what is popped first is the greatest
  };

 public:
  explicit ms_priority_queue(const assay::subject::map_hints& hints)
      : queue_(std::max<std::uint64_t>(2 * hints.key_range, least_capacity)) {}

  void push(K key, V value) {
    if (!queue_.push({key, value})) {
      throw std::length_error("cds_ms_priority_queue is full: it has room for twice the key range");
    }
  }
  [[gnu::always_inline]] std::optional<entry> try_pop() {
    entry lowest;
    return queue_.pop(lowest) ? std::optional(lowest) : std::nullopt;
  }

  auto attach() { return assay::plain_handle(*this); }

  template <class Visit>
  void for_each(Visit&& visit) {
    walk_drained(*this, visit);
  }

 private:
  // For what as many pushes as pops let a small queue grow by.
  static constexpr std::uint64_t least_capacity = 1U << 16U;

  cds_library library_;
  cds::container::MSPriorityQueue<entry, traits> queue_;
};

static const assay::subject::bag<ms_priority_queue> registered{
    "cds_ms_priority_queue",
    "libcds's bounded binary heap with a lock for each node, after Hunt, Michael, Parthasarathy "
    "and Scott (1996)",
    "at once"};
