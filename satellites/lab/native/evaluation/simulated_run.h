// A workload on a simulated machine under a governor, by their names: what an evaluation is made
// of.
//
//     const simulated_bench bench(simulated_xeon(), 42);
//     bench.run(simulated_workload_named("429.mcf"), "adaptive", 1, 7).joules;

#ifndef EVALUATION_SIMULATED_RUN_H_
#define EVALUATION_SIMULATED_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "assay/energy/simulated_machine.h"
#include "assay/governor/adaptive_governor.h"
#include "assay/governor/training.h"
#include "evaluation/oracle.h"

namespace assay::energy {

// The improvements of section 3.4.
struct improvements {
  bool for_parallelism = false;
  bool converged_training = false;
  bool cheaper_experiments = false;
  bool precise = false;
  bool overlap = false;
};

// `listing` has none and `adaptive` all; `listing+NAME` one of them, and `adaptive-NAME` all but
// that, which is one of parallelism, training, experiments, precision and overlap. Anything else:
// none that is adaptive, and false.
[[nodiscard]] bool improvements_named(std::string_view name, improvements& found);

// A wrong model: what was trained or assumed is multiplied by these factors, to show how sensitive
// results are to it.
struct mistakes {
  double dynamic_power = 1;     // trained watts above those of the lowest frequency
  double memory_boundness = 1;  // m of all hypotheses
  double overlap = 1;
};

class simulated_bench {
 public:
  // Trains, once by the paper's procedure and once with all that improves training. Throws
  // platform_error.
  simulated_bench(simulated_hardware hardware, std::uint64_t seed);

  // The cost of the whole run, without noise. Governors are the adaptive ones; `static-MHZ`;
  // `oracle`; and those of rival_named(). Throws platform_error.
  [[nodiscard]] run_cost run(const program& workload, std::string_view governor, double exponent,
                             std::uint64_t seed) const;
  [[nodiscard]] run_cost run(const program& workload, std::string_view governor, double exponent,
                             std::uint64_t seed, const mistakes& made) const;

  [[nodiscard]] const simulated_hardware& hardware() const { return hardware_; }
  [[nodiscard]] const training& trained() const { return improved_; }

 private:
  simulated_hardware hardware_;
  training once_;
  training converged_;
  training improved_;  // converged, for several numbers of processors
  training parallel_;
};

}  // namespace assay::energy

#endif  // EVALUATION_SIMULATED_RUN_H_
