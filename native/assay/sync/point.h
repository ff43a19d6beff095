// Marked points: where a test may delay, preempt or suspend a thread inside a concurrent algorithm.
//
//     ASSAY_POINT("bst_insert_before_swing");
//
// stands between two steps whose order other threads can see. Normally it does nothing at all. A
// test compiled with ASSAY_POINTS=1 sets a hook, which every thread then calls at every point that
// it passes, with the point's name:
//
//     assay::sync::at_points = [](const char* point) { if (lucky()) std::this_thread::yield(); };
//
// All files of a program that include the same marked headers are compiled alike.

#ifndef ASSAY_SYNC_POINT_H_
#define ASSAY_SYNC_POINT_H_

#ifndef ASSAY_POINTS
#define ASSAY_POINTS 0
#endif

#if ASSAY_POINTS

#include <atomic>

namespace assay::sync {

using point_hook = void (*)(const char* point);

// What threads call at marked points; null for nothing. Set while no marked code runs, or
// atomically.
inline std::atomic<point_hook> at_points{nullptr};

inline void pass_point(const char* point) {
  // Pairs with whatever order the test that set the hook needs: nothing is published through it.
  if (const point_hook hook = at_points.load(std::memory_order_acquire)) hook(point);
}

}  // namespace assay::sync

#define ASSAY_POINT(name) ::assay::sync::pass_point(name)
#else
#define ASSAY_POINT(name) static_cast<void>(0)
#endif

#endif  // ASSAY_SYNC_POINT_H_
