#include "assay/governor/adaptive_governor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "assay/energy/model.h"

namespace assay::energy {
namespace {

constexpr double measured_for = 0.1;  // seconds of an experiment, and between looks at cache misses
constexpr unsigned intervals_of_best = 8;

constexpr double least_m = 0.01;  // ns, of the hypotheses above 0
constexpr double most_m = 4;
constexpr int hypotheses_of_m = 24;

// Detecting a change: what a sum leaves out of each deviation, and where it rises an alarm, in
// standard deviations. By Siegmund's approximation (1985) a sum rises a false alarm in 3000
// intervals.
constexpr double slack = 0.5;
constexpr double alarm = 6.5;
constexpr double longest_memory = 60;  // seconds, of measurements in one phase

// Active processors are counted in whole ticks of each (/proc/stat), which is up to half a tick of
// standard deviation: four of those are seen by chance in one interval of 16,000. What is within
// them is averaged over a second.
constexpr double tick = 0.01;  // seconds
constexpr double averaged_over = 1;

constexpr double worth_keeping = 1;     // seconds of a phase
constexpr double compared_after = 0.5;  // seconds
constexpr double same_phase = 9;        // squared deviations; 1% of the same ones are farther away
constexpr std::size_t most_phases = 8;

// A latency grows where many processors wait: by how much more than the memory load's alone a miss
// may take.
constexpr double slower_miss = 2;
constexpr double worth_trying = 0.05;  // by how much more than the best an experiment may cost
constexpr double tolerated_loss =
    0.02;  // expected; with this much, every second interval is an experiment

std::string waits(double m) {
  if (std::isinf(m)) return "a higher frequency gained nothing";
  std::array<char, 100> written{};
  std::snprintf(written.data(), written.size(),
                "the cheapest for a program that waits %.3g ns for each cycle that it computes", m);
  return written.data();
}

double miscounted(double active, double seconds) {
  return 4 * (tick / 2) / seconds * std::sqrt(active);
}

double follow(double known, double active, double seconds) {
  if (std::abs(active - known) > miscounted(known, seconds)) return active;
  return known + (active - known) * std::min(seconds / averaged_over, 1.0);
}

}  // namespace

adaptive_governor::adaptive_governor(const training& trained, const adaptive_options& options)
    : options_(options) {
  if (!(options.exponent >= 0)) throw platform_error("the exponent of time must be 0 or more");
  std::set<unsigned> processors;
  for (const auto& one : trained.measured) {
    processors.insert(one.processors);
    if (one.processors == 1 && one.which == load::compute) frequencies_.push_back(one.frequency);
    if (one.processors == 1 && one.which == load::memory) {
      few_misses_ = std::max(few_misses_, one.cache_misses_per_second / 10);
      seconds_of_miss_ = 10 * few_misses_ > 0 ? 1 / (10 * few_misses_) : 0;
    }
  }
  if (frequencies_.empty()) {
    throw platform_error("the training has no measurement with one processor; train again");
  }
  std::ranges::sort(frequencies_);
  for (const unsigned count : processors) {
    if (count == 1 || options_.for_parallelism) add_level(trained, count);
  }
  if (weighs()) add_hypotheses();
  now_.by_frequency.resize(frequencies_.size());
  expected_cost_.resize(frequencies_.size());
  log_rates_.resize(frequencies_.size());
}

void adaptive_governor::add_level(const training& of, unsigned processors) {
  level made{.processors = processors,
             .low = index_of(best_trained(of, load::memory, processors, options_.exponent)),
             .high = index_of(best_trained(of, load::compute, processors, options_.exponent)),
             .turbo = gigahertz(frequencies_.back()),
             .compute_watts = {},
             .memory_watts = {},
             .memory_loads = {}};
  // The memory load's m, by least squares over all frequencies: 1 / rate = off + on / frequency.
  double n = 0;
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (const trained& one : of.measured) {
    if (one.processors != processors || one.which != load::memory) continue;
    const double x = 1 / gigahertz(one.frequency);
    const double y = 1e9 / one.instructions_per_second;
    n += 1;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double on = (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
  const double off = (sum_y - on * sum_x) / n;
  const double m = on > 0 ? std::max(off / on, 0.0) : most_m;
  // What computes is as fast as its frequency: the highest one is what the others' rates say.
  double rates = 0;
  double squares = 0;
  double highest = 0;
  for (const trained& one : of.measured) {
    if (one.processors != processors || one.which != load::compute) continue;
    if (one.frequency == frequencies_.back()) {
      highest = one.instructions_per_second;
    } else {
      rates += one.instructions_per_second * gigahertz(one.frequency);
      squares += gigahertz(one.frequency) * gigahertz(one.frequency);
    }
  }
  if (rates > 0) made.turbo = std::min(made.turbo, highest * squares / rates);
  for (const kilohertz frequency : frequencies_) {
    made.compute_watts.push_back(trained_watts(of, load::compute, processors, frequency));
    made.memory_watts.push_back(trained_watts(of, load::memory, processors, frequency));
    made.memory_loads.push_back(1 / std::max(m / (m + 1 / gigahertz(frequency)), 0.05));
  }
  levels_.push_back(std::move(made));
}

void adaptive_governor::add_hypotheses() {
  const std::vector<double> overlaps =
      options_.overlap ? std::vector<double>{0, 0.5, 1} : std::vector<double>{0};
  for (const double overlap : overlaps) {
    for (int i = -1; i < hypotheses_of_m; ++i) {
      const double m =
          i < 0 ? 0 : least_m * std::pow(most_m / least_m, double{1} * i / (hypotheses_of_m - 1));
      hypotheses_.push_back({.m = m, .overlap = overlap, .log_likelihood = 0});
    }
  }
  const std::size_t all = hypotheses_.size() * frequencies_.size();
  for (auto* table : {&waiting_, &weighed_time_, &log_time_, &cost_}) table->resize(all);
  for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
    for (std::size_t i = 0; i < frequencies_.size(); ++i) predict(h, i);
  }
}

void adaptive_governor::predict(std::size_t row, std::size_t frequency) {
  const hypothesis& of = hypotheses_[row];
  const double at =
      frequency + 1 == frequencies_.size() ? turbo() : gigahertz(frequencies_[frequency]);
  const std::size_t cell = row * frequencies_.size() + frequency;
  log_time_[cell] = std::log(overlapped_time(of.m, at, of.overlap));
  const double predicted = overlapped_time(of.m * options_.wrong_m, at,
                                           std::min(of.overlap * options_.wrong_overlap, 1.0));
  weighed_time_[cell] = std::pow(predicted, options_.exponent + 1);
  waiting_[cell] = 1 - 1 / at / predicted;
}

// With as many processors as are active in the machine.
double adaptive_governor::turbo() const {
  return options_.for_parallelism ? nearest_level().turbo : gigahertz(frequencies_.back());
}

bool adaptive_governor::weighs() const {
  return options_.cheaper_experiments || options_.precise || options_.overlap;
}

std::size_t adaptive_governor::index_of(kilohertz frequency) const {
  const auto at = std::ranges::lower_bound(frequencies_, frequency);
  return std::min(static_cast<std::size_t>(at - frequencies_.begin()), frequencies_.size() - 1);
}

void adaptive_governor::see_active(const interval& last) {
  if (!options_.for_parallelism) return;
  active_ = follow(active_, std::max(last.active_processors, 1.0), last.seconds);
  in_machine_ =
      std::max(follow(in_machine_, std::max(last.active_in_machine, 1.0), last.seconds), active_);
}

const adaptive_governor::level& adaptive_governor::nearest_level() const {
  return *std::ranges::min_element(
      levels_, {}, [&](const level& one) { return std::abs(one.processors - in_machine_); });
}

double adaptive_governor::watts_of(const level& of, std::size_t frequency, double waiting) const {
  const double compute = of.compute_watts[frequency];
  if (!options_.for_parallelism) return compute;
  return compute + std::min(waiting * of.memory_loads[frequency], 1.0) *
                       (of.memory_watts[frequency] - compute);
}

// The two trained numbers of processors around the present one, and how far it is from the first to
// the second.
adaptive_governor::mixture adaptive_governor::present_mixture() const {
  const auto above = std::ranges::find_if(
      levels_, [&](const level& one) { return one.processors >= in_machine_; });
  if (above == levels_.begin()) return {*above, *above, 0};
  if (above == levels_.end()) return {levels_.back(), levels_.back(), 0};
  const level& below = *(above - 1);
  return {below, *above, (in_machine_ - below.processors) / (above->processors - below.processors)};
}

// Between the two trained numbers of processors, and between the two loads.
double adaptive_governor::watts(const mixture& of, std::size_t frequency, double waiting) const {
  return (1 - of.share) * watts_of(of.below, frequency, waiting) +
         of.share * watts_of(of.above, frequency, waiting);
}

decision adaptive_governor::use(std::size_t frequency, std::string why) const {
  return {frequencies_[frequency], measured_for, std::move(why)};
}

decision adaptive_governor::try_high() {
  step_ = step::high;
  high_ = nearest_level().high;
  low_ = nearest_level().low;
  return use(high_, "an experiment: the frequency that is cheapest for a program that computes");
}

decision adaptive_governor::first() { return try_high(); }

decision adaptive_governor::use_best(double m) {
  m *= options_.wrong_m;
  const mixture power = present_mixture();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double at = i + 1 == frequencies_.size() ? turbo() : gigahertz(frequencies_[i]);
    const double waiting = std::isinf(m) ? 1 : m / relative_time(m, at);
    const double cost = relative_cost(watts(power, i, waiting), m, at, options_.exponent);
    if (cost < least) {
      least = cost;
      best_ = i;
    }
  }
  step_ = step::best;
  left_ = intervals_of_best;
  return use(best_, waits(m));
}

decision adaptive_governor::next(const interval& last) {
  if (weighs()) return weighed_decision(last);
  see_active(last);
  switch (step_) {
    case step::high:
      if (last.cache_misses_per_second <= few_misses_) return try_high();
      high_rate_ = last.instructions_per_second;
      step_ = step::low;
      return use(
          low_,
          "an experiment: the frequency that is cheapest for a program that waits for memory");
    case step::low:
      // Without two frequencies, nothing is seen of what one gains.
      if (low_ == high_) return use_best(0);
      return use_best(
          memory_boundness({gigahertz(frequencies_[low_]), 1 / last.instructions_per_second},
                           {gigahertz(frequencies_[high_]), 1 / high_rate_}));
    case step::best:
      if (--left_ == 0 || (last.cache_misses_per_second < few_misses_ && best_ != high_))
        return try_high();
      return use(best_, "as before");
  }
  return try_high();
}

// The costs of all hypotheses, for the present number of processors: anew once it has changed by a
// twentieth of one or, where they are more than 8, by a 160th of them. Powers and logarithms are
// taken only where the turbo is another one.
void adaptive_governor::price() {
  if (std::abs(in_machine_ - priced_for_) < std::max(0.05, in_machine_ / 160)) return;
  priced_for_ = in_machine_;
  const bool other_turbo = priced_turbo_ != turbo();
  priced_turbo_ = turbo();
  const mixture power = present_mixture();
  const std::size_t n = frequencies_.size();
  for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
    if (other_turbo) predict(h, n - 1);
    const std::span cost = std::span(cost_).subspan(h * n, n);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      cost[i] = watts(power, i, waiting_[h * n + i]) * weighed_time_[h * n + i];
      least = std::min(least, cost[i]);
    }
    const double scale = 1 / least;
    for (double& each : cost) each *= scale;
  }
}

