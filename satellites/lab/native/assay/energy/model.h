// How long a program takes, and what it costs, at a frequency that it was not run at.
//
//     const double m = energy::memory_boundness({1.6, 1.9}, {2.2, 1.5});  // GHz and seconds, twice
//     energy::relative_time(m, 3.6);                                      // to compare with others
//
// A program computes on the processor's chip, in cycles that a higher frequency makes shorter, and
// waits for what is outside, which takes the time that it takes (Bonnichsen 2016, section 3.1,
// equation 1):
//
//     time = outside + cycles / frequency
//
// Divided by the cycles that is m + 1 / frequency (equation 2), with one unknown: m, in nanoseconds
// outside for each cycle on the chip. Two measurements give it (equation 3). 0 is a program that
// computes only, and a large m one that waits for memory only.
//
// Pure functions, for any thread.

#ifndef ASSAY_ENERGY_MODEL_H_
#define ASSAY_ENERGY_MODEL_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace assay::energy {

// How long the same work took at a frequency. Any unit of time, the same in all of a comparison.
struct timed {
  double gigahertz;
  double time;
};

// m of equation 3, in nanoseconds. 0 where the higher frequency gained more than it can by itself,
// as noise has it; infinity where it gained nothing. The two frequencies differ.
[[nodiscard]] inline double memory_boundness(timed one, timed other) {
  if (one.gigahertz > other.gigahertz) std::swap(one, other);
  const double gained = one.time - other.time;
  if (!(gained > 0)) return std::numeric_limits<double>::infinity();
  const double m = (other.time * other.gigahertz - one.time * one.gigahertz) /
                   (one.gigahertz * other.gigahertz * gained);
  return std::max(m, 0.0);
}

// Equation 2: proportional to the time at a frequency. m is finite.
[[nodiscard]] inline double relative_time(double m, double gigahertz) { return m + 1 / gigahertz; }

// The same where work on the chip and waiting overlap, wholly with 1 (Kim et al. 2014), not at all
// with 0.
[[nodiscard]] inline double overlapped_time(double m, double gigahertz, double overlap) {
  return relative_time(m, gigahertz) - overlap * std::min(m, 1 / gigahertz);
}

// Proportional to energy * time^exponent: E with 0, ED with 1, ED^2 with 2. With an infinite m the
// time is the same at all frequencies, and power alone counts.
[[nodiscard]] inline double relative_cost(double watts, double m, double gigahertz,
                                          double exponent) {
  if (std::isinf(m)) return watts;
  return watts * std::pow(relative_time(m, gigahertz), exponent + 1);
}

}  // namespace assay::energy

#endif  // ASSAY_ENERGY_MODEL_H_
