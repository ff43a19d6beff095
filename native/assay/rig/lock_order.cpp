#include "assay/rig/lock_order.h"

#include "assay/sync/sanitizers.h"

#if ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER

namespace assay::rig {

provoked_deadlocks::provoked_deadlocks() = default;
provoked_deadlocks::~provoked_deadlocks() = default;

}  // namespace assay::rig

#else

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "assay/random/splitmix64.h"

namespace assay::rig {
namespace {

// Only numbers are exchanged here, and nothing is published by them: relaxed throughout.
constexpr auto relaxed = std::memory_order_relaxed;

// The orders seen, each as a number made of two addresses. What finds no place is not noted.
std::array<std::atomic<std::uint64_t>, 4096> orders{};
std::atomic<bool> active{false};
std::atomic<unsigned> stops_left{0};

// What this thread holds, the last at the end.
struct held_locks {
  std::array<const void*, 8> all{};
  std::size_t size = 0;
};
thread_local held_locks held;

std::uint64_t order_of(const void* first, const void* second) {
  const auto a = reinterpret_cast<std::uintptr_t>(first);
  const auto b = reinterpret_cast<std::uintptr_t>(second);
  return random::mix64(a + random::mix64(b)) | 1U;  // never 0
}

// Whether the order stands there; it does afterwards if it is to be noted.
bool find(std::uint64_t order, bool note) {
  for (std::size_t i = 0; i < 8; ++i) {
    auto& place = orders.at((order / 2 + i) % orders.size());
    std::uint64_t seen = place.load(relaxed);
    if (seen == 0 && note && place.compare_exchange_strong(seen, order, relaxed)) return true;
    if (seen == order) return true;
    if (seen == 0) return false;
  }
  return false;
}

void stop_for_a_while() {
  unsigned left = stops_left.load(relaxed);
  while (left > 0 && !stops_left.compare_exchange_weak(left, left - 1, relaxed)) {
  }
  if (left == 0) return;
  const struct timespec a_while{.tv_sec = 0, .tv_nsec = 2'000'000};
  nanosleep(&a_while, nullptr);
}

void before_taking(const void* lock) {
  bool against = false;
  for (std::size_t i = 0; i < held.size; ++i) {
    if (held.all.at(i) == lock) continue;
    find(order_of(held.all.at(i), lock), true);
    against = against || find(order_of(lock, held.all.at(i)), false);
  }
  if (against) stop_for_a_while();
}

void after_taking(const void* lock) {
  if (held.size < held.all.size()) held.all.at(held.size++) = lock;
}

void before_releasing(const void* lock) {
  for (std::size_t i = held.size; i-- > 0;) {
    if (held.all.at(i) != lock) continue;
    for (--held.size; i < held.size; ++i) held.all.at(i) = held.all.at(i + 1);
    return;
  }
}

// The C library's own.
template <class Lock>
using function_of = int (*)(Lock*);
template <class Lock>
function_of<Lock> original(const char* name) {
  return reinterpret_cast<function_of<Lock> >(dlsym(RTLD_NEXT, name));
}

template <class Lock>
int take(function_of<Lock> take_it, Lock* lock) {
  if (!active.load(relaxed)) return take_it(lock);
  before_taking(lock);
  const int status = take_it(lock);
  if (status == 0) after_taking(lock);
  return status;
}

template <class Lock>
int try_to_take(function_of<Lock> try_it, Lock* lock) {
  const int status = try_it(lock);
  if (status == 0 && active.load(relaxed)) after_taking(lock);
  return status;
}

template <class Lock>
int release(function_of<Lock> release_it, Lock* lock) {
  if (held.size > 0) before_releasing(lock);
  return release_it(lock);
}

}  // namespace

provoked_deadlocks::provoked_deadlocks() {
  constexpr unsigned most_stops = 100;
  for (auto& order : orders) order.store(0, relaxed);
  stops_left.store(most_stops, relaxed);
  active.store(true, relaxed);
}

provoked_deadlocks::~provoked_deadlocks() { active.store(false, relaxed); }

}  // namespace assay::rig

// In place of the C library's, for what is compiled into the program. What is taken while nothing
// is noted is not known to be held.

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto original = assay::rig::original<pthread_mutex_t>("pthread_mutex_lock");
  return assay::rig::take(original, mutex);
}

extern "C" int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  static const auto original = assay::rig::original<pthread_mutex_t>("pthread_mutex_trylock");
  return assay::rig::try_to_take(original, mutex);
}

extern "C" int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  static const auto original = assay::rig::original<pthread_mutex_t>("pthread_mutex_unlock");
  return assay::rig::release(original, mutex);
}

// Who holds one of these together with others is taken for its only holder: where two share both of
// their locks there is no deadlock, and who stops has lost two milliseconds.
extern "C" int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  static const auto original = assay::rig::original<pthread_rwlock_t>("pthread_rwlock_wrlock");
  return assay::rig::take(original, lock);
}

extern "C" int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static const auto original = assay::rig::original<pthread_rwlock_t>("pthread_rwlock_rdlock");
  return assay::rig::take(original, lock);
}

extern "C" int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  static const auto original = assay::rig::original<pthread_rwlock_t>("pthread_rwlock_trywrlock");
  return assay::rig::try_to_take(original, lock);
}

extern "C" int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  static const auto original = assay::rig::original<pthread_rwlock_t>("pthread_rwlock_tryrdlock");
  return assay::rig::try_to_take(original, lock);
}

extern "C" int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  static const auto original = assay::rig::original<pthread_rwlock_t>("pthread_rwlock_unlock");
  return assay::rig::release(original, lock);
}

#endif
