// What every trial reports of the reclamation policies (see docs/guide/probes.md).
//
// Nodes that wait until their domain is destroyed are never counted as freed. Nor are nodes that
// another node's destructor deletes, as the policy does not know them.

#ifndef ASSAY_RECLAIM_PROBES_H_
#define ASSAY_RECLAIM_PROBES_H_

#include "assay/probe/probe.h"

namespace assay::reclaim::probes {

inline probe::counter retired{"reclaim_retired", "nodes retired", "nodes"};
inline probe::counter freed{"reclaim_freed", "retired nodes freed", "nodes"};
inline probe::maximum waiting{"reclaim_waiting",
                              "the most retired nodes seen unfreed in a structure", "nodes"};
inline probe::histogram batch{"reclaim_batch", "retired nodes that become ready at once",
                              probe::logarithmic(), "nodes"};

}  // namespace assay::reclaim::probes

#endif  // ASSAY_RECLAIM_PROBES_H_
