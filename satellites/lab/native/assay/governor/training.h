// What is found out about a machine before it is governed (Bonnichsen 2016, section 3.1.1): how
// much power a program that computes and one that waits for memory take at each frequency, and how
// fast they are.

#ifndef ASSAY_GOVERNOR_TRAINING_H_
#define ASSAY_GOVERNOR_TRAINING_H_

#include <string>
#include <vector>

#include "assay/energy/platform.h"

namespace assay::energy {

// A load that ran for a while at a frequency.
struct trained {
  load which;
  unsigned processors;  // busy with it
  kilohertz frequency;
  double watts;  // of the whole machine
  double instructions_per_second;
  double cache_misses_per_second;
};

struct training {
  std::string machine;  // platform::machine()
  std::vector<trained> measured;
};

struct training_options {
  double seconds = 1;                   // of each load at each frequency
  std::vector<unsigned> processors{1};  // numbers of processors to train for
  // All is measured again, each time after the other points, until the standard error of every mean
  // of watts and instructions is at most this share of it (section 3.4: training output
  // reliability). 0: once.
  double converged_within = 0;
  unsigned most_rounds = 100;
};

// All domains have the same frequencies as the first. Throws platform_error, also where the
// platform has no counter of energy. Takes 2 * frequencies * numbers of processors * seconds, times
// the rounds, of which there are at least 3 if it is to converge. Throws if it has not after
// most_rounds.
[[nodiscard]] training train(platform& machine, const training_options& options);

// For energy * time^exponent: among the trained frequencies, the one at which a load with this many
// processors costs least; and its power at a frequency. The number of processors is one that was
// trained for.
[[nodiscard]] kilohertz best_trained(const training& of, load which, unsigned processors,
                                     double exponent);
[[nodiscard]] double trained_watts(const training& of, load which, unsigned processors,
                                   kilohertz frequency);

}  // namespace assay::energy

#endif  // ASSAY_GOVERNOR_TRAINING_H_
