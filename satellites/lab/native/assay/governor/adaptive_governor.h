// pappeadapt: measures how much a workload gains from a higher frequency, and sets the one that is
// cheapest for it (Bonnichsen 2016, section 3.1.1, listing 3.1), with the improvements that
// section 3.4 names, each by itself.
//
//     adaptive_governor governor(training, {.exponent = 1});         // listing 3.1
//     adaptive_governor governor(training, improved(1));             // all improvements
//
// Without improvements it tries f_hi, then f_lo, solves equation 3 and keeps the best frequency for
// eight intervals. With any of cheaper_experiments, precise and overlap, it weighs hypotheses
// instead: each is an m and an overlap, and has a likelihood by what was seen. The frequency is
// taken whose cost, relative to the least, is the lowest on average over them.
//
// A training says what power the whole machine takes with a number of processors active. Where a
// domain is a part of the machine, its governor reckons as if the others did what this one does:
// each active processor then has the same share of the power, which as a factor of all costs
// changes no choice. So power and turbo are those of the processors that are active in the machine;
// the domain alone shows what the workload is, and whether it is another one now.
//
// The second improvement of section 3.4, training that converges, is in training_options.

#ifndef ASSAY_GOVERNOR_ADAPTIVE_GOVERNOR_H_
#define ASSAY_GOVERNOR_ADAPTIVE_GOVERNOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/governor/governor.h"
#include "assay/governor/training.h"

namespace assay::energy {

struct adaptive_options {
  double exponent = 1;  // of energy * time^exponent, >= 0
  // Power, f_lo and f_hi of as many processors as are active, and of as much waiting as there is.
  // Without: of one that computes.
  bool for_parallelism = false;
  // Experiments only while more knowledge is worth it, at frequencies that are nearly as cheap as
  // the best; and the rate of cache misses bounds how much can be waited for. Without: f_hi and
  // f_lo in two intervals of ten.
  bool cheaper_experiments = false;
  // All measurements since the workload changed, weighed by their noise, and those of an earlier
  // phase like this one. Without: the last two experiments.
  bool precise = false;
  // Hypotheses in which work on and off the chip overlaps by a half or wholly.
  bool overlap = false;
  double noise = 0.2;  // relative deviation of a rate over 0.1 seconds
  // To see what mistakes of the model cost: its m and overlap are multiplied by these when costs
  // are predicted.
  double wrong_m = 1;
  double wrong_overlap = 1;
};

[[nodiscard]] constexpr adaptive_options improved(double exponent) {
  return {.exponent = exponent,
          .for_parallelism = true,
          .cheaper_experiments = true,
          .precise = true,
          .overlap = true};
}

class adaptive_governor final : public governor {
 public:
  // The training is for one processor at least. Throws platform_error where it is not.
  adaptive_governor(const training& trained, const adaptive_options& options);

  [[nodiscard]] decision first() override;
  [[nodiscard]] decision next(const interval& last) override;

 private:
  enum class step : std::uint8_t { high, low, best };

  // One for each number of processors that was trained for. The vectors have an item for each
  // frequency.
  struct level {
    unsigned processors;
    std::size_t low;   // f_lo: the cheapest for a program that waits for memory
    std::size_t high;  // f_hi: for one that computes
    double turbo;      // GHz that the highest frequency really is, which a turbo limits by active
                       // processors
    std::vector<double> compute_watts;
    std::vector<double> memory_watts;
    // How many memory loads wait as long as a program that does nothing else: 1 / the share of its
    // time that it waits.
    std::vector<double> memory_loads;
  };
  struct mixture {  // of two levels
    const level& below;
    const level& above;
    double share;  // of the second
  };
  struct hypothesis {
    double m;
    double overlap;
    double log_likelihood;
  };
  struct seen {
    double seconds = 0;
    double instructions = 0;
  };
  // What was seen of a phase of the workload.
  struct known_phase {
    std::vector<seen> by_frequency;
    double misses = 0;
    double instructions = 0;
    double seconds = 0;
    double active = 1;  // processors of the domain
  };

  void add_level(const training& of, unsigned processors);
  void add_hypotheses();
  [[nodiscard]] bool weighs() const;
  [[nodiscard]] std::size_t index_of(kilohertz frequency) const;
  void see_active(const interval& last);
  [[nodiscard]] const level& nearest_level() const;
  [[nodiscard]] double watts_of(const level& of, std::size_t frequency, double waiting) const;
  [[nodiscard]] mixture present_mixture() const;
  [[nodiscard]] double watts(const mixture& of, std::size_t frequency, double waiting) const;
  [[nodiscard]] double turbo() const;
  void predict(std::size_t row, std::size_t frequency);
  void price();
  void weigh();
  void begin_phase();
  void recall_phase();
  [[nodiscard]] double mean_scale(const known_phase& of, std::size_t by) const;
  [[nodiscard]] std::size_t likeliest_hypothesis() const;
  [[nodiscard]] double unlikeness(const known_phase& of) const;
  [[nodiscard]] bool changed(const interval& last);
  void remember(const interval& last);
  [[nodiscard]] decision try_high();
  [[nodiscard]] decision use_best(double m);
  [[nodiscard]] decision use(std::size_t frequency, std::string why) const;
  [[nodiscard]] decision weighed_decision(const interval& last);
  [[nodiscard]] std::size_t experiment() const;

  adaptive_options options_;
  std::vector<kilohertz> frequencies_;
  std::vector<level> levels_;  // by processors, ascending
  std::vector<hypothesis> hypotheses_;
  // One row for each hypothesis, with all frequencies. Tables let the processor fetch ahead, as 64
  // governors do not fit in a cache.
  std::vector<double> waiting_;       // share of the time
  std::vector<double> weighed_time_;  // to the power of exponent + 1
  std::vector<double> log_time_;
  std::vector<double> cost_;    // relative to the least
  double few_misses_ = 0;       // cm_lo: with fewer, a program computes
  double seconds_of_miss_ = 0;  // of the memory load, which waits for each by itself
  double active_ = 1;           // processors of the domain
  double in_machine_ = 1;       // active processors of all domains
  double priced_for_ = 0;       // of those, for which the costs of hypotheses are
  double priced_turbo_ = 0;     // GHz, likewise

  step step_ = step::high;
  double high_rate_ = 0;
  std::size_t high_ = 0;
  std::size_t low_ = 0;
  std::size_t best_ = 0;
  unsigned left_ = 0;  // intervals with the best frequency before the next experiment

  known_phase now_;         // since the workload changed
  std::size_t newest_ = 0;  // of two, without precision
  std::vector<known_phase> past_;
  bool is_compared_ = false;  // with those
  double faster_ = 0;         // sums that grow when a rate is not what was predicted (Page 1954)
  double slower_ = 0;
  double more_misses_ = 0;
  double fewer_misses_ = 0;
  double credit_ = 0;  // experiments that are due
  double expected_loss_ = 0;
  std::vector<double> expected_cost_;
  std::vector<double> log_rates_;  // by frequency, of those seen
};

}  // namespace assay::energy

#endif  // ASSAY_GOVERNOR_ADAPTIVE_GOVERNOR_H_
