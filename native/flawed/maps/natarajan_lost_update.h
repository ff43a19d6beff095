// Natarajan and Mittal's tree where an erase reads where the sibling's edge leads before it tags
// that edge. What another thread changes in between is overwritten: an insert below is lost, or the
// mark of an erase. Kharal and Brown (2022, section 4.5.4) report of Synchrobench's version of the
// tree that nodes which were modified are not always updated correctly, and that a sum of the keys
// finds it; this is how that comes about most easily.

#ifndef ASSAY_FLAWED_MAPS_NATARAJAN_LOST_UPDATE_H_
#define ASSAY_FLAWED_MAPS_NATARAJAN_LOST_UPDATE_H_

#include <chrono>
#include <thread>

#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/reclaim/none.h"
#include "flawed_map.h"

namespace assay::flawed {

struct steps_that_read_too_early : natarajan_mittal_steps {
  static external_tree::edge tag_sibling(external_tree::atomic_edge& sibling,
                                         external_tree::edge tag) {
    const external_tree::edge read_too_early = sibling.load(memory_order_acquire);
    ASSAY_POINT("natarajan_lost_update_after_reading");
    // Now and then as if it were preempted here: two threads rarely meet within a few instructions.
    static now_and_then preempted;
    if (preempted()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    sibling.fetch_or(tag, memory_order_acq_rel);
    return read_too_early;
  }
};

// Without reclamation: nodes that come back to life must not have been freed.
template <class K, class V>
using natarajan_lost_update =
    natarajan_mittal_bst<K, V, reclaim::none, std::less<K>, steps_that_read_too_early>;

}  // namespace assay::flawed

#endif  // ASSAY_FLAWED_MAPS_NATARAJAN_LOST_UPDATE_H_
