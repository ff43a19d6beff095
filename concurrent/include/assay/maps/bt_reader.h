// What a thread reads of a tree of bt_tree.h: single elements, elements in order, and what was
// there at one moment. bt_map.h says what each call promises.

#ifndef ASSAY_MAPS_BT_READER_H_
#define ASSAY_MAPS_BT_READER_H_

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/backoff.h"
#include "assay/base/draw.h"
#include "assay/base/point.h"
#include "assay/maps/bt_inline_vector.h"
#include "assay/maps/bt_many.h"
#include "assay/maps/bt_node.h"
#include "assay/maps/concept.h"
#include "assay/reclaim/participant.h"

namespace assay::bt::inline ASSAY_ABI {

// A thread's part of a handle that reads. Belongs to one thread.
template <class Tree>
class reader {
 protected:
  using K = typename Tree::key_type;
  using V = typename Tree::mapped_type;
  using compare = typename Tree::compare;
  using domain = typename Tree::domain;
  using node_lock = typename Tree::node_lock;
  using words = typename Tree::words;
  using entry = typename Tree::entry;
  using leaf = typename Tree::leaf;
  using section = typename Tree::section;
  using arrival = typename Tree::arrival;
  using located = typename Tree::located;
  using piece = typename Tree::piece;
  using bound = typename Tree::bound;
  using entries = inline_vector<entry, Tree::most_in_leaf>;
  using search = group_search<Tree>;

 public:
  reader(Tree& tree, domain& of, const detail::random_draws& random)
      : tree_(&tree), random_(random), me_(reclaim::join_without_nesting(of)) {}

