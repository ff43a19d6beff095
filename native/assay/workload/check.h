// Whether a distribution can be drawn from, before anything runs.

#ifndef ASSAY_WORKLOAD_CHECK_H_
#define ASSAY_WORKLOAD_CHECK_H_

#include <cstdint>

#include "assay/workload/options.h"

namespace assay::workload {

// Throws std::invalid_argument with a message that names the member at fault and says what it must
// be, as "exponent must be a number of at least 0, not -1".
void check(const distribution& keys, std::uint64_t range);

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_CHECK_H_
