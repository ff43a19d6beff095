// Maps that answer rightly, and in which threads or memory do not get on: somebody waits for ever,
// or nothing is ever given back.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "assay/locks/spin_lock.h"
#include "flawed_map.h"

namespace assay::flawed {

// A thread now and then takes the lock when it leaves, and leaves with it.
class leaves_locked : public flawed_map<leaves_locked> {
 public:
  class handle : public plain_handle<leaves_locked> {
   public:
    explicit handle(leaves_locked& map) : plain_handle(map), map_(&map) {}
    ~handle() {
      if (map_->left_.fetch_add(1, std::memory_order_relaxed) % 4 == 1) map_->mutex.lock();
    }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

   private:
    leaves_locked* map_;
  };
  handle attach() { return handle(*this); }
  template <class Visit>
  void for_each(Visit&& visit) {
    const std::scoped_lock lock(mutex);
    for (const auto& [key, value] : elements) visit(key, value);
  }

 private:
  std::atomic<std::uint64_t> left_{0};
};

static const subject::map<leaves_locked> registered_leaves_locked{"leaves_locked",
                                                                  "a thread leaves with the lock"};

// Says that it has no locks. It has one, and no marked points.
class hides_lock : public flawed_map<hides_lock> {
 public:
  static constexpr bool lock_free = true;
};

static const subject::map<hides_lock> registered_hides_lock{
    "hides_lock", "says that it is lock-free, with a mutex"};

// Without the marked points of assay/locks/spin_lock.h.
template <bool Yields = true>
class unmarked_spin_lock {
 public:
  void lock() {
    // The acquire pairs with the release of unlock().
    while (taken_.exchange(true, std::memory_order_acquire)) {
      if constexpr (Yields) std::this_thread::yield();
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

template <class Lock>
using sound_map_behind = subject::sound_map_of<std::uint64_t, std::uint64_t, Lock>;

// The same, and waits without sleeping.
class hides_spin : public subject::test_map<hides_spin, sound_map_behind<unmarked_spin_lock<>>> {
 public:
  static constexpr bool lock_free = true;
};

static const subject::map<hides_spin> registered_hides_spin{
    "hides_spin", "says that it is lock-free, with a lock that spins"};

// Two locks, which are taken in the other order now and then.
template <class Lock, std::uint64_t one_in>
class two_locks {
 public:
  void lock() {
    const bool other_order = calls_.fetch_add(1, std::memory_order_relaxed) % one_in == one_in - 1;
    locks_.at(other_order ? 1 : 0).lock();
    locks_.at(other_order ? 0 : 1).lock();
  }
  void unlock() {
    for (Lock& each : locks_) each.unlock();
  }

 private:
  std::atomic<std::uint64_t> calls_{0};
  std::array<Lock, 2> locks_;
};

template <class Lock, std::uint64_t one_in = 1'000'000>
class opposite
    : public subject::test_map<opposite<Lock, one_in>, sound_map_behind<two_locks<Lock, one_in>>> {
};

static const subject::map<opposite<std::mutex>> registered_opposite_locks{
    "opposite_locks", "takes two locks in opposite orders once in a million calls"};
static const subject::map<opposite<std::shared_mutex>> registered_opposite_shared_locks{
    "opposite_shared_locks", "the same with std::shared_mutex"};
static const subject::map<opposite<sync::spin_lock>> registered_opposite_spin_locks{
    "opposite_spin_locks", "the same with locks that spin and say so"};
// Chance alone makes threads meet in locks that say nothing.
static const subject::map<opposite<unmarked_spin_lock<true>, 100>>
    registered_opposite_unmarked_locks{
        "opposite_unmarked_locks",
        "the same once in 100 calls, with locks that spin and say nothing"};
static const subject::map<opposite<unmarked_spin_lock<false>, 100>> registered_opposite_busy_locks{
    "opposite_busy_locks",
    "the same once in 100 calls, with locks that spin, say nothing and do not yield"};

// Each fourth thread lets all others go first: before it inserts it waits until for a while no
// other was inside the map.
class starves : public flawed_map<starves> {
 public:
  class handle {
   public:
    explicit handle(starves& map) : map_(&map), polite_(map.attached_++ % 4 == 3) {}
    bool insert(std::uint64_t key, std::uint64_t value) {
      if (polite_) map_->wait_for_silence();
      const counted call(*map_);
      return map_->sound_map::insert(key, value);
    }
    bool erase(std::uint64_t key) {
      const counted call(*map_);
      return map_->sound_map::erase(key);
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const counted call(*map_);
      return map_->sound_map::find(key);
    }

   private:
    starves* map_;
    bool polite_;
  };
  handle attach() { return handle(*this); }

 private:
  class counted {
   public:
    explicit counted(starves& map) : map_(map) { ++map_.inside_; }
    ~counted() {
      ++map_.calls_;
      --map_.inside_;
    }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;

   private:
    starves& map_;
  };
  void wait_for_silence() {
    constexpr int long_enough = 3000;
    std::uint64_t seen = calls_;
    for (int silent = 0; silent < long_enough; ++silent) {
      std::this_thread::yield();
      const std::uint64_t now = calls_;
      if (inside_ > 0 || now != seen) silent = 0;
      seen = now;
    }
  }

  std::atomic<std::uint64_t> attached_{0};
  std::atomic<std::uint64_t> inside_{0};
  std::atomic<std::uint64_t> calls_{0};
};

static const subject::map<starves> registered_starves{
    "starves", "lets one thread of four wait for all others"};

// Keeps a copy of what was erased until it is destroyed.
class keeps_erased : public flawed_map<keeps_erased> {
 public:
  bool erase(std::uint64_t key) {
    const std::scoped_lock lock(mutex);
    if (elements.erase(key) == 0) return false;
    erased_.push_back(std::make_unique<std::uint64_t>(key));
    return true;
  }

 private:
  std::vector<std::unique_ptr<std::uint64_t>> erased_;  // guarded by mutex
};

static const subject::map<keeps_erased> registered_keeps_erased{
    "keeps_erased", "gives memory back only at its end"};

}  // namespace assay::flawed
