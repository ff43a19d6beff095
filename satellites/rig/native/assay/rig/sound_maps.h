// Maps of different kinds that nothing is wrong with: no check may find anything in them, however
// busy the machine is. Those with locks have marked points while they hold them.

#ifndef ASSAY_RIG_SOUND_MAPS_H_
#define ASSAY_RIG_SOUND_MAPS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "assay/maps/plain_handle.h"
#include "assay/random/splitmix64.h"
#include "tests/test_maps.h"

namespace assay::rig {

using number = std::uint64_t;

// A lock with a marked point where a thread has just taken it.
template <class Lock>
struct marked : Lock {
  void lock() {
    Lock::lock();
    ASSAY_POINT("sound_locked");
  }
  void lock_shared() {
    Lock::lock_shared();
    ASSAY_POINT("sound_locked_shared");
  }
};
using marked_mutex = marked<std::mutex>;
using marked_shared = marked<std::shared_mutex>;

// std::map behind a lock, which searches share if it can be shared.
class sound_mutex
    : public subject::test_map<sound_mutex, subject::sound_map_of<number, number, marked_mutex>> {};
class sound_shared
    : public subject::test_map<
          sound_shared,
          subject::sound_map_of<number, number, marked_shared, std::shared_lock<marked_shared>>> {};

// The same, and whatever else takes one instant under a lock.
class sound_ordered
    : public subject::test_map<sound_ordered,
                               subject::sound_ordered_map<number, number, marked_shared,
                                                          std::shared_lock<marked_shared>>> {
 public:
  static constexpr bool ordered = true;
};

// Several maps, each behind a lock of its own.
class sound_striped {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) { return at(key).insert(key, value); }
  bool erase(std::uint64_t key) { return at(key).erase(key); }
  std::optional<std::uint64_t> find(std::uint64_t key) { return at(key).find(key); }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& stripe : stripes_) stripe.for_each(visit);
  }
  auto attach() { return plain_handle(*this); }

 private:
  sound_mutex& at(std::uint64_t key) { return stripes_.at(key % stripes_.size()); }

  std::array<sound_mutex, 7> stripes_;
};

// A sorted list from which no node is ever unlinked: an erased key leaves its node, without a
// value, for the next insert. All orders are sequentially consistent, which is what is easiest to
// be sure of.
class sound_list {
 public:
  static constexpr bool lock_free = true;
  static constexpr bool ordered = true;
  static constexpr std::array<std::uint64_t, 1> reserved_values{UINT64_MAX};

  sound_list() = default;
  ~sound_list() {
    for (const node* next = first_.load(); next != nullptr;) {
      const std::unique_ptr<const node> gone(next);
      next = next->next.load();
    }
  }
  sound_list(const sound_list&) = delete;
  sound_list& operator=(const sound_list&) = delete;

  bool insert(std::uint64_t key, std::uint64_t value) {
    std::unique_ptr<node> mine;
    for (;;) {
      const auto [link, found] = seek(key);
      if (found != nullptr && found->key == key) {
        std::uint64_t nothing = 0;
        return found->held.compare_exchange_strong(nothing, value + 1);
      }
      if (!mine) mine = std::make_unique<node>(key, value + 1);
      mine->next = found;
      ASSAY_POINT("sound_list_insert_before_link");
      node* expected = found;
      if (link->compare_exchange_strong(expected, mine.get())) {
        std::ignore = mine.release();
        return true;
      }
    }
  }
  bool erase(std::uint64_t key) {
    node* const found = seek(key).second;
    if (found == nullptr || found->key != key) return false;
    ASSAY_POINT("sound_list_erase_before_taking");
    return found->held.exchange(0) != 0;
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const node* const found = seek(key).second;
    const std::uint64_t held = found == nullptr || found->key != key ? 0 : found->held.load();
    return held == 0 ? std::nullopt : std::optional(held - 1);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const node* next = first_.load(); next != nullptr; next = next->next.load()) {
      if (const std::uint64_t held = next->held.load()) visit(next->key, held - 1);
    }
  }
  auto attach() { return plain_handle(*this); }

 private:
  struct node {
    node(std::uint64_t its_key, std::uint64_t its_value) : key(its_key), held(its_value) {}
    const std::uint64_t key;
    std::atomic<std::uint64_t> held;  // the value and one more, or 0
    std::atomic<node*> next{nullptr};
  };

  // The first node of the key or a greater one, and what leads to it.
  std::pair<std::atomic<node*>*, node*> seek(std::uint64_t key) {
    std::atomic<node*>* link = &first_;
    node* next = link->load();
    while (next != nullptr && next->key < key) {
      link = &next->next;
      next = link->load();
    }
    return {link, next};
  }

  std::atomic<node*> first_{nullptr};
};

// A table of chains, which doubles when they become long: under a lock that all operations share,
// and each has its chain's own.
class sound_table {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    {
      const std::shared_lock all(resizing_);
      chain& mine = at(key);
      const std::scoped_lock guard(mine.lock);
      if (find_in(mine, key)) return false;
      ASSAY_POINT("sound_table_insert");
      mine.elements.emplace_front(key, value);
      ++size_;
    }
    if (size_.load() > 2 * most_.load()) grow();
    return true;
  }
  bool erase(std::uint64_t key) {
    const std::shared_lock all(resizing_);
    chain& mine = at(key);
    const std::scoped_lock guard(mine.lock);
    ASSAY_POINT("sound_table_erase");
    const bool erased = mine.elements.remove_if([&](const auto& one) { return one.first == key; });
    if (erased) --size_;
    return erased;
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const std::shared_lock all(resizing_);
    chain& mine = at(key);
    const std::scoped_lock guard(mine.lock);
    return find_in(mine, key);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& each : *chains_) {
      for (const auto& [key, value] : each.elements) visit(key, value);
    }
  }
  auto attach() { return plain_handle(*this); }

 private:
  struct chain {
    std::mutex lock;
    std::forward_list<std::pair<std::uint64_t, std::uint64_t>> elements;  // guarded by lock
  };

  static std::optional<std::uint64_t> find_in(const chain& one, std::uint64_t key) {
    for (const auto& [held, value] : one.elements) {
      if (held == key) return value;
    }
    return std::nullopt;
  }
  chain& at(std::uint64_t key) { return (*chains_)[random::mix64(key) % chains_->size()]; }

  void grow() {
    const std::scoped_lock alone(resizing_);
    if (size_.load() <= 2 * most_.load()) return;
    const auto old = std::exchange(chains_, std::make_unique<std::vector<chain>>(2 * most_.load()));
    most_ = chains_->size();
    ASSAY_POINT("sound_table_grow");
    for (const auto& each : *old) {
      for (const auto& one : each.elements) at(one.first).elements.push_front(one);
    }
  }

  std::shared_mutex resizing_;
  std::unique_ptr<std::vector<chain>> chains_ = std::make_unique<std::vector<chain>>(2);
  std::atomic<std::uint64_t> most_{2};  // chains; both change under resizing_ alone
  std::atomic<std::uint64_t> size_{0};
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_SOUND_MAPS_H_
