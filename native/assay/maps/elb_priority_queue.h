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
// A key with a value is in the queue once: the caller of push() must know that it is not there, nor
// being pushed by another thread. Numbers of events, or addresses, are such values.
//
// Promises
// --------
// - push(key, value) adds an entry that try_pop() returns once, to one thread.
// - try_pop() returns an entry that was in the queue during the call, and no lower one was there
//   all the time from the beginning of the call to its end. It returns none only if none was. So an
//   entry that is pushed meanwhile may be lower than what is returned, even if it was pushed first:
//   also if one thread pushes in ascending order, a later entry may be popped before an earlier
//   one. A pop does not pass over what was pushed before it began.
// - try_pop_near() returns one of those that are in the first leaf: at most a leaf's capacity, less
//   one, of what was there all the time is lower. It returns none only if none was. Threads that
//   call it at the same time seldom want the same entry; those that call try_pop() always do.
//
// All are lock-free, as elb_tree.h says. Keys and values are as elb_multimap's.

#ifndef ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_
#define ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "assay/maps/elb_entry.h"
#include "assay/maps/elb_tree.h"

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
class elb_priority_queue {
  using entry = elb::element_of<K, V, Settings>;
  using tree = elb_tree<entry, Reclaim, Settings>;
  static constexpr entry lowest{elb::least<K, elb::key_bits<K, Settings>()>,
                                elb::least<V, elb::value_bits<V, Settings>()>};
  static constexpr entry highest{elb::most<K, elb::key_bits<K, Settings>()>,
                                 elb::most<V, elb::value_bits<V, Settings>()>};

 public:
  static constexpr bool lock_free = tree::lock_free;

  // Throws as elb_multimap's.
  class handle {
   public:
    void push(K key, V value) { in_.insert({key, value}); }
    [[gnu::always_inline]] std::optional<std::pair<K, V>> try_pop() {
      return pair_of(in_.erase(lowest, highest));
    }
    [[gnu::always_inline]] std::optional<std::pair<K, V>> try_pop_near() {
      return pair_of(in_.erase_near(lowest, highest));
    }
    [[nodiscard]] std::uint64_t approximate_size() { return in_.approximate_size(); }

   private:
    friend elb_priority_queue;
    explicit handle(tree& all) : in_(all.attach()) {}
    [[gnu::always_inline]] static std::optional<std::pair<K, V>> pair_of(
        const std::optional<entry>& found) {
      return found ? std::optional(std::pair(found->key, found->value)) : std::nullopt;
    }

    typename tree::handle in_;
  };

  [[nodiscard]] handle attach() { return handle(all_); }

  // Calls visit(key, value) for each, in the order of keys and then of values. At rest.
  template <class Visit>
  void for_each(Visit&& visit) const {
    all_.for_each([&](const entry& each) { visit(each.key, each.value); });
  }
  // As elb_tree's.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return all_.broken_invariant();
  }
  [[nodiscard]] std::uint64_t unfreed() const { return all_.unfreed(); }

 private:
  tree all_;
};

}  // namespace assay

#endif  // ASSAY_MAPS_ELB_PRIORITY_QUEUE_H_