void adaptive_governor::begin_phase() {
  if (now_.seconds >= worth_keeping) {
    now_.active = active_;
    past_.push_back(now_);
    if (past_.size() > most_phases) past_.erase(past_.begin());
  }
  now_ = {.by_frequency = std::vector<seen>(frequencies_.size())};
  is_compared_ = false;
  faster_ = slower_ = more_misses_ = fewer_misses_ = 0;
  credit_ = 0;
}

// The mean logarithm of what a hypothesis leaves unknown: the rate at 1 GHz without waiting.
double adaptive_governor::mean_scale(const known_phase& of, std::size_t by) const {
  const double* const log_time = &log_time_[by * frequencies_.size()];
  double sum = 0;
  for (std::size_t i = 0; i < of.by_frequency.size(); ++i) {
    const seen& here = of.by_frequency[i];
    if (here.seconds > 0)
      sum += here.seconds * (std::log(here.instructions / here.seconds) + log_time[i]);
  }
  return sum / of.seconds;
}

std::size_t adaptive_governor::likeliest_hypothesis() const {
  return static_cast<std::size_t>(
      std::ranges::max_element(hypotheses_, {}, &hypothesis::log_likelihood) - hypotheses_.begin());
}

// How far this phase is from a past one, in squared standard deviations of misses per instruction
// and of the rate.
double adaptive_governor::unlikeness(const known_phase& of) const {
  if (std::abs(of.active - active_) > 0.5) return std::numeric_limits<double>::infinity();
  const double deviation =
      options_.noise * std::sqrt(measured_for / now_.seconds + measured_for / of.seconds);
  const std::size_t likeliest = likeliest_hypothesis();
  const double rate = (mean_scale(now_, likeliest) - mean_scale(of, likeliest)) / deviation;
  const auto share = [](const known_phase& one) {
    return std::log(std::max(one.misses / one.instructions, 1e-9));
  };
  const double misses = (share(now_) - share(of)) / (deviation * std::numbers::sqrt2);
  return rate * rate + misses * misses;
}

