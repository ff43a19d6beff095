#include "assay/governor/training.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

namespace assay::energy {

namespace {

constexpr unsigned fewest_rounds = 3;
constexpr double longest_slice = 10;  // seconds: a counter of energy may begin again once in each

// Means over rounds, and how far they are from settled.
class mean {
 public:
  void add(double value) {
    ++count_;
    const double before = value - mean_;
    mean_ += before / count_;
    squares_ += before * (value - mean_);
  }
  [[nodiscard]] double value() const { return mean_; }
  [[nodiscard]] bool within(double share) const {
    return std::sqrt(squares_ / (count_ - 1) / count_) <= share * mean_;
  }

 private:
  double count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

struct point {
  load which;
  unsigned processors;
  kilohertz frequency;
  mean watts;
  mean instructions;
  mean cache_misses;
};

void measure(platform& machine, double seconds, point& at) {
  const std::size_t domains = machine.domains().size();
  for (std::size_t i = 0; i < domains; ++i) machine.set(i, at.frequency);
  const reading before = machine.read();
  reading after = before;
  const int slices = static_cast<int>(std::ceil(seconds / longest_slice));
  for (int i = 0; i < slices; ++i) {
    machine.wait(seconds / slices);
    after = machine.read();
  }
  if (!before.joules || !after.joules) {
    throw platform_error(
        "the counter of energy vanished during the training, of which nothing is kept; once it is "
        "there again, train again");
  }
  const double passed = after.seconds - before.seconds;
  double instructions = 0;
  double cache_misses = 0;
  for (std::size_t i = 0; i < domains; ++i) {
    instructions += after.domains[i].instructions - before.domains[i].instructions;
    cache_misses += after.domains[i].cache_misses - before.domains[i].cache_misses;
  }
  at.watts.add((*after.joules - *before.joules) / passed);
  at.instructions.add(instructions / passed);
  at.cache_misses.add(cache_misses / passed);
}

// The frequencies of a load with this many processors are neighbours in `all`.
void measure_all(platform& machine, double seconds, std::vector<point>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool same =
        i > 0 && all[i].which == all[i - 1].which && all[i].processors == all[i - 1].processors;
    if (!same) {
      if (i > 0) machine.end_load();
      machine.begin_load(all[i].which, all[i].processors);
    }
    measure(machine, seconds, all[i]);
  }
  machine.end_load();
}

}  // namespace

training train(platform& machine, const training_options& options) {
  if (!machine.read().joules) {
    throw platform_error(
        "a training needs a counter of energy, and this machine has none: see what it lacks with "
        "assay-governor status");
  }
  std::vector<point> all;
  for (const load which : {load::compute, load::memory}) {
    for (const unsigned processors : options.processors) {
      for (const kilohertz frequency : machine.domains().front().frequencies) {
        all.push_back({which, processors, frequency, {}, {}, {}});
      }
    }
  }
  const auto settled = [&] {
    return std::ranges::all_of(all, [&](const point& one) {
      return one.watts.within(options.converged_within) &&
             one.instructions.within(options.converged_within);
    });
  };
  measure_all(machine, options.seconds, all);
  if (options.converged_within > 0) {
    unsigned rounds = 1;
    do {
      if (rounds == options.most_rounds) {
        throw platform_error("training has not converged after " + std::to_string(rounds) +
                             " rounds: let nothing else run, or train for longer in each");
      }
      measure_all(machine, options.seconds, all);
      ++rounds;
    } while (rounds < fewest_rounds || !settled());
  }
  training found{.machine = machine.machine(), .measured = {}};
  for (const point& one : all) {
    found.measured.push_back({.which = one.which,
                              .processors = one.processors,
                              .frequency = one.frequency,
                              .watts = one.watts.value(),
                              .instructions_per_second = one.instructions.value(),
                              .cache_misses_per_second = one.cache_misses.value()});
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
  throw platform_error(std::string("the training has no ") +
                       (which == load::compute ? "compute" : "memory") + " load on " +
                       std::to_string(processors) + " processors at " + std::to_string(frequency) +
                       " kHz, where it has others: train again");
}

}  // namespace assay::energy
