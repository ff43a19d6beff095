// Whether a map holds what its answers say that it must hold.

#ifndef ASSAY_TRIAL_VALIDATION_H_
#define ASSAY_TRIAL_VALIDATION_H_

#include <cstdint>
#include <string>

#include "assay/trial/measured_map.h"
#include "assay/trial/tally.h"
#include "assay/workload/key_space.h"

namespace assay::trial {

struct validation {
  contents expected;
  contents found;
  std::uint64_t wrong_values;
  std::uint64_t foreign_keys;  // outside the key space
  bool walk_ended;             // false: it was given up after more elements than there are keys

  // What is wrong, with what was expected and what was found; empty if nothing is.
  [[nodiscard]] std::string problem() const;
};

// Walks through the quiescent map and compares it with `total`, the sum of all threads' operations
// on it.
[[nodiscard]] validation validate(measured_map& map, const workload::key_space& space,
                                  const tally& total);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_VALIDATION_H_
