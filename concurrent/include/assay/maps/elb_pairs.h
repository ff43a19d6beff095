// What elb_multimap.h and elb_priority_queue.h have in common: an elb_tree whose entries are keys
// with values.
//
// Keys and values are integers of together at most 127 bits. Up to 63 bits make words of 64, else
// of 128, which take twice the memory and more time (docs/guide/elb_trees.md). If the types have
// more bits than are used, the settings say how many are: listing 5.3 of Bonnichsen's thesis (2016)
// has keys of 31 bits and values of 32.
//
//     struct small : assay::elb_settings {
//       static constexpr unsigned key_bits = 31, value_bits = 32;
//     };
//     assay::elb_multimap<std::uint32_t, std::uint32_t, assay::reclaim::epochs, small> map;

#ifndef ASSAY_MAPS_ELB_PAIRS_H_
#define ASSAY_MAPS_ELB_PAIRS_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "assay/maps/elb_entry.h"
#include "assay/maps/elb_tree.h"

namespace assay::elb {

// How many bits of a key and of a value are kept.
template <class K, class Settings>
constexpr unsigned key_bits() {
  if constexpr (requires { Settings::key_bits; }) return Settings::key_bits;
  return bits<K>;
}
template <class V, class Settings>
constexpr unsigned value_bits() {
  if constexpr (requires { Settings::value_bits; }) return Settings::value_bits;
  return bits<V>;
}

// Its functions are called by any thread, those that say "at rest" while no thread is inside a call
// to a handle and all calls that ended happen before.
template <std::integral K, std::integral V, class Reclaim, class Settings>
class pairs {
 protected:
  using entry = element<K, V, key_bits<K, Settings>(), value_bits<V, Settings>()>;
  using tree = elb_tree<entry, Reclaim, Settings>;
  static constexpr V least_value = least<V, value_bits<V, Settings>()>;
  static constexpr V greatest_value = most<V, value_bits<V, Settings>()>;
  static constexpr entry lowest{least<K, key_bits<K, Settings>()>, least_value};
  static constexpr entry highest{most<K, key_bits<K, Settings>()>, greatest_value};

  pairs() = default;
  ~pairs() = default;

  // A thread's access. Only the thread that attached it calls it, and not within a call to it. It
  // is destroyed before the container is, outside its calls, by that thread or by one that knows
  // that it is done. Debug builds abort, with a message, where they see that this is broken.
  //
  // A call throws std::bad_alloc, with nothing changed, and std::out_of_range for a key or a value
  // with more bits than the settings say. Where keys and values have 63 or 127 bits together, the
  // greatest key with the greatest value is not an entry: to insert it throws std::out_of_range.
  class access {
   public:
    // About how many entries there are: see elb_tree.h. Lock-free.
    [[nodiscard]] std::uint64_t approximate_size() { return in_.approximate_size(); }

   protected:
    explicit access(pairs& all) : in_(all.all_.attach()) {}

    [[gnu::always_inline]] static std::optional<std::pair<K, V>> pair_of(
        const std::optional<entry>& found) {
      return found ? std::optional(std::pair(found->key, found->value)) : std::nullopt;
    }

    typename tree::handle in_;
  };

 public:
  static constexpr bool lock_free = tree::lock_free;

  // Calls visit(key, value) for each entry, in the order of keys and then of values. At rest.
  // Throws std::bad_alloc and what `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    all_.for_each([&](const entry& each) { visit(each.key, each.value); });
  }

  // What is wrong, if anything is: see elb_tree.h. At rest, for tests. Throws std::bad_alloc.
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return all_.broken_invariant();
  }

  // Nodes, depths and bytes: see elb_tree.h. At rest.
  [[nodiscard]] assay::shape shape() const { return all_.shape(); }

  // How many retired nodes wait to be freed; an estimate while threads are inside calls.
  [[nodiscard]] std::uint64_t unfreed() const { return all_.unfreed(); }

 private:
  tree all_;
};

}  // namespace assay::elb

#endif  // ASSAY_MAPS_ELB_PAIRS_H_
