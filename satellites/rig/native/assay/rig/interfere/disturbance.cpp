#include "assay/rig/interfere/disturbance.h"

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>

#include "assay/base/point.h"

namespace assay::rig {
namespace {

thread_local disturbance* of_this_thread = nullptr;

void at_point(const char* point) {
  if (of_this_thread != nullptr) of_this_thread->strike(point);
}

std::int64_t now_ns() {
  struct timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::atomic<std::uint64_t> seed_of_all{0};
std::atomic<std::uint64_t> threads_seen{0};

void at_point_of_any_thread(const char* point) {
  // Both are only numbers: relaxed, as nothing is published by them.
  thread_local disturbance own(
      random::derive_seed(seed_of_all.load(std::memory_order_relaxed),
                          threads_seen.fetch_add(1, std::memory_order_relaxed)));
  own.strike(point);
}

}  // namespace

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("" ::: "memory");
#endif
}

void give_way() {
  constexpr std::int64_t long_ns = 1'000'000;
  constexpr int sleeps = 64;
  // Also read and written by a handler in the same thread.
  thread_local volatile bool gives_way = false;
  thread_local volatile int sleeps_left = 0;
  if (gives_way) return;
  gives_way = true;
  if (sleeps_left > 0) {
    sleeps_left = sleeps_left - 1;
    const struct timespec a_while{.tv_sec = 0, .tv_nsec = 50'000};
    nanosleep(&a_while, nullptr);
  } else {
    const std::int64_t begin = now_ns();
    sched_yield();
    if (now_ns() - begin > long_ns) sleeps_left = sleeps;
  }
  gives_way = false;
}

disturbance::disturbance(std::uint64_t seed) : draw_(seed) {
  constexpr std::array<std::uint64_t, 4> how_often{1, 2, 8, 64};
  constexpr std::array<std::uint64_t, 3> how_long{2, 16, 128};
  one_in_ = how_often.at(draw_() % how_often.size());
  longest_spin_ = how_long.at(draw_() % how_long.size());
  if (randomness() > 0) habits_.emplace(seed, randomness());
}

void disturbance::strike(const char* point) {
  if (habits_) return habits_->pass(point);
  const std::uint64_t drawn = draw_();
  if (drawn % one_in_ != 0) return;
  // Another thread that waits for this processor runs now; one that runs on another processor gets
  // further only if this one spins.
  if ((drawn >> 32) % 4 == 0) {
    give_way();
  } else {
    for (std::uint64_t i = (drawn >> 40) % longest_spin_; i > 0; --i) pause_processor();
  }
}

disturbance::scope::scope(disturbance& mine) { of_this_thread = &mine; }
disturbance::scope::~scope() { of_this_thread = nullptr; }

// Pairs with the load at every point: what a disturbance needs is its own thread's.
disturb_at_points::disturb_at_points() {
  sync::at_points.store(at_point, std::memory_order_release);
}
disturb_at_points::disturb_at_points(std::uint64_t seed) {
  seed_of_all.store(seed, std::memory_order_relaxed);
  sync::at_points.store(at_point_of_any_thread, std::memory_order_release);
}
disturb_at_points::~disturb_at_points() {
  sync::at_points.store(nullptr, std::memory_order_release);
}

}  // namespace assay::rig
