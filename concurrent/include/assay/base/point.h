// Marked points: where a test may delay, preempt or suspend a thread inside a concurrent algorithm.
//
//     ASSAY_POINT("bst_insert_before_swing");
//
// is put between two steps whose order other threads can see. Normally it does nothing at all. A
// test compiled with ASSAY_POINTS=1 sets a hook, which every thread then calls at every point that
// it passes, with the point's name:
//
//     assay::sync::at_points = [](const char* point) { if (lucky()) std::this_thread::yield(); };
//
// A lock that is not made of a std::mutex says who takes it, so that a test knows who waits for
// whom:
//
//     ASSAY_LOCK_STEP(wanted, this);    // before a thread waits for it; not in try_lock()
//     ASSAY_LOCK_STEP(taken, this);     // when it has it
//     ASSAY_LOCK_STEP(released, this);  // before it gives it back
//
// All files of a program that include the same marked headers are compiled alike.

#ifndef ASSAY_BASE_POINT_H_
#define ASSAY_BASE_POINT_H_

#ifndef ASSAY_POINTS
#define ASSAY_POINTS 0
#endif

#if ASSAY_POINTS

#include <atomic>
#include <cstdint>

namespace assay::sync {

using point_hook = void (*)(const char* point);

// What threads call at marked points; null for nothing. Set it with release, which pairs with (1),
// or while no marked code runs.
inline std::atomic<point_hook> at_points{nullptr};

inline void pass_point(const char* point) {
  // (1) acquire: pairs with the release by which a hook is set, so that the hook sees what was made
  // for it before.
  if (const point_hook hook = at_points.load(std::memory_order_acquire)) hook(point);
}

enum class lock_step : std::uint8_t { wanted, taken, released };
using lock_hook = void (*)(lock_step step, const void* lock);

// As at_points, for what locks say.
inline std::atomic<lock_hook> at_locks{nullptr};

inline void pass_lock(lock_step step, const void* lock) {
  // (1) as in pass_point().
  if (const lock_hook hook = at_locks.load(std::memory_order_acquire)) hook(step, lock);
}

}  // namespace assay::sync

#define ASSAY_POINT(name) ::assay::sync::pass_point(name)
#define ASSAY_LOCK_STEP(step, lock) ::assay::sync::pass_lock(::assay::sync::lock_step::step, lock)
#else
#define ASSAY_POINT(name) static_cast<void>(0)
#define ASSAY_LOCK_STEP(step, lock) static_cast<void>(0)
#endif

#endif  // ASSAY_BASE_POINT_H_
