// The reclamation policies of assay/reclaim, with the probes that every trial reports of them
// (docs/guide/probes.md):
//
//     using tree = assay::ticket_bst<K, V, assay::probed::epochs>;
//
// A program that uses them links assay::probe.

#ifndef ASSAY_SUBJECT_PROBED_RECLAIM_H_
#define ASSAY_SUBJECT_PROBED_RECLAIM_H_

#include <cstdint>

#include "assay/probe/probe.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/garbage_sets.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"
#include "assay/reclaim/observer.h"

namespace assay::probed {

inline const probe::counter nodes_retired{"reclaim_retired", "nodes retired", "nodes"};
inline const probe::counter nodes_freed{"reclaim_freed", "retired nodes freed", "nodes"};
inline const probe::maximum nodes_waiting{
    "reclaim_waiting", "the most retired nodes seen unfreed in a structure", "nodes"};
inline const probe::histogram batches{"reclaim_batch", "retired nodes that become ready at once",
                                      probe::logarithmic(), "nodes"};

struct reclaim_probes {
  static void retired() noexcept { nodes_retired.add(); }
  static void freed(std::uint64_t nodes) noexcept { nodes_freed.add(nodes); }
  static void waiting(std::uint64_t nodes) noexcept { nodes_waiting.record(nodes); }
  static void batch(std::uint64_t nodes) noexcept { batches.record(nodes); }
};

// The settings of a policy, with these probes.
template <class Settings>
struct with_probes : Settings {
  using observer = reclaim_probes;
};

using epochs = reclaim::basic_epochs<with_probes<reclaim::epochs_settings>>;
using hazard_pointers =
    reclaim::basic_hazard_pointers<with_probes<reclaim::hazard_pointers_settings>>;
using garbage_sets = reclaim::basic_garbage_sets<with_probes<reclaim::garbage_sets_settings>>;
using none = reclaim::basic_none<with_probes<reclaim::none_settings>>;

}  // namespace assay::probed

#endif  // ASSAY_SUBJECT_PROBED_RECLAIM_H_
