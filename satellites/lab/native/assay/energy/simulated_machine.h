// A machine that is computed, for governors of frequencies: its time passes as fast as it is
// computed, and the same seed gives the same run.
//
//     simulated_machine machine(simulated_xeon(), 42);
//     machine.run(workload);
//     govern(machine, {&governor}, [&] { return machine.idle(); });
//     machine.joules() * machine.seconds();  // ED, as it is and without the noise of counters
//
// The equations. One program runs at a time, in phases; all threads of a phase do the same work. An
// instruction of a thread takes
//
//     on  = cycles * s / f                  cycles on the chip; s > 1 where the core is shared by
//     two threads off = misses * L / parallel_misses    waiting for memory t   = on + off - overlap
//     * min(on, off) + sleep
//
// Without overlap that is equation 1 of Bonnichsen (2016); with an overlap of 1 the larger of the
// two, as eDVFS has it (Kim et al. 2014). Latency grows with the misses X of all threads as in a
// queue with one server (Kleinrock 1975), up to the bandwidth B:
//
//     L = L0 / (1 - X / B)      X = sum of misses / t, solved for X
//
// The frequency f is the requested one, or the turbo's limit for the number of active cores if that
// is less. A request takes effect after a delay (Hackenberg et al. 2015: up to 0.5 ms on Haswell),
// and the domain halts while it changes. With the voltage V(f) and the temperature T, the power of
// the processor's package is
//
//     core    = activity * C * V^2 * f                   (Mudge 2001)
//     activity = stalled + (of the phase - stalled) * n * cycles / (f * t)      with n threads on
//     the core leakage = I * V * exp(beta * (T - 50))             of each core; a sleeping one
//     leaks less (Butts and Sohi 2000; Liao et al. 2005) package = uncore + sum of cores and
//     leakage + joules_per_miss * X dT/dt   = (package * R - (T - ambient)) / (R * C_heat) (Skadron
//     et al. 2004)
//
// Counters are read with noise: what a counter gained is multiplied by a gamma variable with a mean
// of 1 and a deviation of `noise` over 0.1 seconds, and of noise * sqrt(0.1 / s) over s seconds, so
// that the noise of a span does not depend on how often it is read. Times and which processors are
// busy have none.

#ifndef ASSAY_ENERGY_SIMULATED_MACHINE_H_
#define ASSAY_ENERGY_SIMULATED_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/energy/platform.h"
#include "assay/random/splitmix64.h"

namespace assay::energy {

// A part of a program. Counts are of an instruction.
struct phase {
  double instructions;         // of all threads together, > 0
  unsigned threads;            // at most one a processor runs; 0: as many as there are processors
  double cycles;               // on the chip
  double misses;               // of the last cache
  double parallel_misses = 1;  // that are waited for together
  double overlap = 0;          // of work on the chip and waiting, 0 to 1
  double activity = 1;         // of transistors, while it computes
  double sleep = 0;            // nanoseconds, neither computing nor waiting for memory
};

struct program {
  std::string name;
  std::string suite;
  std::vector<phase> phases;  // one after another
  unsigned rounds = 1;        // of all phases
};

struct voltage_step {
  kilohertz frequency;
  double volts;
};

struct simulated_hardware {
  std::string name;
  unsigned cores;
  unsigned threads_per_core;            // 1 or 2
  bool shared_domain;                   // all cores have one frequency, or each its own
  std::vector<voltage_step> steps;      // ascending
  std::vector<kilohertz> turbo_limits;  // with 1, 2, ... active cores; the last one for more
  double sharing = 1.6;  // s: cycles of each of two threads of a core, where one alone takes 1
  double transition_seconds = 0.5e-3;  // at most, until a frequency is in force
  double halted_seconds = 10e-6;       // of them without work
  double nanofarads;                   // C: of a core
  double stalled_activity = 0.3;
  double leakage_amperes;             // I: of a core, at 50 degrees
  double leakage_per_kelvin = 0.012;  // beta
  double sleeping_leakage = 0.2;      // of what an active core leaks
  double uncore_watts;
  double joules_per_miss = 5e-9;
  double ambient = 30;            // degrees Celsius
  double kelvin_per_watt = 0.5;   // R
  double joules_per_kelvin = 40;  // C_heat
  double memory_ns;               // L0
  double misses_per_ns;           // B
  double noise = 0.2;
  double noise_of_joules = 0.02;
};

// The machines of table 3.1 of Bonnichsen (2016), and an invented one: 64 cores, each with its own
// frequency.
[[nodiscard]] simulated_hardware simulated_xeon();
[[nodiscard]] simulated_hardware simulated_snuc();
[[nodiscard]] simulated_hardware simulated_server();
// By name: xeon, snuc, server. Throws platform_error.
[[nodiscard]] simulated_hardware simulated_hardware_named(std::string_view name);

// The microbenchmarks of listing 3.2, without an end.
[[nodiscard]] phase simulated_load(load which, unsigned threads);

// What a phase does while each domain has a frequency, with the temperature at which it would stay
// for ever.
struct operation {
  double instructions_per_second;
  double cache_misses_per_second;
  double watts;
  double temperature;
};
[[nodiscard]] operation steady_operation(const simulated_hardware& hardware, const phase& of,
                                         std::span<const kilohertz> frequencies);

// One thread at a time.
class simulated_machine final : public platform {
 public:
  // Throws platform_error where the hardware is not possible.
  simulated_machine(simulated_hardware hardware, std::uint64_t seed);

