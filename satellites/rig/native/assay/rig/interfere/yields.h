// A thread that waits in a loop and yields comes back microseconds later. Meanwhile the other
// threads have the map to themselves: steps of two threads that must meet within some nanoseconds
// do not.
//
//     const suppress_yields waiting_closely;   // while it lives, one at a time in a process
//
// makes only each 256th yield take effect, so that a waiting thread meets what others do next.
// It replaces sched_yield, which std::this_thread::yield calls, but not under sanitizers.

#ifndef ASSAY_RIG_INTERFERE_YIELDS_H_
#define ASSAY_RIG_INTERFERE_YIELDS_H_

namespace assay::rig {

class suppress_yields {
 public:
  suppress_yields();
  ~suppress_yields();
  suppress_yields(const suppress_yields&) = delete;
  suppress_yields& operator=(const suppress_yields&) = delete;
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_INTERFERE_YIELDS_H_
