// Natarajan and Mittal's tree with the memory reclamation that its paper sketches: the thread that
// removes a chain retires the parent and the leaf of its own erase. What else was in the chain is
// never freed (Kharal and Brown 2022, section 5). It takes two erases of neighbours at the same
// time, so that a single thread leaks nothing; all answers are right.

#ifndef ASSAY_FLAWED_MAPS_NATARAJAN_LEAKS_H_
#define ASSAY_FLAWED_MAPS_NATARAJAN_LEAKS_H_

#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/none.h"

namespace assay::flawed {

struct steps_that_leak_chains : natarajan_mittal_steps {
  template <class Node, class Guard>
  static void retire_in_chain([[maybe_unused]] Node* node, Guard& /*guard*/) {
#if ASSAY_LEAKS_ARE_FOUND
    __lsan_ignore_object(node);  // the leak is meant
#endif
  }
};

template <class K, class V>
using natarajan_leaks =
    natarajan_mittal_bst<K, V, reclaim::epochs, std::less<K>, steps_that_leak_chains>;

}  // namespace assay::flawed

#endif  // ASSAY_FLAWED_MAPS_NATARAJAN_LEAKS_H_
