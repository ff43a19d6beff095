// How a thread changes a tree of bt_tree.h: it adds, replaces and removes elements. bt_map.h says
// what each call promises.

#ifndef ASSAY_MAPS_BT_WRITER_H_
#define ASSAY_MAPS_BT_WRITER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "assay/base/abi.h"
#include "assay/base/backoff.h"
#include "assay/base/draw.h"
#include "assay/base/point.h"
#include "assay/maps/bt_balance.h"
#include "assay/maps/bt_reader.h"
#include "assay/maps/concept.h"

namespace assay::bt::inline ASSAY_ABI {

// What is to become of the element with a key: it stays as it is, is replaced by a new one or
// added, or is removed.
enum class decision : std::uint8_t { keep, put, remove };

// A thread's part of a handle: what it reads and what it changes. Belongs to one thread.
template <class Tree>
class writer : public reader<Tree> {
  using typename reader<Tree>::K;
  using typename reader<Tree>::V;
  using typename reader<Tree>::words;
  using typename reader<Tree>::entry;
  using typename reader<Tree>::entries;
  using typename reader<Tree>::leaf;
  using typename reader<Tree>::located;
  using typename reader<Tree>::piece;
  using typename reader<Tree>::section;
  using guard_type = typename Tree::guard_type;
  using synchronisation = typename Tree::synchronisation;
  using fresh_entry = typename Tree::fresh_entry;
  using balancing = balancer<Tree>;
  using reader<Tree>::tree_;
  using reader<Tree>::me_;

 public:
  writer(Tree& tree, typename Tree::domain& of, const detail::random_draws& random)
      : reader<Tree>(tree, of, random), balancer_(tree) {}

  // Adds the element that make(fresh) makes in `fresh` if its key is not there, and says whether it
  // did. The key may be moved into the element.
  template <class Make>
  bool add(parameter<K> key, const Make& make) {
    auto guard = me_.pin();
    fresh_entry fresh(*tree_);
    return put(guard, fresh, key, make,
               [](const located& /*at*/, fresh_entry& /*fresh*/) { return found_there::as_it_is; });
  }
  // The same, and returns a copy of the value that the key has then.
  template <class Make>
  std::pair<V, bool> add_and_copy(parameter<K> key, const Make& make) {
    auto guard = me_.pin();
    std::optional<V> value;
    entry there{};
    const bool is_added = add_or_find(
        guard, key,
        [&](fresh_entry& fresh) {
          make(fresh);
          Tree::copy_of(&fresh.get(), value);  // here, so that nothing has changed if it fails
        },
        there);
    if (!is_added) Tree::copy_of(&there, value);
    return {*std::move(value), is_added};
  }
  // The same, and visits the element that has the key then.
  template <class Visit, class Make>
  bool add_and_visit(parameter<K> key, Visit& visit, const Make& make) {
    auto guard = me_.pin();
    entry there{};
    const bool is_added = add_or_find(guard, key, make, there);
    visit(words::key(there.key), words::value(there.key, there.value));
    return is_added;
  }
  // Adds the element, or puts it where one with its key is; says whether it added it.
  template <class Make>
  bool assign(parameter<K> key, const Make& make) {
    auto guard = me_.pin();
    fresh_entry fresh(*tree_);
    return put(guard, fresh, key, make, [&](const located& at, fresh_entry& made) {
      if (!made.is_made()) make(made);
      return replace_at(at, made) ? found_there::replaced : found_there::changed;
    });
  }

  // Does what decide(held, fresh) says, and says whether there was an element with the key. `held`
  // is that element, or nullptr; one that is to be put there is made in `fresh`. It is called with
  // no lock held, and again when the element was changed meanwhile, so that its last answer is
  // about what the map held when the call took effect.
  template <class Decide>
  bool alter(parameter<K> key, const Decide& decide) {
    auto guard = me_.pin();
    return alter_pinned(key, decide, guard);
  }
  // The same for a key of another type. Where there is no element, nothing is decided.
  template <other_key<K, typename Tree::compare> Q, class Decide>
  bool alter(const Q& key, const Decide& decide) {
    auto guard = me_.pin();
    const located at = this->look_up_other(key);
    // The element may be erased meanwhile, or another one with its key, and no other, be there.
    return at.place != Tree::nowhere && alter_pinned(words::key(at.found.key), decide, guard);
  }

