#include "assay/energy/simulated_machine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace assay::energy {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();
constexpr double longest_step = 0.1;  // seconds in which the temperature is taken to stay as it is
constexpr double reference_temperature = 50;

// Threads go to cores of their own first.
unsigned threads_on(unsigned core, unsigned threads, const simulated_hardware& hardware) {
  return std::min(threads / hardware.cores + (core < threads % hardware.cores ? 1U : 0U),
                  hardware.threads_per_core);
}

unsigned threads_of(const phase& of, const simulated_hardware& hardware) {
  const unsigned most = hardware.cores * hardware.threads_per_core;
  return of.threads == 0 ? most : std::min(of.threads, most);
}

double volts_at(const simulated_hardware& hardware, kilohertz frequency) {
  const auto& steps = hardware.steps;
  const auto above = std::ranges::lower_bound(steps, frequency, {}, &voltage_step::frequency);
  if (above == steps.begin()) return above->volts;
  if (above == steps.end()) return steps.back().volts;
  const voltage_step& below = *(above - 1);
  return below.volts + (above->volts - below.volts) * (frequency - below.frequency) /
                           (above->frequency - below.frequency);
}

// Nanoseconds of an instruction.
struct durations {
  double on;
  double total;
};

durations durations_of(const phase& of, double cycles, double gigahertz, double latency) {
  const double on = cycles / gigahertz;
  const double off = of.misses * latency / of.parallel_misses;
  return {on, on + off - of.overlap * std::min(on, off) + of.sleep};
}

// Cores that do the same: equally many threads at one frequency.
struct kind {
  std::size_t domain;
  unsigned threads;  // on each
  unsigned cores;
  double gigahertz;
  double volts;
};

double latency_with(const simulated_hardware& hardware, double misses_per_ns) {
  return hardware.memory_ns / (1 - misses_per_ns / hardware.misses_per_ns);
}

double cycles_on(const simulated_hardware& hardware, const phase& of, const kind& one) {
  return of.cycles * (one.threads > 1 ? hardware.sharing : 1);
}

// The latency with which all threads together miss as often as it takes to have this latency.
double solve_latency(const simulated_hardware& hardware, const phase& of,
                     const std::vector<kind>& kinds) {
  if (of.misses == 0) return hardware.memory_ns;
  double least = 0;
  double most = hardware.misses_per_ns;
  for (int i = 0; i < 50; ++i) {
    const double middle = (least + most) / 2;
    const double latency = latency_with(hardware, middle);
    double misses = 0;
    for (const kind& one : kinds) {
      const auto took =
          durations_of(of, cycles_on(hardware, of, one), one.gigahertz, latency).total;
      misses += one.threads * one.cores * of.misses / took;
    }
    (misses > middle ? least : most) = middle;
  }
  return latency_with(hardware, least);
}

std::vector<kind> kinds_of(const simulated_hardware& hardware, unsigned threads,
                           std::span<const kilohertz> frequencies) {
  std::vector<kind> kinds;
  const unsigned active = std::min(threads, hardware.cores);
  const kilohertz limit =
      active == 0
          ? hardware.steps.back().frequency
          : hardware.turbo_limits[std::min<std::size_t>(active, hardware.turbo_limits.size()) - 1];
  for (unsigned core = 0; core < active; ++core) {
    const std::size_t domain = hardware.shared_domain ? 0 : core;
    const unsigned busy = threads_on(core, threads, hardware);
    if (!kinds.empty() && kinds.back().domain == domain && kinds.back().threads == busy) {
      ++kinds.back().cores;
      continue;
    }
    const kilohertz frequency = std::min(frequencies[domain], limit);
    kinds.push_back({domain, busy, 1, gigahertz(frequency), volts_at(hardware, frequency)});
  }
  return kinds;
}