// Goes on with what is known of the past phase that this one is, if it is one.
void adaptive_governor::recall_phase() {
  is_compared_ = true;
  const auto nearest =
      std::ranges::min_element(past_, {}, [&](const known_phase& one) { return unlikeness(one); });
  if (nearest == past_.end() || unlikeness(*nearest) > same_phase) return;
  for (std::size_t i = 0; i < now_.by_frequency.size(); ++i) {
    now_.by_frequency[i].seconds += nearest->by_frequency[i].seconds;
    now_.by_frequency[i].instructions += nearest->by_frequency[i].instructions;
  }
  now_.misses += nearest->misses;
  now_.instructions += nearest->instructions;
  now_.seconds += nearest->seconds;
  past_.erase(nearest);
}

// Whether the workload is another one: by its processors, or by rates that stay away from what was
// predicted.
bool adaptive_governor::changed(const interval& last) {
  if (options_.for_parallelism && std::abs(std::max(last.active_processors, 1.0) - active_) >
                                      std::max(0.5, miscounted(active_, last.seconds)))
    return true;
  if (now_.seconds < 3 * measured_for) return false;
  const double deviation = options_.noise * std::sqrt(measured_for / last.seconds);
  // What the likeliest hypothesis says of this frequency, from all that was seen.
  const std::size_t likeliest = likeliest_hypothesis();
  const double predicted = mean_scale(now_, likeliest) -
                           log_time_[likeliest * frequencies_.size() + index_of(last.frequency)];
  const double rate = (std::log(last.instructions_per_second) - predicted) /
                      (deviation * std::sqrt(1 + measured_for / now_.seconds));
  faster_ = std::max(0.0, faster_ + rate - slack);
  slower_ = std::max(0.0, slower_ - rate - slack);
  double misses = 0;
  if (now_.misses > 0 && last.cache_misses_per_second > 0) {
    misses = (std::log(last.cache_misses_per_second / last.instructions_per_second) -
              std::log(now_.misses / now_.instructions)) /
             (deviation * std::numbers::sqrt2);
  }
  more_misses_ = std::max(0.0, more_misses_ + misses - slack);
  fewer_misses_ = std::max(0.0, fewer_misses_ - misses - slack);
  return std::max({faster_, slower_, more_misses_, fewer_misses_}) > alarm;
}

