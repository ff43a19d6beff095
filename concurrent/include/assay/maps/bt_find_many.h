// Many searches of a tree of bt_tree.h or radix_tree.h at once: a step for each in turn, so that
// all wait for memory together.

#ifndef ASSAY_MAPS_BT_FIND_MANY_H_
#define ASSAY_MAPS_BT_FIND_MANY_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/instruction_set.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"

namespace assay::bt::inline ASSAY_ABI {

template <class Tree>
class group_search {
  using K = typename Tree::key_type;
  using types = typename Tree::types;
  using node_lock = typename Tree::node_lock;
  using version = typename Tree::version;
  using entry = typename Tree::entry;
  using leaf = typename Tree::leaf;
  using edge = typename Tree::edge;
  using set = typename Tree::set;

 public:
  static constexpr std::size_t lanes = 16;
  struct lane {
    const node_lock* above;
    version above_seen;
    edge to;
    typename Tree::way way;
    entry found;
    bool is_found;
    bool is_lost;  // met a change
  };
  using group = std::array<lane, lanes>;

  explicit group_search(const Tree& tree) : tree_(tree) {}

  // For each of up to `lanes` keys, what was found, or that the search met a change.
  void locate(std::span<const K> keys, group& each) const {
#if defined(__x86_64__)
    if constexpr (types::has_vectors || types::has_fingerprints) {
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
      each[i] = {.above = &tree_.root_lock,
                 .above_seen = root_seen,
                 .to = root,
                 .way = Tree::begin_way(keys[i]),
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
    if (!at.above->validate(at.above_seen)) return false;  // (3)
    if (types::is_leaf(at.to)) {
      const leaf& node = *types::leaf_at(at.to);
      const version seen = node.lock.read();
      if (!node_lock::is_free(seen)) return false;
      const std::size_t place = tree_.template place_in<Set>(node, key, at.way.hash, node.places());
      at.is_found = place != Tree::nowhere;
      if (at.is_found) at.found = node.at(place);
      at.is_lost = !node.lock.validate(seen);
      return false;
    }
    const node_lock& lock = Tree::lock_of(at.to);
    const version seen = lock.read();
    if (!node_lock::is_free(seen)) return false;
    at.to = tree_.template go_on<Set>(at.to, key, at.way);
    at.above = &lock;
    at.above_seen = seen;
    at.is_lost = false;
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

  const Tree& tree_;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_FIND_MANY_H_
