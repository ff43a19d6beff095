// What the reclamation policies tell of themselves in every trial (see docs/guide/probes.md).

#ifndef ASSAY_RECLAIM_PROBES_H_
#define ASSAY_RECLAIM_PROBES_H_

#include "assay/probe/probe.h"

namespace assay::reclaim::detail {

inline probe::counter retired_probe{"reclaim_retired", "nodes retired", "nodes"};
inline probe::counter freed_probe{"reclaim_freed", "retired nodes freed", "nodes"};
inline probe::maximum waiting_probe{"reclaim_waiting",
                                    "the most retired nodes seen unfreed in a structure", "nodes"};
inline probe::histogram batch_probe{"reclaim_batch", "retired nodes that become ready at once",
                                    probe::logarithmic(), "nodes"};

}  // namespace assay::reclaim::detail

#endif  // ASSAY_RECLAIM_PROBES_H_
