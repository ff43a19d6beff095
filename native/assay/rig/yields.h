// A thread that waits in a loop and yields in it comes back microseconds later. Those that do not wait
// have the map for themselves meanwhile: steps of two threads that must fall together, within some
// nanoseconds, do not.
//
//     const few_yields waiting_closely;   // while it lives, one at a time in a process
//
// lets a yield do nothing but each 256th time, so that who waits meets whatever others do next.
// Of sched_yield, which std::this_thread::yield is, and not under sanitizers.

#ifndef ASSAY_RIG_YIELDS_H_
#define ASSAY_RIG_YIELDS_H_

namespace assay::rig {

class few_yields {
 public:
  few_yields();
  ~few_yields();
  few_yields(const few_yields&) = delete;
  few_yields& operator=(const few_yields&) = delete;
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_YIELDS_H_
