// A multimap or a priority queue (assay/maps/bag_concept.h) behind the interface of
// any_map.h, and the loop that operates on it. All but the loop, the prefill and the validation is
// as for maps.
//
// Entries
// -------
// A bag is given no entry that it may hold already: values are numbers that a trial gives out once
// each. What an erase answers is an entry that must have been inserted and not been erased before;
// so every trial adds to the tally what goes in, and subtracts what the bag says came out.
//
// What operations do
// ------------------
// A multimap erases an entry of the lowest key from the key drawn on, and where there is none, of
// the lowest key of all, as if keys lay on a circle. So an erase succeeds as long as there are
// entries, and a mix of as many inserts as erases keeps their number. (An erase of the very key
// drawn, as in Bonnichsen 2016, section 5.5.1, finds it or not: the number would drift to where
// both are in balance.)
//
// A queue erases by try_pop(), and what is pushed is the key that the thread popped last plus the
// key drawn: the hold model (Jones 1986). Keys drawn from the same range all the time would fill
// the queue with those that are never popped, and each that is pushed would be popped at once.

#ifndef ASSAY_SUBJECT_ERASED_BAG_H_
#define ASSAY_SUBJECT_ERASED_BAG_H_

#include <atomic>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "assay/maps/bag_concept.h"
#include "assay/maps/invariant.h"
#include "assay/subject/any_map.h"
#include "assay/subject/tally.h"
#include "assay/workload/operation_batch.h"

namespace assay::subject {

// Numbers of a bag's trial that are given out once each, as values of type V. A thread takes some
// of them for itself at a time, so that threads seldom meet.
template <class V>
class fresh_values {
 public:
  explicit fresh_values(std::atomic<std::uint64_t>& all) : all_(&all) {}

  // Throws std::length_error if there is none left.
  std::uint64_t next() {
    if (next_ % block == 0) [[unlikely]] {
      next_ = all_->fetch_add(block, std::memory_order_relaxed);
      if (next_ > most - block) {
        throw std::length_error("all values of " + std::to_string(8 * sizeof(V)) +
                                " bits have been used, one for each insert: ask for a shorter "
                                "trial or for values of 64 bits");
      }
    }
    return next_++;
  }

 private:
  static constexpr std::uint64_t block = 1024;
  // What has 64 bits is kept in 63 by bags that need a bit of their own.
  static constexpr std::uint64_t most = std::numeric_limits<V>::max() >> (sizeof(V) == 8 ? 1 : 0);

  std::atomic<std::uint64_t>* all_;
  std::uint64_t next_ = 0;
};

// What a thread keeps in addition to its handle.
template <class V>
struct bag_thread {
  fresh_values<V> values;
  std::uint64_t last_popped = 0;
};

// The key that is pushed into a queue when `drawn` was drawn.
template <class K>
[[nodiscard]] std::uint64_t pushed_key(std::uint64_t last_popped, std::uint64_t drawn) {
  constexpr std::uint64_t most = std::numeric_limits<K>::max() >> 1;
  if (drawn > most - last_popped) [[unlikely]] {
    throw std::length_error("the keys of a queue grow with every pop, and now need more than " +
                            std::to_string(8 * sizeof(K) - 1) +
                            " bits: ask for a shorter trial or for keys of 64 bits");
  }
  return last_popped + drawn;
}

// The entry that an erase has removed when `drawn` was drawn, if there was any.
template <class K, class V, class Handle>
[[gnu::always_inline]] inline std::optional<std::pair<K, V>> taken_out(Handle& handle,
                                                                       std::uint64_t drawn) {
  if constexpr (queue_handle<Handle, K, V>) {
    return handle.try_pop();
  } else {
    if (const auto taken = handle.erase_from(static_cast<K>(drawn))) return taken;
    return handle.erase_from(K{0});
  }
}

// The loop over one batch, as `perform` of erased_map.h, which says why it has local sums.
template <class K, class V, class Handle>
[[gnu::noinline, gnu::aligned(64)]] progress perform_on_bag(Handle& handle, bag_thread<V>& self,
                                                            const workload::operation_batch& batch,
                                                            std::size_t first, std::size_t last,
                                                            tally& sums) {
  using workload::operation;
  constexpr bool is_queue = queue_handle<Handle, K, V>;

  std::uint64_t inserts = 0, erases = 0, erased = 0, searches = 0, found = 0, folded = 0;
  std::uint64_t key_sum = 0, pair_sum = 0;

  for (std::size_t i = first; i < last; ++i) {
    const std::uint64_t drawn = batch.keys[i];
    const operation kind = batch.kinds[i];
    if (kind == operation::insert) {
      const std::uint64_t value = self.values.next();
      std::uint64_t key = drawn;
      if constexpr (is_queue) {
        key = pushed_key<K>(self.last_popped, drawn);
        handle.push(static_cast<K>(key), static_cast<V>(value));
      } else {
        handle.insert(static_cast<K>(key), static_cast<V>(value));
      }
      ++inserts;
      key_sum += key;
      pair_sum += pair_term(key, value);
    } else if (kind == operation::erase) {
      ++erases;
      if (const std::optional<std::pair<K, V>> taken = taken_out<K, V>(handle, drawn)) {
        ++erased;
        key_sum -= taken->first;
        pair_sum -= pair_term(taken->first, taken->second);
        if constexpr (is_queue) self.last_popped = taken->first;
      }
    } else {
      assert(kind == operation::find && !is_queue);
      if constexpr (!is_queue) {
        ++searches;
        if (const std::optional<V> sought = handle.find(static_cast<K>(drawn))) {
          ++found;
          folded += *sought;
        }
      }
    }
  }

  sums.attempted[0] += inserts;
  sums.attempted[1] += erases;
  sums.attempted[2] += searches;
  sums.succeeded[0] += inserts;
  sums.succeeded[1] += erased;
  sums.succeeded[2] += found;
  sums.key_sum += key_sum;
  sums.pair_sum += pair_sum;
  sums.folded += folded;
  return {.performed = last - first, .gave_up = false};
}

// `Bag` behind the interface. A search adds the value that it found to `tally::folded`.
template <class Bag, std::unsigned_integral K, std::unsigned_integral V>
  requires concurrent_bag<Bag, K, V>
class erased_bag final : public any_map {
 public:
  explicit erased_bag(const map_hints& hints)
    requires std::constructible_from<Bag, map_hints>
      : bag_(hints) {}
  explicit erased_bag(const map_hints& /*hints*/)
    requires(!std::constructible_from<Bag, map_hints>)
  {}

  std::unique_ptr<any_handle> attach() override { return std::make_unique<handle>(bag_, values_); }

  void for_each(const visitor& visit) override {
    bag_.for_each([&](K key, V value) { visit(key, value); });
  }

  std::optional<std::string> broken_invariant() override {
    return assay::broken_invariant<K>(bag_);
  }

  assay::shape shape() override { return shape_of(bag_); }

 private:
  class alignas(workload::interference_bytes) handle final : public any_handle {
   public:
    handle(Bag& bag, std::atomic<std::uint64_t>& values)
        : handle_(bag.attach()), self_{fresh_values<V>(values)} {}
    progress perform(const workload::operation_batch& batch, std::size_t first, std::size_t last,
                     const task& /*task*/, tally& sums) override {
      return perform_on_bag<K, V>(handle_, self_, batch, first, last, sums);
    }

   private:
    decltype(std::declval<Bag&>().attach()) handle_;
    bag_thread<V> self_;
  };

  std::atomic<std::uint64_t> values_{0};
  Bag bag_;
};

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_ERASED_BAG_H_
