#include "evaluation/oracle.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace assay::energy {
namespace {

constexpr int most_iterations = 20;  // of the price; it settles after two or three

run_cost cost_of(const simulated_hardware& hardware, const phase& of, kilohertz frequency) {
  const std::vector<kilohertz> all(hardware.shared_domain ? 1 : hardware.cores, frequency);
  const operation does = steady_operation(hardware, of, all);
  const double seconds = of.instructions / does.instructions_per_second;
  return {does.watts * seconds, seconds};
}

}  // namespace

run_cost steady_cost(const simulated_hardware& hardware, const program& of,
                     const std::vector<kilohertz>& of_phases) {
  run_cost sum{0, 0};
  for (std::size_t i = 0; i < of.phases.size(); ++i) {
    const run_cost one = cost_of(hardware, of.phases[i], of_phases[i]);
    sum.joules += one.joules * of.rounds;
    sum.seconds += one.seconds * of.rounds;
  }
  return sum;
}

std::vector<kilohertz> best_frequencies(const simulated_hardware& hardware, const program& of,
                                        double exponent) {
  std::vector<std::vector<run_cost>> costs;  // of each phase, at each frequency
  for (const phase& one : of.phases) {
    auto& here = costs.emplace_back();
    for (const voltage_step& step : hardware.steps) {
      here.push_back(cost_of(hardware, one, step.frequency));
    }
  }
  std::vector<kilohertz> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t start = 0; start < hardware.steps.size(); ++start) {
    std::vector<std::size_t> chosen(of.phases.size(), start);
    for (int i = 0; i < most_iterations; ++i) {
      run_cost sum{0, 0};
      for (std::size_t p = 0; p < chosen.size(); ++p) {
        sum.joules += costs[p][chosen[p]].joules;
        sum.seconds += costs[p][chosen[p]].seconds;
      }
      const double product = sum.joules * std::pow(sum.seconds, exponent);
      if (product < least) {
        least = product;
        best.clear();
        for (const std::size_t step : chosen) best.push_back(hardware.steps[step].frequency);
      }
      const double price = exponent * sum.joules / sum.seconds;
      const std::vector<std::size_t> before = chosen;
      for (std::size_t p = 0; p < chosen.size(); ++p) {
        double lowest = std::numeric_limits<double>::infinity();
        for (std::size_t step = 0; step < hardware.steps.size(); ++step) {
          const double cost = costs[p][step].joules + price * costs[p][step].seconds;
          if (cost < lowest) {
            lowest = cost;
            chosen[p] = step;
          }
        }
      }
      if (chosen == before) break;
    }
  }
  return best;
}

}  // namespace assay::energy
