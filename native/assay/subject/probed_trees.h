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

inline const probe::counter natarajan_mittal_restarts{
    "natarajan_mittal_restarts", "attempts of inserts and erases after their first ones"};
inline const probe::counter natarajan_mittal_helps{"natarajan_mittal_helps",
                                                   "erases that other threads completed"};

inline const probe::counter ticket_bst_restarts{
    "ticket_bst_restarts",
    "attempts of inserts and erases, with hazard pointers of searches too, after their first "
    "ones"};

struct natarajan_mittal_probes : external_tree::no_observer {
  static void restarted() noexcept { natarajan_mittal_restarts.add(); }
  static void helped() noexcept { natarajan_mittal_helps.add(); }
};

struct ticket_probes : external_tree::no_observer {
  static void restarted() noexcept { ticket_bst_restarts.add(); }
};

template <class K, class V, class Reclaim = epochs, class Compare = std::less<K>>
using natarajan_mittal_bst =
    assay::natarajan_mittal_bst<K, V, Reclaim, Compare, natarajan_mittal_probes>;

template <class K, class V, class Reclaim = epochs, class Compare = std::less<K>>
using ticket_bst = assay::ticket_bst<K, V, Reclaim, Compare, ticket_probes>;

}  // namespace assay::probed

#endif  // ASSAY_SUBJECT_PROBED_TREES_H_