void check(const simulated_hardware& hardware) {
  const auto refuse = [&](const char* why) {
    throw platform_error("the simulated machine " + hardware.name + " " + why);
  };
  if (hardware.cores == 0) refuse("needs a core");
  if (hardware.threads_per_core != 1 && hardware.threads_per_core != 2) {
    refuse("needs 1 or 2 threads a core");
  }
  if (hardware.steps.empty()) refuse("needs a frequency");
  for (const voltage_step& step : hardware.steps) {
    if (step.frequency == 0 || !(step.volts > 0)) refuse("needs frequencies and voltages above 0");
  }
  if (!std::ranges::is_sorted(hardware.steps, std::ranges::less_equal{},
                              &voltage_step::frequency)) {
    refuse("needs its frequencies in ascending order");
  }
  if (hardware.turbo_limits.empty()) refuse("needs a turbo limit for one core");
  if (!(hardware.memory_ns > 0) || !(hardware.misses_per_ns > 0)) {
    refuse("needs a memory with a latency and a bandwidth above 0");
  }
  if (!(hardware.noise >= 0) || !(hardware.noise_of_joules >= 0))
    refuse("needs noise of 0 or more");
}

std::vector<domain> domains_of(const simulated_hardware& hardware) {
  std::vector<kilohertz> frequencies;
  for (const voltage_step& step : hardware.steps) frequencies.push_back(step.frequency);
  std::vector<domain> domains(hardware.shared_domain ? 1 : hardware.cores, {{}, frequencies});
  for (unsigned thread = 0; thread < hardware.threads_per_core; ++thread) {
    for (unsigned core = 0; core < hardware.cores; ++core) {
      domains[hardware.shared_domain ? 0 : core].processors.push_back(thread * hardware.cores +
                                                                      core);
    }
  }
  return domains;
}

// Between 0 and 1, and neither.
double uniform(random::splitmix64& from) {
  return (static_cast<double>(from() >> 11U) + 0.5) * 0x1p-53;
}

// With this many instructions a program never ends, and what it did or has left is not counted.
constexpr double endless = 1e30;

}  // namespace

phase simulated_load(load which, unsigned threads) {
  // The first waits for its own store, the second for each of its 16.4 million misses a second
  // (section 3.1.2.1).
  if (which == load::compute) {
    return {.instructions = endless,
            .threads = threads,
            .cycles = 1.4,
            .misses = 1e-6,
            .activity = 0.8};
  }
  return {
      .instructions = endless, .threads = threads, .cycles = 6, .misses = 0.13, .activity = 0.8};
}

simulated_machine::rates simulated_machine::rates_of(const simulated_hardware& hardware,
                                                     const phase* of,
                                                     std::span<const kilohertz> frequencies,
                                                     std::size_t domains) {
  rates found{.domains = std::vector<counts>(domains), .dynamic_watts = hardware.uncore_watts};
  const unsigned threads = of == nullptr ? 0 : threads_of(*of, hardware);
  const std::vector<kind> kinds = kinds_of(hardware, threads, frequencies);
  const auto leaks = [&](double cores, double volts) {
    found.leakage_watts += cores * hardware.leakage_amperes * volts;
  };
  for (unsigned core = std::min(threads, hardware.cores); core < hardware.cores; ++core) {
    leaks(hardware.sleeping_leakage,
          volts_at(hardware, frequencies[hardware.shared_domain ? 0 : core]));
  }
  if (of == nullptr) return found;
  const double latency = solve_latency(hardware, *of, kinds);
  for (const kind& one : kinds) {
    const durations took = durations_of(*of, cycles_on(hardware, *of, one), one.gigahertz, latency);
    const double per_second = one.threads * one.cores * 1e9 / took.total;
    const double awake = 1 - of->sleep / took.total;
    counts& here = found.domains[one.domain];
    here.instructions += per_second;
    here.cache_misses += per_second * of->misses;
    here.busy_seconds += one.threads * one.cores * awake;
    found.instructions += per_second;
    found.dynamic_watts += per_second * of->misses * hardware.joules_per_miss;
    const double computes = one.threads * of->cycles / one.gigahertz / took.total;
    const double activity =
        hardware.stalled_activity * awake + (of->activity - hardware.stalled_activity) * computes;
    found.dynamic_watts +=
        one.cores * activity * hardware.nanofarads * one.volts * one.volts * one.gigahertz;
    leaks(one.cores * (awake + hardware.sleeping_leakage * (1 - awake)), one.volts);
  }
  return found;
}

