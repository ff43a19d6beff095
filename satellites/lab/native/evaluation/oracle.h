// The frequencies that are best for a program on a simulated machine, by its true equations.
//
// E * D^N of the whole program is least where, for some price L of a second, each phase has the
// frequency of least watts * seconds + L * seconds, and L = N * E / D: that is the derivative of
// log E + N log D. The price is found by iterating, from each static frequency's; the best of what
// comes out is taken.

#ifndef EVALUATION_ORACLE_H_
#define EVALUATION_ORACLE_H_

#include <vector>

#include "assay/energy/simulated_machine.h"

namespace assay::energy {

// What a whole run costs at steady temperatures.
struct run_cost {
  double joules;
  double seconds;
};

// With all domains at a frequency for each phase.
[[nodiscard]] run_cost steady_cost(const simulated_hardware& hardware, const program& of,
                                   const std::vector<kilohertz>& of_phases);

// For each phase, of the frequencies that the hardware has.
[[nodiscard]] std::vector<kilohertz> best_frequencies(const simulated_hardware& hardware,
                                                      const program& of, double exponent);

}  // namespace assay::energy

#endif  // EVALUATION_ORACLE_H_