  // As the handle's calls of the same names.
  [[gnu::noinline]] bool erase(parameter<K> key) {
    auto guard = me_.pin();
    return erase_pinned(key, guard);
  }
  template <other_key<K, typename Tree::compare> Q>
  bool erase(const Q& key) {
    auto guard = me_.pin();
    const located at = this->look_up_other(key);
    // As in alter().
    return at.place != Tree::nowhere && erase_pinned(words::key(at.found.key), guard);
  }

  // `values` and `added` have as many places as there are keys, and `added` has no true yet: it
  // says what was added also if something throws.
  void insert_many(std::span<const K> keys, std::span<const V> values, std::span<bool> added) {
    change_many(keys, [&](std::size_t i, located* at, std::uint64_t hash, guard_type& guard) {
      const auto make = [&](fresh_entry& fresh) { fresh.make(keys[i], values[i]); };
      fresh_entry fresh(*tree_);
      for (; at != nullptr; at = read_again(*at, keys[i], hash) ? at : nullptr) {
        if (at->place != Tree::nowhere) {
          if (is_as_read(*at)) return;
          continue;
        }
        if (!tree_->has_room(*at, keys[i])) break;
        if (!fresh.is_made()) make(fresh);
        if (!put_at(*at, hash, fresh)) continue;
        added[i] = true;
        return;
      }
      added[i] =
          put(guard, fresh, keys[i], make,
              [](const located& /*at*/, fresh_entry& /*fresh*/) { return found_there::as_it_is; });
    });
  }
  // The same for `erased`.
  void erase_many(std::span<const K> keys, std::span<bool> erased) {
    change_many(keys, [&](std::size_t i, located* at, std::uint64_t hash, guard_type& guard) {
      for (; at != nullptr; at = read_again(*at, keys[i], hash) ? at : nullptr) {
        if (at->place == Tree::nowhere) {
          if (is_as_read(*at)) return;
          continue;
        }
        if (!remove_at(*at)) continue;
        erased[i] = true;
        return retire_removed(guard, keys[i], *at);
      }
      erased[i] = erase_pinned(keys[i], guard);
    });
  }

  // Nothing if last < first.
  template <class First, class Last>
  std::uint64_t erase_range(const First& first, const Last& last) {
    std::uint64_t number = 0;
    for (;;) {
      auto guard = me_.pin();  // one for each leaf, as a guard retires no more than some
      const entries removed = remove_from_one_leaf(first, last);
      if (removed.size() == 0) return number;
      number += removed.size();
      // The key is good until the guard ends.
      for (const entry& each : removed) Tree::retire_entry(guard, each);
      balance_if_possible(words::key(removed[0].key), guard);
    }
  }

 private:
  // Searches for the keys, some at once, and calls change(i, at, hash, guard) for each of them in
  // turn: with where it was found, or with nullptr if it has to be sought.
  template <class Change>
  void change_many(std::span<const K> keys, const Change& change) {
    // With bt::coarse an answer is of no use once the critical section has ended.
    constexpr bool is_of_use = !synchronisation::is_coarse;
    // A guard for each group, as a guard retires no more than some.
    this->in_groups(keys, [&](std::size_t first, std::span<const K> some) {
      auto guard = me_.pin();
      this->template locate_group<true>(some, [&](std::size_t i, located* at, std::uint64_t hash) {
        change(first + i, is_of_use ? at : nullptr, hash, guard);
      });
    });
  }
  // Whether the leaf is as it was when the key was sought there. The keys of a group take effect
  // one after the other, but were sought together: an answer that changes nothing takes effect at
  // this read(), which comes after the locks of the keys before (the order S of
  // locks/optimistic_lock.h; validate() is not in it).
  static bool is_as_read(const located& at) { return at.where.at->lock.read() == at.where.seen; }
  // Where the key is now in a leaf that has changed since it was found there, as when it is the
  // leaf of another key of the group: the range of a leaf never changes. No if the leaf is being
  // changed or was replaced.
  bool read_again(located& at, parameter<K> key, std::uint64_t hash) const {
    const leaf& node = *at.where.at;
    at.where.seen = node.lock.read();
    if (!Tree::node_lock::is_free(at.where.seen)) return false;
    at.places = node.places();
    at.place = tree_->template place_in<Tree::set::scalar>(node, key, hash, at.places);
    if (at.place != Tree::nowhere) at.found = node.at(at.place);
    return node.lock.validate(at.where.seen);
  }