namespace {

double leakage_factor(const simulated_hardware& hardware, double temperature) {
  return std::exp(hardware.leakage_per_kelvin * (temperature - reference_temperature));
}

}  // namespace

operation steady_operation(const simulated_hardware& hardware, const phase& of,
                           std::span<const kilohertz> frequencies) {
  const auto found = simulated_machine::rates_of(hardware, &of, frequencies, frequencies.size());
  double misses = 0;
  for (const counts& one : found.domains) misses += one.cache_misses;
  double watts = found.dynamic_watts;
  double temperature = hardware.ambient;
  for (int i = 0; i < 50; ++i) {
    watts = found.dynamic_watts + found.leakage_watts * leakage_factor(hardware, temperature);
    temperature = hardware.ambient + watts * hardware.kelvin_per_watt;
  }
  return {found.instructions, misses, watts, temperature};
}

simulated_machine::simulated_machine(simulated_hardware hardware, std::uint64_t seed)
    : hardware_(std::move(hardware)),
      random_(random::derive_seed(seed, 0)),
      lengths_(random::derive_seed(seed, 1)),
      temperature_(hardware_.ambient) {
  check(hardware_);
  domains_ = domains_of(hardware_);
  const kilohertz highest = hardware_.steps.back().frequency;
  all_.resize(domains_.size(), {.frequency = highest, .wanted = highest, .changes_at = forever});
}

std::string simulated_machine::machine() const {
  return "simulated " + hardware_.name + ", " +
         std::to_string(hardware_.cores * hardware_.threads_per_core) + " processors, " +
         std::to_string(hardware_.steps.size()) + " frequencies up to " +
         std::to_string(hardware_.steps.back().frequency) + " kHz";
}

// Box and Muller (1958).
double simulated_machine::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform(random_)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random_));
}

// Gamma variables as Marsaglia and Tsang (2000) draw them.
double simulated_machine::noisy(double gained, double seconds, double noise) {
  if (noise == 0) return gained;
  const double shape = seconds / (noise * noise * 0.1);
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v <= 0 || std::log(uniform(random_)) >= x * x / 2 + d - d * v + d * std::log(v)) continue;
    const double smaller = shape < 1 ? std::pow(uniform(random_), 1 / shape) : 1;
    return gained * d * v * smaller / shape;
  }
}

void simulated_machine::set(std::size_t domain, kilohertz frequency) {
  const auto& possible = domains_.at(domain).frequencies;
  if (!std::ranges::binary_search(possible, frequency)) {
    throw platform_error(
        "the simulated machine " + hardware_.name + " cannot run at " + std::to_string(frequency) +
        " kHz; it has " + std::to_string(possible.size()) + " frequencies from " +
        std::to_string(possible.front()) + " to " + std::to_string(possible.back()) + " kHz");
  }
  of_domain& one = all_[domain];
  if (frequency == one.wanted) return;
  one.wanted = frequency;
  one.changes_at =
      frequency == one.frequency ? forever : now_ + hardware_.transition_seconds * uniform(random_);
}

void simulated_machine::change_due() {
  for (of_domain& one : all_) {
    if (one.changes_at > now_) continue;
    one.frequency = one.wanted;
    one.changes_at = forever;
    one.halted_until = now_ + hardware_.halted_seconds;
    ++transitions_;
    rates_.reset();
  }
}

