// Many searches of a tree of bt_tree.h or radix_tree.h at once: a step for each in turn, so that
// all wait for memory together (asynchronous memory access chaining: Kocberber, Falsafi and Grot
// 2015, section 3).

#ifndef ASSAY_MAPS_BT_MANY_H_
#define ASSAY_MAPS_BT_MANY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/instruction_set.h"
#include "assay/base/point.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"

namespace assay::bt::inline ASSAY_ABI {

template <class Tree>
class group_search {
  using K = typename Tree::key_type;
  using types = typename Tree::types;
  using node_lock = typename Tree::node_lock;
  using version = typename Tree::version;
  using located = typename Tree::located;
  using leaf = typename Tree::leaf;
  using edge = typename Tree::edge;
  using set = typename Tree::set;

 public:
  // As many as a processor core can have on their way from memory, and some.
  static constexpr std::size_t lanes = 16;

  struct lane {
    const K* key;  // that is sought: the caller's
    typename Tree::way way;
    located found;  // if it is not lost
    bool is_lost;   // met a change
    // Where the search goes on to, from a node with this lock and version.
    edge to;
    const node_lock* above;
    version above_seen;
  };

  explicit group_search(const Tree& tree) : tree_(tree) {}

  // For each of up to `lanes` keys, what was found, or that the search met a change. `Writes` says
  // whether leaves are fetched to be written to.
  template <bool Writes>
  void locate(std::span<lane> each) const {
#if defined(__x86_64__)
    if constexpr (types::has_vectors || types::has_fingerprints) {
      const set with = tree_.set_now();
      if (with == set::avx512) return locate_avx512<Writes>(each);
      if (with == set::avx2) return locate_avx2<Writes>(each);
    }
#endif
    locate_as<set::scalar, Writes>(each);
  }

 private:
  template <set Set, bool Writes>
  void locate_as(std::span<lane> each) const {
    const version root_seen = tree_.root_lock.read();
    const edge root = tree_.root.load(memory_order_acquire);
    // Members one by one: a lane that is written in words and then copied in vectors would wait for
    // those words to leave the store buffer, which took as long as the search.
    for (lane& at : each) {
      at.way = Tree::begin_way(*at.key);
      at.to = root;
      at.above = &tree_.root_lock;
      at.above_seen = root_seen;
      at.is_lost = !node_lock::is_free(root_seen);
    }
    std::array<lane*, lanes> active;  // NOLINT(cppcoreguidelines-pro-type-member-init): `left` are
    std::size_t left = 0;
    for (lane& at : each) {
      active[left] = &at;
      left += at.is_lost ? 0U : 1U;
    }
    while (left != 0) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < left; ++i) {
        lane* const at = active[i];
        active[kept] = at;
        kept += step<Set, Writes>(*at) ? 1U : 0U;
      }
      left = kept;
    }
  }
  // One step of way_down() or locate_as(). Whether there is another to do.
  template <set Set, bool Writes>
  [[nodiscard]] bool step(lane& at) const {
    at.is_lost = true;
    if (!at.above->validate(at.above_seen)) return false;  // (3)
    ASSAY_POINT("bt_map_way_edge");
    if (types::is_leaf(at.to)) {
      leaf* const node = types::leaf_at(at.to);
      const version seen = node->lock.read();
      if (!node_lock::is_free(seen)) return false;
      const std::uint64_t places = node->places();
      const std::size_t place = tree_.template place_in<Set>(*node, *at.key, at.way.hash, places);
      at.found.where.at = node;
      at.found.where.seen = seen;
      at.found.places = places;
      at.found.place = place;
      ASSAY_POINT("bt_map_group_place_found");
      if (place != Tree::nowhere) at.found.found = node->at(place);
      at.is_lost = !node->lock.validate(seen);
      return false;
    }
    const node_lock& lock = Tree::lock_of(at.to);
    const version seen = lock.read();
    if (!node_lock::is_free(seen)) return false;
    at.to = tree_.template go_on<Set, Writes>(at.to, *at.key, at.way);
    at.above = &lock;
    at.above_seen = seen;
    at.is_lost = false;
    return true;
  }

#if defined(__x86_64__)
  template <bool Writes>
  [[gnu::flatten]] ASSAY_AVX2 void locate_avx2(std::span<lane> each) const {
    locate_as<set::avx2, Writes>(each);
  }
  template <bool Writes>
  [[gnu::flatten]] ASSAY_AVX512 void locate_avx512(std::span<lane> each) const {
    locate_as<set::avx512, Writes>(each);
  }
#endif

  const Tree& tree_;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_MANY_H_
