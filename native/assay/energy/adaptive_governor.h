// pappeadapt: measures how much a workload gains from a higher frequency, and sets the one that is cheapest for
// it (Bonnichsen 2016, section 3.1.1, listing 3.1).

#ifndef ASSAY_ENERGY_ADAPTIVE_GOVERNOR_H_
#define ASSAY_ENERGY_ADAPTIVE_GOVERNOR_H_

#include <cstdint>
#include <vector>

#include "assay/energy/governor.h"
#include "assay/energy/training.h"

namespace assay::energy {

struct adaptive_options {
  double exponent = 1;  // of energy * time^exponent, >= 0
};

class adaptive_governor final : public governor {
 public:
  adaptive_governor(const training& trained, const adaptive_options& options);

  [[nodiscard]] decision first() override;
  [[nodiscard]] decision next(const interval& last) override;

 private:
  enum class step : std::uint8_t { high, low, best };

  [[nodiscard]] decision try_high();
  [[nodiscard]] decision use_best(double m);

  struct level {
    kilohertz frequency;
    double watts;
  };

  adaptive_options options_;
  std::vector<level> levels_;
  kilohertz low_;      // f_lo: the cheapest for a program that waits for memory
  kilohertz high_;     // f_hi: for one that computes
  double few_misses_;  // cm_lo: with fewer, a program computes
  step step_ = step::high;
  double high_rate_ = 0;
  kilohertz best_ = 0;
  unsigned left_ = 0;  // intervals with the best frequency before the next experiment
};

}  // namespace assay::energy

#endif  // ASSAY_ENERGY_ADAPTIVE_GOVERNOR_H_