void simulated_machine::next_phase() {
  rates_.reset();
  if (next_phase_ == program_.phases.size() * program_.rounds) {
    running_.reset();
    return;
  }
  running_ = program_.phases[next_phase_++ % program_.phases.size()];
  left_ = running_->instructions * (0.9 + 0.2 * uniform(lengths_));
}

void simulated_machine::run(const program& started) {
  for (const phase& one : started.phases) {
    if (!(one.instructions > 0) || !(one.cycles > 0) || !(one.misses >= 0) ||
        !(one.parallel_misses >= 1) || !(one.overlap >= 0 && one.overlap <= 1) ||
        !(one.activity >= 0) || !(one.sleep >= 0)) {
      throw platform_error("the program " + started.name +
                           " has a phase that is not possible: it needs instructions and cycles "
                           "above 0, parallel misses of 1 or more, and an overlap from 0 to 1");
    }
  }
  if (started.phases.empty()) throw platform_error("the program " + started.name + " has no phase");
  program_ = started;
  next_phase_ = 0;
  started_at_ = now_;
  started_joules_ = joules_;
  instructions_ = 0;
  next_phase();
}

// At most this many seconds; ends with the program.
void simulated_machine::pass(double seconds) {
  const double end = now_ + seconds;
  const bool runs = running_.has_value();
  std::vector<kilohertz> frequencies(all_.size());
  while (now_ < end && runs == running_.has_value()) {
    change_due();
    if (!rates_) {
      for (std::size_t i = 0; i < all_.size(); ++i) frequencies[i] = all_[i].frequency;
      rates_ = rates_of(hardware_, running_ ? &*running_ : nullptr, frequencies, all_.size());
    }
    double until = std::min(end, now_ + longest_step);
    double working = 0;  // instructions a second of the domains that do not stand still
    for (std::size_t i = 0; i < all_.size(); ++i) {
      until = std::min(until, all_[i].changes_at);
      if (all_[i].halted_until > now_) {
        until = std::min(until, all_[i].halted_until);
      } else {
        working += rates_->domains[i].instructions;
      }
    }
    double step = until - now_;
    const bool ends = working * step >= left_ && runs;
    if (ends) step = left_ / working;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      of_domain& one = all_[i];
      one.since_read.busy_seconds += rates_->domains[i].busy_seconds * step;
      if (one.halted_until > now_) continue;
      one.since_read.instructions += rates_->domains[i].instructions * step;
      one.since_read.cache_misses += rates_->domains[i].cache_misses * step;
    }
    instructions_ += working * step;
    if (runs && left_ < endless / 2) left_ = ends ? 0 : left_ - working * step;

    const double watts =
        rates_->dynamic_watts + rates_->leakage_watts * leakage_factor(hardware_, temperature_);
    const double joules = watts * step;
    // The temperature nears its aim exponentially; heat that is not stored is lost.
    const double aim = hardware_.ambient + watts * hardware_.kelvin_per_watt;
    const double after =
        aim + (temperature_ - aim) *
                  std::exp(-step / (hardware_.kelvin_per_watt * hardware_.joules_per_kelvin));
    heat_lost_ += joules - (after - temperature_) * hardware_.joules_per_kelvin;
    temperature_ = after;
    joules_ += joules;
    now_ = ends ? now_ + step : until;
    if (ends) next_phase();
  }
}

void simulated_machine::wait(double seconds) {
  if (!(seconds >= 0))
    throw platform_error("a simulated machine cannot wait for less than 0 seconds");
  pass(seconds);
}

reading simulated_machine::read() {
  const double seconds = now_ - read_at_;
  if (seconds > 0) {
    for (of_domain& one : all_) {
      one.reported.instructions += noisy(one.since_read.instructions, seconds, hardware_.noise);
      one.reported.cache_misses += noisy(one.since_read.cache_misses, seconds, hardware_.noise);
      one.reported.busy_seconds += one.since_read.busy_seconds;
      one.since_read = {};
    }
    joules_told_ += noisy(joules_ - joules_read_, seconds, hardware_.noise_of_joules);
    joules_read_ = joules_;
    read_at_ = now_;
  }
  reading found{.seconds = now_, .domains = {}, .joules = joules_told_};
  found.domains.reserve(all_.size());
  for (const of_domain& one : all_) found.domains.push_back(one.reported);
  return found;
}

