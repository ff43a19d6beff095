// The search trees of assay/maps, with the probes that every trial reports of them
// (docs/guide/trees.md):
//
//     using tree = assay::probed::ticket_bst<K, V, assay::probed::epochs>;
//
// A program that uses them links assay::probe.

#ifndef ASSAY_SUBJECT_PROBED_TREES_H_
#define ASSAY_SUBJECT_PROBED_TREES_H_

#include <functional>

#include "assay/maps/external_tree.h"
#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/ticket_bst.h"
#include "assay/probe/probe.h"
#include "assay/subject/probed_reclaim.h"

namespace assay::probed {

struct natarajan_mittal_probes : external_tree::no_observer {
  inline static const probe::counter restarts{
      "natarajan_mittal_restarts", "attempts of inserts and erases after their first ones"};
  inline static const probe::counter helps{"natarajan_mittal_helps",
                                           "erases that other threads completed"};

  static void restarted() noexcept { restarts.add(); }
  static void helped() noexcept { helps.add(); }
};

struct ticket_probes : external_tree::no_observer {
  inline static const probe::counter restarts{
      "ticket_bst_restarts",
      "attempts of inserts and erases, with hazard pointers of searches too, after their first "
      "ones"};

  static void restarted() noexcept { restarts.add(); }
};

template <class K, class V, class Reclaim = epochs, class Compare = std::less<K>,
          class Steps = natarajan_mittal_steps>
using natarajan_mittal_bst =
    assay::natarajan_mittal_bst<K, V, Reclaim, Compare, natarajan_mittal_probes, Steps>;

template <class K, class V, class Reclaim = epochs, class Compare = std::less<K>>
using ticket_bst = assay::ticket_bst<K, V, Reclaim, Compare, ticket_probes>;

}  // namespace assay::probed

#endif  // ASSAY_SUBJECT_PROBED_TREES_H_