void adaptive_governor::remember(const interval& last) {
  if (options_.precise) {
    const double kept = std::max(1 - last.seconds / longest_memory, 0.0);
    for (seen& one : now_.by_frequency) {
      one.seconds *= kept;
      one.instructions *= kept;
    }
    now_.seconds *= kept;
    now_.misses *= kept;
    now_.instructions *= kept;
  } else {
    // The last measurements of two frequencies: of the two experiments, where there are two.
    if (!options_.cheaper_experiments && step_ == step::best) return;
    const std::size_t now = index_of(last.frequency);
    for (std::size_t i = 0; i < now_.by_frequency.size(); ++i) {
      if (i == now || (i != newest_ && now != newest_)) now_.by_frequency[i] = {};
    }
    newest_ = now;
    now_.misses = now_.instructions = now_.seconds = 0;
  }
  seen& here = now_.by_frequency[index_of(last.frequency)];
  here.seconds += last.seconds;
  here.instructions += last.instructions_per_second * last.seconds;
  now_.seconds += last.seconds;
  now_.misses += last.cache_misses_per_second * last.seconds;
  now_.instructions += last.instructions_per_second * last.seconds;
}

// The likelihood of each hypothesis: logarithms of rates are normal around its prediction, which is
// known up to a factor.
void adaptive_governor::weigh() {
  // Without precision, what was measured is taken as it is.
  const double noise = options_.precise ? options_.noise : 0.02;
  double most_waiting = 1;  // share of the time, at the frequencies seen
  double mean_inverse = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < now_.by_frequency.size(); ++i) {
    const seen& here = now_.by_frequency[i];
    if (here.seconds == 0) continue;
    seconds += here.seconds;
    mean_inverse += here.seconds / gigahertz(frequencies_[i]);
    log_rates_[i] = std::log(here.instructions / here.seconds);
  }
  mean_inverse /= seconds;
  if (options_.cheaper_experiments && now_.seconds > 0) {
    most_waiting = slower_miss * now_.misses / now_.seconds * seconds_of_miss_ / active_;
  }
  double best = -std::numeric_limits<double>::infinity();
  const std::size_t n = frequencies_.size();
  for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
    hypothesis& one = hypotheses_[h];
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < now_.by_frequency.size(); ++i) {
      if (now_.by_frequency[i].seconds == 0) continue;
      const double scale = log_rates_[i] + log_time_[h * n + i];
      sum += now_.by_frequency[i].seconds * scale;
      squares += now_.by_frequency[i].seconds * scale * scale;
    }
    one.log_likelihood = -(squares - sum * sum / seconds) / (2 * noise * noise * measured_for);
    // A program cannot wait longer than its misses take one by one.
    const double share = one.m / (one.m + mean_inverse);
    if (share > most_waiting) one.log_likelihood -= 20 * (share / most_waiting - 1);
    best = std::max(best, one.log_likelihood);
  }
  double all = 0;
  std::ranges::fill(expected_cost_, 0);
  for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
    const double weight = std::exp(hypotheses_[h].log_likelihood - best);
    all += weight;
    for (std::size_t i = 0; i < n; ++i) expected_cost_[i] += weight * cost_[h * n + i];
  }
  for (double& cost : expected_cost_) cost /= all;
  best_ =
      static_cast<std::size_t>(std::ranges::min_element(expected_cost_) - expected_cost_.begin());
  expected_loss_ = expected_cost_[best_] - 1;
}