void simulated_machine::begin_load(load which, unsigned processors) {
  run({.name = "load", .suite = "", .phases = {simulated_load(which, processors)}});
}

void simulated_machine::end_load() {
  running_.reset();
  rates_.reset();
}

// Frequencies are from table 3.2. We chose voltages that reproduce the static rows of table 3.2, as
// satellites/lab/docs/governor-evaluation.md says.
simulated_hardware simulated_xeon() {
  return {.name = "xeon",
          .cores = 4,
          .threads_per_core = 2,
          .shared_domain = true,
          .steps = {{1'400'000, 0.632},
                    {1'600'000, 0.662},
                    {1'800'000, 0.6940},  // NOLINT(modernize-use-std-numbers): volts
                    {2'000'000, 0.724},
                    {2'200'000, 0.750},
                    {2'400'000, 0.789},
                    {2'600'000, 0.835},
                    {2'800'000, 0.863},
                    {3'000'000, 0.891},
                    {3'200'000, 0.920},
                    {3'400'000, 0.962},
                    {3'600'000, 1.007},
                    {4'000'000, 1.200}},
          .turbo_limits = {4'000'000, 4'000'000, 3'900'000, 3'800'000},
          .nanofarads = 3.2,
          .leakage_amperes = 1.0,
          .uncore_watts = 4,
          .memory_ns = 55,
          .misses_per_ns = 0.3};
}

simulated_hardware simulated_snuc() {
  return {.name = "snuc",
          .cores = 2,
          .threads_per_core = 1,
          .shared_domain = true,
          .steps = {{533'000, 0.55},
                    {800'000, 0.6},
                    {1'066'000, 0.66},
                    {1'333'000, 0.73},
                    {1'600'000, 0.8},
                    {1'867'000, 0.88},
                    {2'133'000, 0.97},
                    {2'400'000, 1.08}},
          .turbo_limits = {2'400'000, 2'250'000},
          .nanofarads = 0.7,
          .leakage_amperes = 0.1,
          .uncore_watts = 0.7,
          .joules_per_miss = 3e-9,
          .kelvin_per_watt = 6,
          .joules_per_kelvin = 15,
          .memory_ns = 95,
          .misses_per_ns = 0.12};
}

simulated_hardware simulated_server() {
  simulated_hardware server{.name = "server",
                            .cores = 64,
                            .threads_per_core = 1,
                            .shared_domain = false,
                            .steps = {},
                            .turbo_limits = std::vector<kilohertz>(64, 3'000'000),
                            .nanofarads = 1.8,
                            .leakage_amperes = 0.6,
                            .uncore_watts = 40,
                            .kelvin_per_watt = 0.15,
                            .joules_per_kelvin = 300,
                            .memory_ns = 90,
                            .misses_per_ns = 2.4};
  for (kilohertz frequency = 1'200'000; frequency <= 3'600'000; frequency += 200'000) {
    server.steps.push_back({frequency, 0.6 + 0.16 * (gigahertz(frequency) - 1.2) *
                                                 (0.6 + 0.2 * gigahertz(frequency))});
  }
  for (unsigned active = 1; active <= 16; ++active) server.turbo_limits[active - 1] = 3'600'000;
  return server;
}

simulated_hardware simulated_hardware_named(std::string_view name) {
  for (const auto& one : {simulated_xeon(), simulated_snuc(), simulated_server()}) {
    if (one.name == name) return one;
  }
  throw platform_error("no simulated machine is called " + std::string(name) +
                       "; there are xeon, snuc and server");
}

}  // namespace assay::energy
