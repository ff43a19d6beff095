#include "assay/rig/watch/lock_order.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "assay/base/point.h"
#include "assay/base/sanitizers.h"
#include "assay/random/splitmix64.h"

namespace assay::rig {
namespace {

// Only numbers are exchanged here, and nothing is published by them: relaxed throughout.
constexpr auto relaxed = std::memory_order_relaxed;

// The orders seen, each as a number made of two addresses. What finds no place is not noted.
std::array<std::atomic<std::uint64_t>, 4096> orders{};
std::atomic<bool> active{false};
std::atomic<unsigned> stops_left{0};

// What a thread holds, the last at the end, and what it waits for. Written by that thread alone.
struct alignas(64) locks_of_thread {
  std::atomic<pid_t> thread{0};
  std::atomic<const void*> wanted{nullptr};
  std::array<std::atomic<const void*>, 8> held{};
  std::atomic<std::size_t> size{0};
};

// The threads that took locks since notes began. Further ones are not watched.
std::array<locks_of_thread, 64> threads{};
std::atomic<std::size_t> threads_seen{0};
std::atomic<std::uint64_t> period{0};  // a number for each time that notes began

locks_of_thread* of_this_thread() {
  thread_local locks_of_thread* mine = nullptr;
  thread_local std::uint64_t since = 0;
  if (const std::uint64_t now = period.load(relaxed); since != now) {
    const std::size_t at = threads_seen.fetch_add(1, relaxed);
    mine = at < threads.size() ? &threads.at(at) : nullptr;
    if (mine != nullptr) mine->thread.store(gettid(), relaxed);
    since = now;
  }
  return mine;
}

std::uint64_t order_of(const void* first, const void* second) {
  const auto a = reinterpret_cast<std::uintptr_t>(first);
  const auto b = reinterpret_cast<std::uintptr_t>(second);
  return random::mix64(a + random::mix64(b)) | 1U;  // never 0
}

// Whether the order is noted there. Afterwards it is, if it is to be noted.
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
  locks_of_thread* const mine = of_this_thread();
  if (mine == nullptr) return;
  bool against = false;
  for (std::size_t i = 0; i < mine->size.load(relaxed); ++i) {
    const void* const held = mine->held.at(i).load(relaxed);
    if (held == lock) continue;
    find(order_of(held, lock), true);
    against = against || find(order_of(lock, held), false);
  }
  if (against) stop_for_a_while();
  mine->wanted.store(lock, relaxed);
}

void after_taking(const void* lock) {
  locks_of_thread* const mine = of_this_thread();
  if (mine == nullptr) return;
  mine->wanted.store(nullptr, relaxed);
  const std::size_t size = mine->size.load(relaxed);
  if (size == mine->held.size()) return;
  mine->held.at(size).store(lock, relaxed);
  mine->size.store(size + 1, relaxed);
}

void before_releasing(const void* lock) {
  locks_of_thread* const mine = of_this_thread();
  if (mine == nullptr) return;
  for (std::size_t i = mine->size.load(relaxed); i-- > 0;) {
    if (mine->held.at(i).load(relaxed) != lock) continue;
    const std::size_t size = mine->size.load(relaxed) - 1;
    for (; i < size; ++i) mine->held.at(i).store(mine->held.at(i + 1).load(relaxed), relaxed);
    mine->size.store(size, relaxed);
    return;
  }
}

void at_lock(sync::lock_step step, const void* lock) {
  switch (step) {
    case sync::lock_step::wanted:
      return before_taking(lock);
    case sync::lock_step::taken:
      return after_taking(lock);
    case sync::lock_step::released:
      return before_releasing(lock);
  }
}

}  // namespace

provoked_deadlocks::provoked_deadlocks() {
  constexpr unsigned most_stops = 100;
  for (auto& order : orders) order.store(0, relaxed);
  for (auto& one : threads) {
    one.thread.store(0, relaxed);
    one.wanted.store(nullptr, relaxed);
    one.size.store(0, relaxed);
  }
  threads_seen.store(0, relaxed);
  period.fetch_add(1, relaxed);
  stops_left.store(most_stops, relaxed);
  active.store(true, relaxed);
  sync::at_locks.store(at_lock, std::memory_order_release);
}

provoked_deadlocks::~provoked_deadlocks() {
  sync::at_locks.store(nullptr, std::memory_order_release);
  active.store(false, relaxed);
}

std::optional<pid_t> holder_of_lock_wanted_by(pid_t thread) {
  if (!active.load(relaxed)) return {};
  const auto waiting = std::ranges::find_if(
      threads, [&](const auto& one) { return one.thread.load(relaxed) == thread; });
  if (waiting == threads.end()) return {};
  const void* const wanted = waiting->wanted.load(relaxed);
  if (wanted == nullptr) return {};
  for (const auto& one : threads) {
    for (std::size_t i = 0; i < one.size.load(relaxed); ++i) {
      if (one.held.at(i).load(relaxed) == wanted) return one.thread.load(relaxed);
    }
  }
  return {};
}

}  // namespace assay::rig

#if !ASSAY_ADDRESS_SANITIZER && !ASSAY_THREAD_SANITIZER

namespace assay::rig {
namespace {

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
  if (active.load(relaxed)) before_releasing(lock);
  return release_it(lock);
}

}  // namespace
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