  [[nodiscard]] const std::vector<domain>& domains() const override { return domains_; }
  [[nodiscard]] std::string machine() const override;
  void set(std::size_t domain, kilohertz frequency) override;
  [[nodiscard]] reading read() override;
  // Until the program ends, at most.
  void wait(double seconds) override;
  void begin_load(load which, unsigned processors) override;
  void end_load() override;

  // Begins with the first phase, and counts seconds() and joules() from 0. Phases get up to 10%
  // longer or shorter, by the seed.
  void run(const program& started);
  [[nodiscard]] bool idle() const { return !running_; }
  // The present one; not when idle.
  [[nodiscard]] const phase& present() const { return *running_; }
  [[nodiscard]] std::size_t phase_index() const {
    return (next_phase_ - 1) % program_.phases.size();
  }

  // As they are, without noise, since the last run().
  [[nodiscard]] double seconds() const { return now_ - started_at_; }
  [[nodiscard]] double joules() const { return joules_ - started_joules_; }
  [[nodiscard]] double instructions() const { return instructions_; }
  [[nodiscard]] double temperature() const { return temperature_; }
  [[nodiscard]] double heat_lost() const { return heat_lost_; }  // joules, since it was made
  [[nodiscard]] std::uint64_t transitions() const { return transitions_; }

 private:
  struct of_domain {
    kilohertz frequency;  // in force
    kilohertz wanted;
    double changes_at;        // infinity: as wanted already
    double halted_until = 0;  // stands still
    counts since_read{};
    counts reported{};
  };
  // What goes on until a frequency or the phase changes.
  struct rates {
    std::vector<counts> domains;  // a second
    double instructions = 0;
    double dynamic_watts = 0;  // and of the uncore
    double leakage_watts = 0;  // at 50 degrees
  };

  friend operation steady_operation(const simulated_hardware&, const phase&,
                                    std::span<const kilohertz>);
  [[nodiscard]] static rates rates_of(const simulated_hardware& hardware, const phase* of,
                                      std::span<const kilohertz> frequencies, std::size_t domains);

  void pass(double seconds);
  void next_phase();
  void change_due();
  [[nodiscard]] double normal();
  [[nodiscard]] double noisy(double gained, double seconds, double noise);

  simulated_hardware hardware_;
  std::vector<domain> domains_;
  random::splitmix64 random_;   // of noise and delays
  random::splitmix64 lengths_;  // of phases: the same whatever governs
  std::vector<of_domain> all_;
  std::optional<rates> rates_;
  program program_;
  std::optional<phase> running_;
  std::size_t next_phase_ = 0;
  double left_ = 0;  // instructions of the present phase
  double now_ = 0;
  double read_at_ = 0;
  double started_at_ = 0;
  double joules_ = 0;
  double joules_read_ = 0;
  double joules_told_ = 0;
  double started_joules_ = 0;
  double instructions_ = 0;
  double temperature_;
  double heat_lost_ = 0;
  std::uint64_t transitions_ = 0;
};

}  // namespace assay::energy

#endif  // ASSAY_ENERGY_SIMULATED_MACHINE_H_
