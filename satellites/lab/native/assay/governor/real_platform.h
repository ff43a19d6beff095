// A real machine, by what Linux offers: cpufreq, perf_event_open, powercap or hwmon.
//
//     real_platform machine(std::make_unique<kernel>());
//     machine.set(0, machine.domains()[0].frequencies.back());
//
// A domain is a policy of cpufreq. Its frequency is set in one of two ways, by what is found: where
// its governor is `userspace`, in scaling_setspeed; else both limits, scaling_min_freq and
// scaling_max_freq, become the frequency, which holds under any governor and is the only way with
// intel_pstate and amd-pstate. Nothing else is written, and nothing is put back: who starts this
// has noted what was there (python/assay/governor).
//
// Frequencies are those that all policies have in common, within the limits that were found: those
// the driver lists, or else steps of 100 MHz with both ends of its range.
//
// What changes while it runs: the counters of a processor that goes offline end, and begin anew
// when it is back, when its domain's frequency is set again. So do counters that stood still for a
// whole interval or cannot be read any more, as where a processor was away between two readings, or
// after a suspend. A counter of energy that vanishes is noted, and there are no joules from then
// on. Counters of instructions that cannot be opened are an error, as nothing can be decided
// without; but those of a processor that goes offline vanish before the kernel says so: they are
// tried again at each reading, for two seconds.

#ifndef ASSAY_GOVERNOR_REAL_PLATFORM_H_
#define ASSAY_GOVERNOR_REAL_PLATFORM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/energy/platform.h"
#include "assay/governor/kernel.h"
#include "assay/governor/loads.h"
#include "assay/host/energy.h"

namespace assay::energy {

// A policy of cpufreq, as it was found.
struct policy {
  std::string place;  // its folder
  std::string driver;
  std::string governor;
  bool by_speed;  // scaling_setspeed; else by both limits
  std::vector<unsigned> processors;
  std::vector<kilohertz> frequencies;  // of the hardware, ascending
  kilohertz least;                     // the limits that were found
  kilohertz most;
};

// Throws platform_error: there is none, or its files make no sense.
[[nodiscard]] std::vector<policy> find_policies(kernel& of);

// Such as "Intel(R) Xeon(R) CPU E3-1276 v3; 8 processors; 800000-3600000 kHz in 15 steps".
[[nodiscard]] std::string machine_of(kernel& of, const std::vector<policy>& policies);

// The joules that all packages and their memory have taken since it was made.
class joule_counter {
 public:
  explicit joule_counter(kernel& of);

  // None from the first time on that a counter cannot be read.
  [[nodiscard]] std::optional<double> read();
  // Why there are none; empty where there are.
  [[nodiscard]] const std::string& lacking() const { return lacking_; }

 private:
  struct socket {
    std::string place;
    double before_uj;
  };

  kernel& kernel_;
  host::energy_meter powercap_;
  std::vector<socket> sockets_;  // of hwmon, where powercap has none
  double joules_ = 0;
  std::string lacking_;
};

struct real_options {
  bool exact =
      true;  // where another frequency is found than was set, that is an error; else a note
  std::size_t load_bytes = std::size_t{256} << 20;
};

class real_platform : public platform {
 public:
  // Throws platform_error where frequencies cannot be set or instructions not be counted.
  explicit real_platform(std::unique_ptr<kernel> of, real_options options = {});
  real_platform(const real_platform&) = delete;
  real_platform& operator=(const real_platform&) = delete;
  ~real_platform() override = default;

  [[nodiscard]] const std::vector<domain>& domains() const override { return domains_; }
  [[nodiscard]] std::string machine() const override { return machine_; }
  [[nodiscard]] const std::vector<policy>& policies() const { return policies_; }

  void set(std::size_t domain, kilohertz frequency) override;
  [[nodiscard]] reading read() override;
  void wait(double seconds) override { kernel_->wait(seconds); }
  void begin_load(load which, unsigned processors) override;
  void end_load() override { loads_.reset(); }

  [[nodiscard]] const joule_counter& joules() const { return joules_; }

  // What has become worse since the last call, a line each.
  [[nodiscard]] std::vector<std::string> take_notes();

 private:
  struct processor {
    std::size_t domain;
    std::unique_ptr<processor_counters> counters{};  // none while it is offline
    bool was_counted = false;
    std::optional<double> going_since{};  // the kernel's time: no such device, but told as online
    counted before{};
    double counted_at = 0;  // of the kernel's time
    std::optional<double> busy_before{};
  };

  void note(const std::string& text);
  void follow_processors();
  bool open(processor& of, unsigned number);
  void set_again(const std::set<std::size_t>& domains);
  [[nodiscard]] bool count(processor& of, unsigned number, double at);
  void add_busy_time();
  [[nodiscard]] kilohertz frequency_of(const policy& of) const;
  [[nodiscard]] bool has_processors(const policy& of) const;
  void put(const policy& of, kilohertz frequency);

  std::unique_ptr<kernel> kernel_;
  real_options options_;
  std::vector<policy> policies_;
  std::string machine_;
  std::vector<domain> domains_;
  std::vector<kilohertz> set_;     // of each domain; 0 before the first
  std::vector<kilohertz> capped_;  // what was found in place of the last one; 0: it was taken
  std::map<unsigned, processor> processors_;
  std::string online_;  // as the kernel wrote it
  std::vector<counts> counts_;
  joule_counter joules_;
  double began_;
  std::vector<std::string> notes_;
  std::set<std::string> noted_;
  std::optional<training_loads> loads_;
};

}  // namespace assay::energy

#endif  // ASSAY_GOVERNOR_REAL_PLATFORM_H_
