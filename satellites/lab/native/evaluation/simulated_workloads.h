// 54 programs for a simulated machine, called and shaped as those that Bonnichsen (2016,
// section 3.2) measured: of SPEC2006, PARSEC 3.0, SPLASH-2x and NPB 3.3.1, less those that were
// excluded there. They are not these programs: which of them wait for memory, which have serial
// parts and which have phases is common knowledge about the suites (of SPEC2006, misses by Jaleel
// 2010 and phases by Sembrant et al. 2011; of PARSEC, Bienia et al. 2008; of SPLASH-2, Woo et al.
// 1995); the figures are ours.

#ifndef EVALUATION_SIMULATED_WORKLOADS_H_
#define EVALUATION_SIMULATED_WORKLOADS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/energy/simulated_machine.h"

namespace assay::energy {

[[nodiscard]] const std::vector<program>& simulated_workloads();

// As many others, by a seed: half of them with one thread, of one to three phases that are repeated
// up to six times, and everything else from ranges a little wider than those of the 54. No governor
// was made with them in view.
[[nodiscard]] std::vector<program> drawn_workloads(std::uint64_t seed);

// Throws platform_error.
[[nodiscard]] const program& simulated_workload_named(std::string_view name);

}  // namespace assay::energy

#endif  // EVALUATION_SIMULATED_WORKLOADS_H_
