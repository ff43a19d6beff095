#include "assay/energy/training.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace assay::energy {

training train(platform& machine, const training_options& options) {
  training found{.machine = machine.machine(), .measured = {}};
  const std::vector<domain>& domains = machine.domains();
  for (const load which : {load::compute, load::memory}) {
    for (const unsigned processors : options.processors) {
      machine.begin_load(which, processors);
      for (const kilohertz frequency : domains.front().frequencies) {
        for (std::size_t i = 0; i < domains.size(); ++i) machine.set(i, frequency);
        const reading before = machine.read();
        machine.wait(options.seconds);
        const reading after = machine.read();
        if (!before.joules || !after.joules) {
          throw platform_error("training needs a counter of energy, and this machine has none");
        }
        const double seconds = after.seconds - before.seconds;
        trained one{.which = which,
                    .processors = processors,
                    .frequency = frequency,
                    .watts = (*after.joules - *before.joules) / seconds,
                    .instructions_per_second = 0,
                    .cache_misses_per_second = 0};
        for (std::size_t i = 0; i < domains.size(); ++i) {
          one.instructions_per_second +=
              (after.domains[i].instructions - before.domains[i].instructions) / seconds;
          one.cache_misses_per_second +=
              (after.domains[i].cache_misses - before.domains[i].cache_misses) / seconds;
        }
        found.measured.push_back(one);
      }
      machine.end_load();
    }
  }
  return found;
}

kilohertz best_trained(const training& of, load which, unsigned processors, double exponent) {
  double least = std::numeric_limits<double>::infinity();
  kilohertz best = 0;
  for (const trained& one : of.measured) {
    if (one.which != which || one.processors != processors) continue;
    const double cost = one.watts / std::pow(one.instructions_per_second, exponent + 1);
    if (cost < least) {
      least = cost;
      best = one.frequency;
    }
  }
  return best;
}

double trained_watts(const training& of, load which, unsigned processors, kilohertz frequency) {
  for (const trained& one : of.measured) {
    if (one.which == which && one.processors == processors && one.frequency == frequency) {
      return one.watts;
    }
  }
  throw platform_error("the training has no measurement at " + std::to_string(frequency) + " kHz");
}

}  // namespace assay::energy