  // As the handle's calls of the same names, in bt_map.h.
  [[gnu::always_inline]] std::optional<V> find(parameter<K> key) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    const located at = look_up<false>(key, Tree::hash_of(key));
    std::optional<V> found;
    if (at.place != Tree::nowhere) found.emplace(words::value(at.found.key, at.found.value));
    return found;
  }
  bool contains(parameter<K> key) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    return look_up<false>(key, Tree::hash_of(key)).place != Tree::nowhere;
  }
  template <class F>
  [[gnu::always_inline]] bool visit(parameter<K> key, F&& f) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    return visit_at(look_up<false>(key, Tree::hash_of(key)), f);
  }
  template <other_key<K, compare> Q>
  std::optional<V> find(const Q& key) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    const located at = look_up_other(key);
    std::optional<V> found;
    Tree::copy_of(at.place != Tree::nowhere ? &at.found : nullptr, found);
    return found;
  }
  template <other_key<K, compare> Q>
  bool contains(const Q& key) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    return look_up_other(key).place != Tree::nowhere;
  }
  template <other_key<K, compare> Q, class F>
  bool visit(const Q& key, F&& f) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    return visit_at(look_up_other(key), f);
  }

  // `found` has as many places as there are keys.
  void find_many(std::span<const K> keys, std::span<std::optional<V>> found) {
    in_groups(keys, [&](std::size_t first, std::span<const K> some) {
      // One for each group, so that memory is freed while the others are sought.
      [[maybe_unused]] const auto guard = me_.pin_to_read();
      locate_group<false>(some, [&](std::size_t i, located* at, std::uint64_t hash) {
        const located now = at != nullptr ? *at : look_up<false>(some[i], hash);
        Tree::copy_of(now.place != Tree::nowhere ? &now.found : nullptr, found[first + i]);
      });
    });
  }

  std::uint64_t size() {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    std::uint64_t elements = 0;
    walk_undisturbed(
        no_key, no_key, [&] { elements = 0; }, [] {},
        [&](const leaf& node) {
          elements += static_cast<std::uint64_t>(std::popcount(node.places()));
          return onward::yes;
        });
    return elements;
  }

  std::uint64_t approximate_size() {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    constexpr unsigned ways = 64;
    double sum = 0;
    for (unsigned i = 0; i < ways; ++i) sum += guess_size();
    // Never negative, so this rounds, and needs no <cmath>, which takes long to compile.
    return static_cast<std::uint64_t>(sum / ways + 0.5);  // NOLINT(bugprone-incorrect-roundings)
  }
  [[nodiscard]] bool empty() {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    bool is_empty = true;
    walk_undisturbed(
        no_key, no_key, [&] { is_empty = true; }, [] {},
        [&](const leaf& node) {
          is_empty = node.places() == 0;
          return is_empty ? onward::yes : onward::no;
        });
    return is_empty;
  }

  // Visits the elements with *first <= key <= *last, without those bounds that are null. Whether it
  // came to the end, as visit() returned false nowhere.
  template <class First, class Last, class Visit>
  bool visit_ascending(const First* first, const Last* last, Visit& visit) {
    return visit_leaves<true>(first, last, visit);
  }
  template <class First, class Last, class Visit>
  bool visit_descending(const First* first, const Last* last, Visit& visit) {
    return visit_leaves<false>(first, last, visit);
  }

  template <class First, class Last, class Visit>
  void visit_snapshot(const First* first, const Last* last, Visit& visit) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    std::vector<entry> found;
    walk_undisturbed(
        first, last, [&] { found.clear(); },
        [&] {
          if (found.capacity() - found.size() < Tree::most_in_leaf) {
            found.reserve(2 * found.capacity() + Tree::most_in_leaf);
          }
        },
        [&](const leaf& node) {
          entries met;
          Tree::collect_racing(node, met);
          if (found.capacity() - found.size() < met.size()) return onward::no_room;
          entries sorted = met;
          const entries& ascending = tree_->in_order(node, met, sorted);
          found.insert(found.end(), ascending.begin(), ascending.end());
          return onward::yes;
        });
    for (const entry& each : found) {
      const K& key = words::key(each.key);
      if (first != nullptr && tree_->less(key, *first)) continue;
      if (last != nullptr && tree_->less(*last, key)) return;
      visit(key, words::value(each.key, each.value));
    }
  }

  // The least element for which `wanted(key)` holds and that is not below *from. `wanted` holds for
  // all keys from some key on.
  template <class Q, class Wanted>
  std::optional<std::pair<K, V>> least(const Q* from, const Wanted& wanted) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    bool is_found = false;
    entry found{};
    walk_undisturbed(
        from, no_key, [&] { is_found = false; }, [] {},
        [&](const leaf& node) {
          entries met;
          Tree::collect_wanted(node, met, wanted);
          if (met.size() == 0) return onward::yes;
          is_found = true;
          found = met[0];
          for (const entry& each : met) {
            if (tree_->by_key()(each, found)) found = each;
          }
          return onward::no;
        });
    return element_of(is_found, found);
  }
  // The greatest element for which `wanted(key)` holds, from the leaf of *from downwards, or from
  // the last one. `wanted` holds for all keys up to some key.
  template <class Q, class Wanted>
  std::optional<std::pair<K, V>> greatest(const Q* from, const Wanted& wanted) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    for (sync::backoff backoff;; backoff.wait()) {
      bool is_found = false;
      entry found{};
      bool is_whole = false;
      {
        const section in(tree_->shared);
        leaves_.clear();
        // Leaves are hardly ever empty, but may be, where memory was missing to join them.
        for (piece at = from != nullptr ? tree_->piece_of(*from) : tree_->last_piece();
             leaves_.size() < leaves_.capacity(); at = tree_->piece_before(*at.below)) {
          leaves_.push_back(at.where);
          ASSAY_POINT("bt_map_walk_step");
          entries met;
          Tree::collect_wanted(*at.where.at, met, wanted);
          if (met.size() != 0) {
            is_found = true;
            found = *std::max_element(met.begin(), met.end(), tree_->by_key());
          }
          if (is_found || !at.below) {
            is_whole = are_valid(leaves_);
            break;
          }
        }
      }
      if (is_whole) return element_of(is_found, found);
      if (leaves_.size() == leaves_.capacity()) leaves_.reserve(2 * leaves_.size() + 8);
    }
  }
  static std::optional<std::pair<K, V>> element_of(bool is_found, const entry& found) {
    static_assert(std::copy_constructible<K> && std::copy_constructible<V>,
                  "this call of bt_map copies the element that it finds: use one that visits it "
                  "where K or V can only be moved.");
    std::optional<std::pair<K, V>> element;
    if (is_found) element.emplace(words::key(found.key), words::value(found.key, found.value));
    return element;
  }

 protected:
  template <bool Writes>
  [[nodiscard]] located look_up(parameter<K> key, std::uint64_t hash) {
    const section in(tree_->shared);
    return tree_->template locate<Writes>(key, hash);
  }

  // Searches for some keys, at most a group, and calls each(i, at, hash) for each of them in turn:
  // with what was found and that key's hash, or with nullptr if the search met a change.
  template <bool Writes, class Each>
  void locate_group(std::span<const K> some, const Each& each) {
    std::array<typename search::lane, search::lanes>
        lanes;  // NOLINT(cppcoreguidelines-pro-type-member-init): much to clear, for nothing
    const std::span used = std::span(lanes).first(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) used[i].key = &some[i];
    {
      const section in(tree_->shared);
      search(*tree_).template locate<Writes>(used);
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      each(i, used[i].is_lost ? nullptr : &used[i].found, used[i].way.hash);
    }
  }
  // Calls f(first, some) for the keys, a group at a time: `first` is the place of the first of
  // some.
  template <class F>
  static void in_groups(std::span<const K> keys, const F& f) {
    for (std::size_t first = 0; first < keys.size(); first += search::lanes) {
      f(first, keys.subspan(first, std::min(keys.size() - first, search::lanes)));
    }
  }

  template <class Q>
  [[nodiscard]] located look_up_other(const Q& key) {
    const section in(tree_->shared);
    return tree_->locate_other(key);
  }

 private:
  template <class Visit>
  [[gnu::always_inline]] static bool visit_at(const located& at, Visit& visit) {
    if (at.place == Tree::nowhere) return false;
    visit(words::key(at.found.key), words::value(at.found.key, at.found.value));
    return true;
  }

  // Whether to go on after this element.
  template <class Visit>
  static bool goes_on(Visit& visit, const entry& met) {
    const K& key = words::key(met.key);
    const V& value = words::value(met.key, met.value);
    if constexpr (std::is_same_v<decltype(visit(key, value)), bool>) {
      return visit(key, value);
    } else {
      visit(key, value);
      return true;
    }
  }

  template <bool Ascends, class First, class Last, class Visit>
  bool visit_leaves(const First* first, const Last* last, Visit& visit) {
    [[maybe_unused]] const auto guard = me_.pin_to_read();
    entries met;
    entries sorted;
    piece at{};
    for (bool begins = true;; begins = false) {
      read_leaf<Ascends>(first, last, begins, at, met);
      const entries& ascending = tree_->in_order(*at.where.at, met, sorted);
      for (std::size_t i = 0; i < ascending.size(); ++i) {
        if (!goes_on(visit, ascending[Ascends ? i : ascending.size() - 1 - i])) return false;
      }
      if (ends_at<Ascends>(first, last, at)) return true;
    }
  }

  // Reads those elements of a leaf that are to be visited: of the first leaf, or of the one that
  // comes after `at`, which then is that leaf.
  template <bool Ascends, class First, class Last>
  void read_leaf(const First* first, const Last* last, bool begins, piece& at, entries& met) {
    // All up to here has been visited, in the order of the visits.
    const bound visited = begins ? bound{} : *(Ascends ? at.upto : at.below);
    bool is_there = !begins && (Ascends ? Tree::go_to_next(at) : Tree::go_to_previous(at));
    for (sync::backoff backoff;; backoff.wait()) {
      const section in(tree_->shared);
      if (!is_there) at = find_leaf<Ascends>(first, last, begins ? nullptr : &visited);
      is_there = false;
      if (!ends_at<Ascends>(first, last, at)) {
        Ascends ? Tree::fetch_next(at) : Tree::fetch_previous(at);
      }
      const bool has_lower = first != nullptr && begins_below(at, *first);
      const bool has_higher = last != nullptr && ends_above(at, *last);
      // The leaf may have been joined with one that was visited before.
      const bool has_visited = !begins && (Ascends ? !at.below || tree_->ascend(*at.below, visited)
                                                   : !at.upto || tree_->ascend(visited, *at.upto));
      const leaf& node = *at.where.at;
      if (has_lower || has_higher || has_visited) {
        Tree::collect_wanted(node, met, [&](const K& key) {
          bool is_wanted = true;
          if (has_lower) is_wanted &= !tree_->less(key, *first);
          if (has_higher) is_wanted &= !tree_->less(*last, key);
          if (has_visited) is_wanted &= tree_->is_before(key, visited) != Ascends;
          return is_wanted;
        });
      } else {
        Tree::collect_wanted(node, met, [](const K& /*key*/) { return true; });
      }
      ASSAY_POINT("bt_map_range_leaf_read");
      if (node.lock.validate(at.where.seen)) return;
    }
  }
  template <bool Ascends, class First, class Last>
  [[nodiscard]] piece find_leaf(const First* first, const Last* last, const bound* visited) const {
    if constexpr (Ascends) {
      if (visited != nullptr) return tree_->piece_after(*visited);
      return first != nullptr ? tree_->piece_of(*first) : tree_->first_piece();
    } else {
      if (visited != nullptr) return tree_->piece_before(*visited);
      return last != nullptr ? tree_->piece_of(*last) : tree_->last_piece();
    }
  }
  // Whether there is nothing to visit in the leaves that come after it.
  template <bool Ascends, class First, class Last>
  [[nodiscard]] bool ends_at(const First* first, const Last* last, const piece& at) const {
    if constexpr (Ascends) {
      return !at.upto || (last != nullptr && tree_->is_before(*last, *at.upto));
    } else {
      return !at.below || (first != nullptr && !tree_->is_before(*first, *at.below));
    }
  }
  // Whether the leaf may have keys below this one, or above it.
  template <class Key>
  [[nodiscard]] bool begins_below(const piece& at, const Key& key) const {
    return !at.below || !tree_->is_before(key, *at.below);
  }
  template <class Key>
  [[nodiscard]] bool ends_above(const piece& at, const Key& key) const {
    return !at.upto || tree_->is_before(key, *at.upto);
  }

  // A walk that met no change, or that locked what it came to: begin() forgets what was met before,
  // and more_room() makes room for more.
  template <class First, class Last, class Begin, class MoreRoom, class Each>
  void walk_undisturbed(const First* first, const Last* last, const Begin& begin,
                        const MoreRoom& more_room, const Each& each) {
    sync::backoff backoff;
    for (unsigned attempt = 0;;) {
      walked got{};
      {
        const section in(tree_->shared);
        begin();
        got = walk(first, last, attempt >= undisturbed_attempts, each);
      }
      if (got == walked::whole) return;
      if (got == walked::changed) {
        ++attempt;
        backoff.wait();
      } else {
        if (leaves_.size() == leaves_.capacity()) leaves_.reserve(2 * leaves_.size() + 8);
        more_room();
      }
    }
  }

  double guess_size() {
    for (sync::backoff backoff;; backoff.wait()) {
      const section in(tree_->shared);
      double ways = 1;
      const arrival where = tree_->draw_leaf(random_, ways);
      const auto elements = static_cast<double>(std::popcount(where.at->places()));
      if (where.at->lock.validate(where.seen)) return ways * elements;
    }
  }

  static constexpr const K* no_key = nullptr;

  enum class onward : std::uint8_t { yes, no, no_room };
  enum class walked : std::uint8_t { whole, changed, no_room };

  // Reads leaf after leaf in ascending order, from the one where `first` is, or from the first one,
  // and asks `each(leaf)` whether to go on: it has to if it has not met what it needs. Then all
  // leaves are validated, so that what was read was there at one moment, unless the answer is
  // `changed`. Needs no memory: the answer is `no_room` if `leaves_` or what `each` has is used up.
  template <class First, class Last, class Each>
  [[nodiscard]] walked walk(const First* first, const Last* last, bool locking, const Each& each) {
    struct unlocking {
      const std::vector<arrival>* leaves;
      ~unlocking() {
        if (leaves == nullptr) return;
        for (const arrival& one : *leaves) one.at->lock.unlock_unchanged();
      }
    };
    leaves_.clear();
    const unlocking at_the_end{locking ? &leaves_ : nullptr};
    piece at = first != nullptr ? tree_->piece_of(*first) : tree_->first_piece();
    for (;;) {
      if (leaves_.size() == leaves_.capacity()) return walked::no_room;
      if (locking) {
        for (sync::backoff backoff;; backoff.wait()) {
          ASSAY_POINT("bt_map_walk_before_lock");
          if (at.where.at->lock.try_lock(at.where.seen)) break;
          ASSAY_POINT("bt_map_walk_waits");
          at = at.below ? tree_->piece_after(*at.below) : tree_->first_piece();
        }
      }
      leaves_.push_back(at.where);
      ASSAY_POINT("bt_map_walk_step");
      const onward answer = each(*at.where.at);
      if (!at.where.at->lock.validate(at.where.seen) && !locking) return walked::changed;
      if (answer == onward::no_room) return walked::no_room;
      if (answer == onward::no || !at.upto) break;
      if (last != nullptr && tree_->is_before(*last, *at.upto)) break;
      tree_->advance(at);
    }
    return locking || are_valid(leaves_) ? walked::whole : walked::changed;
  }
  [[nodiscard]] static bool are_valid(const std::vector<arrival>& leaves) {
    node_lock::all_read();
    return std::all_of(leaves.begin(), leaves.end(),
                       [](const arrival& one) { return one.at->lock.validate(one.seen); });
  }
  // After this many walks that met changes, leaves are locked.
  static constexpr unsigned undisturbed_attempts = 8;

 protected:
  Tree* tree_;

 private:
  std::vector<arrival> leaves_;  // of the walk that is going on
  detail::random_draws random_;

 protected:
  typename domain::participant me_;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_READER_H_
