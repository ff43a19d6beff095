// The atomic types that Assay's own concurrent code is written with.
//
//     assay::atomic<std::uint64_t> epoch{0};
//     epoch.store(1, assay::memory_order_release);
//     assay::plain<std::uint64_t> count = 0;        // one thread's at a time: a plain number
//
// They are the standard's. A model checker of small lock-free cores (relacy) replaces them: a test
// that defines ASSAY_ATOMICS_HEADER gives the header that defines these names instead, and the
// fences of asymmetric_fence.h, and then instantiates the very headers that users include.

#ifndef ASSAY_BASE_ATOMICS_H_
#define ASSAY_BASE_ATOMICS_H_

#include "assay/base/abi.h"

#ifdef ASSAY_ATOMICS_HEADER
#include ASSAY_ATOMICS_HEADER
#else

#include <atomic>

namespace assay {

using std::atomic;
using std::atomic_thread_fence;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

// An object that is not atomic, all of whose uses by different threads are ordered by atomic ones.
// A model checker finds those that are not.
template <class T>
using plain = T;

}  // namespace assay

#endif

#endif  // ASSAY_BASE_ATOMICS_H_