  enum class found_there : std::uint8_t { as_it_is, replaced, changed };

  // As add(). If the key is there, met(at, fresh) says what it did with its element: it was
  // `changed` if the leaf was.
  template <class Make, class Met>
  bool put(guard_type& guard, fresh_entry& fresh, parameter<K> given, const Make& make,
           const Met& met) {
    const std::uint64_t hash = Tree::hash_of(given);
    // In a critical section no memory is asked for.
    if constexpr (synchronisation::is_coarse) make(fresh);
    for (sync::backoff backoff;; backoff.wait()) {
      const parameter<K> key = fresh.key_or(given);
      located at{};
      found_there done{};
      {
        const section in(tree_->shared);
        at = tree_->template locate<true>(key, hash);
        if (at.place != Tree::nowhere) {
          done = met(at, fresh);
          if (done == found_there::as_it_is) return false;
        } else if (tree_->has_room(at, key)) {
          if (!fresh.is_made()) make(fresh);
          if (put_at(at, hash, fresh)) return true;
        }
      }
      if (at.place == Tree::nowhere) {
        if (!tree_->has_room(at, key)) balancer_.balance(key, balancing::reason::room, guard);
      } else if (done == found_there::replaced) {
        Tree::retire_entry(guard, at.found);
        return false;
      }
    }
  }
  // The same, with the element that has the key then: `there` is good until the guard ends.
  template <class Make>
  bool add_or_find(guard_type& guard, parameter<K> key, const Make& make, entry& there) {
    fresh_entry fresh(*tree_);
    return put(
        guard, fresh, key,
        [&](fresh_entry& made) {
          make(made);
          there = made.get();
        },
        [&](const located& at, fresh_entry& /*made*/) {
          there = at.found;
          return found_there::as_it_is;
        });
  }
  // Puts an element into a leaf with room, unless the leaf was changed.
  static bool put_at(const located& at, std::uint64_t hash, fresh_entry& fresh) {
    ASSAY_POINT("bt_map_insert_before_lock");
    leaf& node = *at.where.at;
    if (!node.lock.try_lock(at.where.seen)) return false;
    ASSAY_POINT("bt_map_insert_locked");
    node.put_new(at.places, fresh.get(), hash);
    node.lock.unlock();
    fresh.release();
    return true;
  }
  // Puts the new element where one with the same key is, unless the leaf was changed.
  static bool replace_at(const located& at, fresh_entry& fresh) {
    leaf& node = *at.where.at;
    ASSAY_POINT("bt_map_assign_before_lock");
    if (!node.lock.try_lock(at.where.seen)) return false;
    ASSAY_POINT("bt_map_assign_locked");
    // The key too: the record has both. Of a key that is a word these are the same bits or others
    // that are equivalent.
    node.replace(at.place, fresh.get());
    node.lock.unlock();
    fresh.release();
    return true;
  }
  // Removes the element from its leaf, unless the leaf was changed.
  static bool remove_at(const located& at) {
    leaf& node = *at.where.at;
    ASSAY_POINT("bt_map_erase_before_lock");
    if (!node.lock.try_lock(at.where.seen)) return false;
    ASSAY_POINT("bt_map_erase_locked");
    node.remove(at.place);
    node.lock.unlock();
    return true;
  }
  // What is left to do after that.
  void retire_removed(guard_type& guard, parameter<K> key, const located& at) {
    Tree::retire_entry(guard, at.found);
    if (static_cast<std::size_t>(std::popcount(at.places)) <= balancing::least_elements) {
      balance_if_possible(key, guard);
    }
  }
  // After an erase, which has taken effect: it does not fail for want of memory or because a
  // comparison throws. The leaf stays as it is, until the next erase from it.
  void balance_if_possible(parameter<K> key, guard_type& guard) noexcept {
    try {
      balancer_.balance(key, balancing::reason::fill, guard);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
  }
  // Removes all elements with first <= key <= last from the first leaf that has any.
  template <class First, class Last>
  entries remove_from_one_leaf(const First& first, const Last& last) {
    entries removed;
    for (sync::backoff backoff;; backoff.wait()) {
      const section in(tree_->shared);
      for (piece at = tree_->piece_of(first);; tree_->advance(at)) {
        leaf& node = *at.where.at;
        std::uint64_t doomed = 0;
        removed.clear();
        for (std::uint64_t left = node.places(); left != 0; left &= left - 1) {
          const auto place = static_cast<std::size_t>(std::countr_zero(left));
          const entry each = node.at(place);
          const K& key = words::key(each.key);
          if (tree_->less(key, first) || tree_->less(last, key)) continue;
          removed.push(each);
          doomed |= UINT64_C(1) << place;
        }
        ASSAY_POINT("bt_map_erase_range_before_lock");
        if (doomed == 0) {
          if (!node.lock.validate(at.where.seen)) break;
          if (!at.upto || tree_->is_before(last, *at.upto)) return removed;
          continue;
        }
        if (!node.lock.try_lock(at.where.seen)) break;
        for (; doomed != 0; doomed &= doomed - 1) {
          node.remove(static_cast<std::size_t>(std::countr_zero(doomed)));
        }
        node.lock.unlock();
        return removed;
      }
    }
  }

  // Does what was decided about what was found at `at`, or says no, and in `at` what is there now.
  // Others may change the rest of the leaf meanwhile.
  bool carry_out(decision decided, guard_type& guard, parameter<K> key, std::uint64_t hash,
                 located& at, fresh_entry& fresh) {
    const bool was_there = at.place != Tree::nowhere;
    const entry old = at.found;
    // With bt::coarse it was found in another critical section.
    bool is_current = !synchronisation::is_coarse;
    for (sync::backoff backoff;; backoff.wait()) {
      bool is_full = false;
      {
        const section in(tree_->shared);
        if (!is_current) at = tree_->template locate<true>(key, hash);
        is_current = false;
        const bool is_there = at.place != Tree::nowhere;
        if (is_there != was_there || (was_there && !is_same(old, at.found))) return false;
        is_full = !was_there && !tree_->has_room(at, key);
        if (!is_full && (decided == decision::remove ? remove_at(at)
                         : was_there                 ? replace_at(at, fresh)
                                                     : put_at(at, hash, fresh))) {
          return true;
        }
      }
      if (is_full) balancer_.balance(key, balancing::reason::room, guard);
    }
  }
  // Whether nobody has replaced the element meanwhile. What pointers lead to is not reused while
  // this thread is pinned; numbers that were replaced and put back make no difference.
  static bool is_same(const entry& old, const entry& now) {
    if constexpr (words::has_value) {
      // Numbers such as 0.0 and -0.0, or not-a-numbers, are compared as the bits that they are.
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
      return std::memcmp(&old.value, &now.value, sizeof(old.value)) == 0;
    } else if constexpr (words::has_box) {
      return old.value == now.value;
    } else {
      return old.key == now.key;
    }
  }

  template <class Decide>
  bool alter_pinned(parameter<K> key, const Decide& decide, guard_type& guard) {
    const std::uint64_t hash = Tree::hash_of(key);
    fresh_entry fresh(*tree_);
    located at = this->template look_up<true>(key, hash);
    for (;;) {
      const bool was_there = at.place != Tree::nowhere;
      const entry old = at.found;
      const decision decided = decide(was_there ? &old : nullptr, fresh);
      if (decided == decision::keep) return was_there;
      if (!carry_out(decided, guard, key, hash, at, fresh)) continue;
      if (decided == decision::remove) {
        retire_removed(guard, key, at);
      } else if (was_there) {
        Tree::retire_entry(guard, old);
      }
      return was_there;
    }
  }

  bool erase_pinned(parameter<K> key, guard_type& guard) {
    const std::uint64_t hash = Tree::hash_of(key);
    for (sync::backoff backoff;; backoff.wait()) {
      located at{};
      {
        const section in(tree_->shared);
        at = tree_->template locate<true>(key, hash);
        if (at.place == Tree::nowhere) return false;
        if (!remove_at(at)) continue;
      }
      retire_removed(guard, key, at);
      return true;
    }
  }

  balancing balancer_;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_WRITER_H_
