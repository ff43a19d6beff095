// Maps of a few lines to try the rig itself on: each does with atomics what the rig is about.

#ifndef ASSAY_RIG_TEST_MAPS_H_
#define ASSAY_RIG_TEST_MAPS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "assay/base/point.h"
#include "assay/maps/plain_handle.h"

namespace assay::rig {

// An array with a cell for each key, which holds the value and one more, or 0. Lock-free. All
// orders are sequentially consistent, which is what is easiest to be sure of.
class cells {
 public:
  static constexpr bool lock_free = true;
  static constexpr std::array<std::uint64_t, 1> reserved_values{UINT64_MAX};

  bool insert(std::uint64_t key, std::uint64_t value) {
    std::uint64_t held = at(key).load();
    ASSAY_POINT("cells_insert_before_swing");
    return held == 0 && at(key).compare_exchange_strong(held, value + 1);
  }
  bool erase(std::uint64_t key) {
    std::uint64_t held = at(key).load();
    while (held != 0) {
      ASSAY_POINT("cells_erase_before_swing");
      if (at(key).compare_exchange_strong(held, 0)) return true;
    }
    return false;
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const std::uint64_t held = at(key).load();
    return held == 0 ? std::nullopt : std::optional(held - 1);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::uint64_t key = 0; key < near; ++key) {
      if (const auto value = find(key)) visit(key, *value);
    }
    for (const std::uint64_t key : far) {
      if (const auto value = find(key)) visit(key, *value);
    }
  }
  auto attach() { return plain_handle(*this); }

 protected:
  std::atomic<std::uint64_t>& at(std::uint64_t key) {
    if (key < near) return all_.at(key);
    const auto at = static_cast<std::size_t>(std::ranges::find(far, key) - far.begin());
    return all_.at(near + at);
  }

 private:
  // Also for the histories of large maps, and the keys at the ends of their type.
  static constexpr std::uint64_t near = 20'001;
  static constexpr std::array<std::uint64_t, 5> far{INT64_MAX, std::uint64_t{1} << 63U,
                                                    UINT64_MAX - 2, UINT64_MAX - 1, UINT64_MAX};
  std::array<std::atomic<std::uint64_t>, near + far.size()> all_{};
};

// Looks whether the key is there, and then inserts it without looking again: wrong only if another
// thread comes in between.
class cells_unchecked : public cells {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (at(key).load() != 0) return false;
    ASSAY_POINT("cells_unchecked_insert_before_store");
    at(key).store(value + 1);
    return true;
  }
  auto attach() { return plain_handle(*this); }
};

// Counts its elements separately from inserting them, so that a size can be of no instant.
class cells_with_size : public cells {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (!cells::insert(key, value)) return false;
    ASSAY_POINT("cells_with_size_insert_before_count");
    ++size_;
    return true;
  }
  bool erase(std::uint64_t key) {
    if (!cells::erase(key)) return false;
    ASSAY_POINT("cells_with_size_erase_before_count");
    --size_;
    return true;
  }
  std::uint64_t size() { return size_.load(); }
  auto attach() { return plain_handle(*this); }

 private:
  std::atomic<std::uint64_t> size_{0};
};

// A lock with marked points: where a thread waits for it, and where it has just taken it.
class marked_lock {
 public:
  void lock() {
    while (taken_.test_and_set()) ASSAY_POINT("marked_lock_waiting");
    ASSAY_POINT("marked_lock_holding");
  }
  void unlock() { taken_.clear(); }

 private:
  std::atomic_flag taken_{};
};

// The same cells behind a lock that searches do not take. `Claimed` is what it says of itself.
template <bool Claimed>
class locked_cells : public cells {
 public:
  static constexpr bool lock_free = Claimed;

  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock guard(lock_);
    return cells::insert(key, value);
  }
  bool erase(std::uint64_t key) {
    const std::scoped_lock guard(lock_);
    return cells::erase(key);
  }
  auto attach() { return plain_handle(*this); }

 private:
  marked_lock lock_;
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_TEST_MAPS_H_
