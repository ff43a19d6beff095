// Many searches of a tree of radix_tree.h at once, as bt_find_many.h has them.

#ifndef ASSAY_MAPS_RADIX_FIND_MANY_H_
#define ASSAY_MAPS_RADIX_FIND_MANY_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/instruction_set.h"
#include "assay/maps/bt_find_many.h"
#include "assay/maps/radix_tree.h"

namespace assay::bt::inline ASSAY_ABI {

template <class K, class V, class Policies>
class group_search<radix::tree<K, V, Policies>> {
  using tree = radix::tree<K, V, Policies>;
  using types = typename tree::types;
  using node_lock = typename tree::node_lock;
  using version = typename tree::version;
  using entry = typename tree::entry;
  using leaf = typename tree::leaf;
  using inner = typename tree::inner;
  using edge = typename tree::edge;
  using set = typename tree::set;
  template <set Set>
  using way = typename tree::template toward<Set, false, typename tree::keys::sought>;

 public:
  static constexpr std::size_t lanes = 16;
  struct lane {
    const node_lock* above;
    version above_seen;
    edge to;
    std::uint64_t hash;
    typename tree::keys::sought key;
    typename tree::keys::progress progress;
    entry found;
    bool is_found;
    bool is_lost;  // met a change
  };
  using group = std::array<lane, lanes>;

  explicit group_search(const tree& of) : tree_(of) {}

  // For each of up to `lanes` keys, what was found, or that the search met a change.
  void locate(std::span<const K> keys, group& each) const {
#if defined(__x86_64__)
    if constexpr (types::has_fingerprints) {
      const set with = tree_.set_now();
      if (with == set::avx512) return locate_avx512(keys, each);
      if (with == set::avx2) return locate_avx2(keys, each);
    }
#endif
    locate_as<set::scalar>(keys, each);
  }

 private:
  template <set Set>
  void locate_as(std::span<const K> keys, group& each) const {
    const version root_seen = tree_.root_lock.read();
    const edge root = tree_.root.load(memory_order_acquire);
    std::uint64_t active = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t hash = tree::hash_of(keys[i]);
      each[i] = {.above = &tree_.root_lock,
                 .above_seen = root_seen,
                 .to = root,
                 .hash = hash,
                 .key = tree::seek(keys[i]),
                 .progress = {},
                 .found = {},
                 .is_found = false,
                 .is_lost = !node_lock::is_free(root_seen)};
      if (!each[i].is_lost) active |= UINT64_C(1) << i;
    }
    while (active != 0) {
      for (std::uint64_t left = active; left != 0; left &= left - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(left));
        if (!step<Set>(keys[i], each[i])) active &= ~(UINT64_C(1) << i);
      }
    }
  }
  // One step of way_down() or locate_as(). Whether there is another to do.
  template <set Set>
  [[nodiscard]] bool step(parameter<K> key, lane& at) const {
    at.is_lost = true;
    if (!at.above->validate(at.above_seen)) return false;  // (3) of radix_tree.h
    if (types::is_leaf(at.to)) {
      const leaf& node = *types::leaf_at(at.to);
      const version seen = node.lock.read();
      if (!node_lock::is_free(seen)) return false;
      const std::size_t place = tree_.template place_in<Set>(node, key, at.hash, node.places());
      at.is_found = place != tree::nowhere;
      if (at.is_found) at.found = node.at(place);
      at.is_lost = !node.lock.validate(seen);
      return false;
    }
    const inner& node = *types::inner_at(at.to);
    const version seen = node.lock.read();
    if (!node_lock::is_free(seen)) return false;
    way<Set> follow{.key = at.key, .hash = at.hash, .progress = at.progress};
    at.to = follow.child(at.to, node, seen);
    at.progress = follow.progress;
    at.above = &node.lock;
    at.above_seen = seen;
    at.is_lost = false;
    follow.fetch(at.to);
    return true;
  }

#if defined(__x86_64__)
  [[gnu::flatten]] ASSAY_AVX2 void locate_avx2(std::span<const K> keys, group& each) const {
    locate_as<set::avx2>(keys, each);
  }
  [[gnu::flatten]] ASSAY_AVX512 void locate_avx512(std::span<const K> keys, group& each) const {
    locate_as<set::avx512>(keys, each);
  }
#endif

  const tree& tree_;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_RADIX_FIND_MANY_H_
