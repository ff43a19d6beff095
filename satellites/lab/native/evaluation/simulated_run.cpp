#include "evaluation/simulated_run.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "assay/governor/governor.h"
#include "assay/random/splitmix64.h"
#include "evaluation/rival_governors.h"

namespace assay::energy {
namespace {

constexpr double settled_within = 0.01;

training trained_for(const simulated_hardware& hardware, std::uint64_t seed,
                     const std::vector<unsigned>& processors, double converged_within) {
  simulated_machine machine(hardware, seed);
  return train(machine, {.seconds = 1,
                         .processors = processors,
                         .converged_within = converged_within,
                         .most_rounds = 1000});
}

// 1, 2, 4, ... and all.
std::vector<unsigned> numbers_of_processors(const simulated_hardware& hardware) {
  const unsigned all = hardware.cores * hardware.threads_per_core;
  std::vector<unsigned> numbers;
  for (unsigned one = 1; one < all; one *= 2) numbers.push_back(one);
  numbers.push_back(all);
  return numbers;
}

training with_wrong_power(training of, double factor) {
  for (trained& one : of.measured) {
    double lowest = 0;
    kilohertz least = 0;
    for (const trained& other : of.measured) {
      if (other.which == one.which && other.processors == one.processors &&
          (least == 0 || other.frequency <= least)) {
        least = other.frequency;
        lowest = other.watts;
      }
    }
    if (one.frequency != least) one.watts = lowest + factor * (one.watts - lowest);
  }
  return of;
}

}  // namespace

bool improvements_named(std::string_view name, improvements& found) {
  bool with = true;
  if (name == "listing") {
    found = {};
    return true;
  }
  if (name == "adaptive" || name.starts_with("adaptive-")) {
    found = {true, true, true, true, true};
    if (name == "adaptive") return true;
    with = false;
  } else if (name.starts_with("listing+")) {
    found = {};
  } else {
    return false;
  }
  name.remove_prefix(name.find_first_of("+-") + 1);
  if (name == "parallelism")
    found.for_parallelism = with;
  else if (name == "training")
    found.converged_training = with;
  else if (name == "experiments")
    found.cheaper_experiments = with;
  else if (name == "precision")
    found.precise = with;
  else if (name == "overlap")
    found.overlap = with;
  else
    return false;
  return true;
}

simulated_bench::simulated_bench(simulated_hardware hardware, std::uint64_t seed)
    : hardware_(std::move(hardware)) {
  const std::vector<unsigned> all = numbers_of_processors(hardware_);
  once_ = trained_for(hardware_, random::derive_seed(seed, 0), {1}, 0);
  converged_ = trained_for(hardware_, random::derive_seed(seed, 1), {1}, settled_within);
  parallel_ = trained_for(hardware_, random::derive_seed(seed, 2), all, 0);
  improved_ = trained_for(hardware_, random::derive_seed(seed, 3), all, settled_within);
}

run_cost simulated_bench::run(const program& workload, std::string_view governor, double exponent,
                              std::uint64_t seed) const {
  return run(workload, governor, exponent, seed, {});
}

run_cost simulated_bench::run(const program& workload, std::string_view name, double exponent,
                              std::uint64_t seed, const mistakes& made) const {
  simulated_machine machine(hardware_, seed);
  const std::vector<domain>& domains = machine.domains();
  improvements with;
  std::function<std::unique_ptr<energy::governor>(const domain&)> make;
  training used;
  std::vector<kilohertz> best;
  if (improvements_named(name, with)) {
    used = with.for_parallelism ? (with.converged_training ? improved_ : parallel_)
                                : (with.converged_training ? converged_ : once_);
    if (made.dynamic_power != 1) used = with_wrong_power(std::move(used), made.dynamic_power);
    make = [&](const domain&) {
      return std::make_unique<adaptive_governor>(
          used, adaptive_options{.exponent = exponent,
                                 .for_parallelism = with.for_parallelism,
                                 .cheaper_experiments = with.cheaper_experiments,
                                 .precise = with.precise,
                                 .overlap = with.overlap,
                                 .noise = hardware_.noise > 0 ? hardware_.noise : 0.01,
                                 .wrong_m = made.memory_boundness,
                                 .wrong_overlap = made.overlap});
    };
  } else if (name == "oracle") {
    best = best_frequencies(hardware_, workload, exponent);
    make = [&](const domain&) {
      return std::make_unique<oracle_governor>(
          [&] { return best[machine.idle() ? 0 : machine.phase_index()]; });
    };
  } else if (name.starts_with("static-")) {
    kilohertz megahertz = 0;
    const std::string_view number = name.substr(7);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), megahertz);
    if (error != std::errc{} || end != number.data() + number.size()) {
      throw platform_error("static- needs a frequency in MHz after it, as in static-2200");
    }
    make = [megahertz](const domain&) {
      return std::make_unique<fixed_governor>(megahertz * 1000);
    };
  } else {
    make = [name](const domain& of) { return rival_named(name, of); };
  }
  std::vector<std::unique_ptr<energy::governor>> governors;
  std::vector<energy::governor*> pointers;
  for (const domain& one : domains) {
    governors.push_back(make(one));
    pointers.push_back(governors.back().get());
  }
  // Warm, as a machine is that works all day.
  machine.begin_load(load::compute, hardware_.cores);
  machine.wait(60);
  machine.end_load();
  machine.run(workload);
  govern(machine, pointers, [&] { return machine.idle(); });
  return {machine.joules(), machine.seconds()};
}

}  // namespace assay::energy
