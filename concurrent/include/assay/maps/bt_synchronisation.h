// How the threads of a bt_map.h keep out of each other's way: a policy over one algorithm.
//
//     assay::bt_map<K, V> map;                                     // bt::optimistic, the default
//     struct coarse : assay::bt_policies<K> {
//       using synchronisation = assay::bt::coarse<std::mutex>;
//     };
//     assay::bt_map<K, V, coarse> locked;
//
//     optimistic             each node has a lock (locks/optimistic_lock.h), which searches only
//                            read
//     optimistic_replacing   the same, but balancing replaces a parent as well, as the thesis has
//                            it, instead of changing it where it is
//     coarse<Lock>           one lock; each operation is one critical section, or several where it
//                            balances, made so that few instructions change little memory late
//                            (Bonnichsen 2016, section 5.1)
//
// `Lock` is any type with lock() and unlock(). With sync::elided_lock (locks/elided_lock.h)
// sections run at the same time where the processor has transactions.

#ifndef ASSAY_MAPS_BT_SYNCHRONISATION_H_
#define ASSAY_MAPS_BT_SYNCHRONISATION_H_

#include <concepts>
#include <cstdint>

#include "assay/base/abi.h"
#include "assay/base/point.h"
#include "assay/locks/optimistic_lock.h"

namespace assay::bt::inline ASSAY_ABI {

struct optimistic {
  static constexpr bool is_coarse = false;
  static constexpr bool replaces_parents = false;
  using node_lock = sync::optimistic_lock;

  // Whether the calling thread is in an operation that is a transaction of the processor.
  [[nodiscard]] static bool in_transaction() noexcept { return false; }

  // What all threads share, and a critical section of it.
  struct shared {};
  struct section {
    explicit section(shared& /*unused*/) {}
    ~section() {}  // NOLINT(modernize-use-equals-default): else compilers call it unused
    section(const section&) = delete;
    section& operator=(const section&) = delete;
  };
};

struct optimistic_replacing : optimistic {
  static constexpr bool replaces_parents = true;
};

// The lock of a node that needs none, as all that is done to it is done in critical sections.
class no_node_lock {
 public:
  using version = std::uint64_t;

  [[nodiscard]] static version read() noexcept { return 0; }
  [[nodiscard]] static bool is_free(version /*seen*/) noexcept { return true; }
  [[nodiscard]] static bool validate(version /*seen*/) noexcept { return true; }
  static void all_read() noexcept {}
  [[nodiscard]] static bool try_lock(version /*seen*/) noexcept { return true; }
  static void unlock() noexcept {}
  static void unlock_unchanged() noexcept {}
  static void unlock_obsolete() noexcept {}
};

template <class Lock>
struct coarse {
  static_assert(
      requires(Lock lock) { lock.lock(), lock.unlock(); },
      "bt::coarse needs a lock: a type with lock() and unlock(), such as std::mutex.");

  static constexpr bool is_coarse = true;
  // The write that takes effect is the last one (guideline 4).
  static constexpr bool replaces_parents = true;
  using node_lock = no_node_lock;

  [[nodiscard]] static bool in_transaction() noexcept {
    if constexpr (requires { Lock::in_transaction(); }) return Lock::in_transaction();
    return false;
  }

  struct alignas(64) shared {
    Lock lock;
  };
  class section {
   public:
    explicit section(shared& of) : held_(acquired(of.lock)) {}
    ~section() { held_.unlock(); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

   private:
    static Lock& acquired(Lock& lock) {
#if ASSAY_POINTS
      // So that a test sees who waits.
      if constexpr (requires { lock.try_lock(); }) {
        while (!lock.try_lock()) ASSAY_POINT("bt_map_section_waits");
        return lock;
      }
#endif
      lock.lock();
      return lock;
    }

    Lock& held_;
  };
};

// What `synchronisation` of bt_map's policies may be: the three above.
template <class T>
concept synchronisation = requires(typename T::shared& shared, typename T::node_lock& lock) {
  typename T::section;
  lock.try_lock(lock.read());
  { T::is_coarse } -> std::convertible_to<bool>;
  { T::replaces_parents } -> std::convertible_to<bool>;
  { T::in_transaction() } -> std::same_as<bool>;
};

}  // namespace assay::bt::inline ASSAY_ABI

#endif  // ASSAY_MAPS_BT_SYNCHRONISATION_H_