// Returns the most informative frequency among those worth trying: the farthest from those seen.
std::size_t adaptive_governor::experiment() const {
  double mean = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < now_.by_frequency.size(); ++i) {
    mean += now_.by_frequency[i].seconds / gigahertz(frequencies_[i]);
    seconds += now_.by_frequency[i].seconds;
  }
  mean /= seconds;
  std::size_t farthest = best_;
  double distance = 0;
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const double from = std::abs(1 / gigahertz(frequencies_[i]) - mean);
    if (expected_cost_[i] <= expected_cost_[best_] * (1 + worth_trying) && from > distance) {
      distance = from;
      farthest = i;
    }
  }
  return farthest;
}

decision adaptive_governor::weighed_decision(const interval& last) {
  // A measurement in which nothing ran says nothing.
  if (!(last.instructions_per_second > 0)) return use(index_of(last.frequency), "nothing ran");
  if (options_.precise && changed(last)) begin_phase();
  see_active(last);
  price();
  remember(last);
  if (options_.precise && !is_compared_ && now_.seconds >= compared_after) {
    weigh();
    recall_phase();
  }
  weigh();
  if (options_.cheaper_experiments) {
    credit_ += std::min(0.5, expected_loss_ / tolerated_loss);
    if (credit_ >= 1) {
      credit_ -= 1;
      return use(experiment(), "an experiment: nearly as cheap as the best, and says more");
    }
    return use(best_, "the cheapest on average over what the workload may be");
  }
  // As listing 3.1: two intervals of ten.
  switch (step_) {
    case step::high:
      if (last.cache_misses_per_second <= few_misses_) return try_high();
      step_ = step::low;
      return use(
          low_,
          "an experiment: the frequency that is cheapest for a program that waits for memory");
    case step::low:
      step_ = step::best;
      left_ = intervals_of_best;
      return use(best_, "the cheapest on average over what the workload may be");
    case step::best:
      if (--left_ == 0 || (last.cache_misses_per_second < few_misses_ && best_ != high_))
        return try_high();
      return use(best_, "the cheapest on average over what the workload may be");
  }
  return try_high();
}

}  // namespace assay::energy
