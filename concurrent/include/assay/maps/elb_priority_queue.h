// A queue of keys with values, the lowest key first, used by many threads at once without locks: an
// elb_tree whose entries are keys with values (Bonnichsen 2016, sections 5.4.3 and 5.5.3).
//
//     assay::elb_priority_queue<std::uint32_t, std::uint32_t> events;  // time -> number
//
//     auto handle = events.attach();                                   // in each thread
//     handle.push(30, 1);
//     handle.push(10, 2);
//     handle.try_pop();                                                // {10, 2}
//
//     // while no call runs
//     events.for_each([](std::uint32_t time, std::uint32_t number) { ... });
//
// A key with a value is in the queue once: the caller of push() must know that it is not there and
// that no other thread is pushing it. Numbers of events, or addresses, are such values. Debug
// builds abort if they see it there. elb_pairs.h says which keys and values there may be.
//
// Its calls are not linearizable. A pop does not pass over what was pushed before it began, but it
// may pass over what is pushed meanwhile: if one thread pushes in ascending order while another
// pops, a later entry may be popped before an earlier one.
//
// Every call on a handle is lock-free, as far as elb_tree.h says: apart from the allocator, and
// with reclaim::epochs from threads that stall and hold up the freeing of memory. Each goes down
// one way from the root, which takes time logarithmic in the number of entries; a pop goes down
// again, to the next leaf, if the first one has become empty.

#ifndef ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_
#define ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

#include "assay/maps/elb_pairs.h"

namespace assay {

// Pops empty one leaf after the other. So these are joined late, when one entry is left, and are
// twice as wide as in section 5.5.3 (elb_narrow): both make balancing rarer. With narrow nodes one
// thread does 0.86, 0.83 and 0.80 of the operations at 10^4, 10^5 and 10^6 entries, two threads do
// 1.00, 0.88 and 0.87 (benchmarks/run.py elb_trees).
struct elb_queue_settings : elb_settings {
  static constexpr std::size_t sparse = 1;
};

template <std::integral K, std::integral V, class Reclaim = reclaim::hazard_pointers,
          class Settings = elb_queue_settings>
class elb_priority_queue : public elb::pairs<K, V, Reclaim, Settings> {
  using base = elb::pairs<K, V, Reclaim, Settings>;

 public:
  class handle : public base::access {
    using base::access::in_;

   public:
    // Adds an entry, which is not there and which no other thread is adding. One call of a pop
    // returns it.
    void push(K key, V value) { in_.insert({key, value}); }

    // Removes an entry that was in the queue during the call, and returns it: none that was there
    // all the time from the beginning of the call to its end is lower. Returns none if no entry was
    // there all the time.
    [[gnu::always_inline]] std::optional<std::pair<K, V>> try_pop() {
      return this->pair_of(in_.erase(base::lowest, base::highest));
    }

    // The same, but returns any entry of the first leaf: among the entries that were there all the
    // time, as many as a leaf holds, less one, may be lower. Threads that call it at the same time
    // seldom want the same entry; threads that call try_pop() always do.
    [[gnu::always_inline]] std::optional<std::pair<K, V>> try_pop_near() {
      return this->pair_of(in_.erase_near(base::lowest, base::highest));
    }

   private:
    friend elb_priority_queue;
    explicit handle(elb_priority_queue& queue) : base::access(queue) {}
  };

  // A handle for the calling thread. Lock-free. Throws std::bad_alloc.
  [[nodiscard]] handle attach() { return handle(*this); }
};

}  // namespace assay

#endif  // ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_
