// assay-govern on a mocked /sys, for tests: umockdev and trees of files cannot mock
// perf_event_open, so counters are made here, of a program that waits for memory, at the frequency
// that is set. Its energy counter counts on.

#include <memory>
#include <string>

#include "assay/energy/platform.h"
#include "assay/governor/governor_process.h"

namespace assay::energy {
namespace {

const std::string policy_place = "/sys/devices/system/cpu/cpufreq/policy0/";
const std::string joules_place = "/sys/class/powercap/intel-rapl:0/energy_uj";

class made_counters final : public processor_counters {
 public:
  explicit made_counters(kernel& of) : kernel_(of), before_(of.now()) {}

  counted read() override {
    const bool by_speed = kernel_.read(policy_place + "scaling_governor") == "userspace";
    const double ghz = std::stod(kernel_.read(
                           policy_place + (by_speed ? "scaling_setspeed" : "scaling_max_freq"))) /
                       1e6;
    const double now = kernel_.now();
    const double seconds = now - before_;
    before_ = now;
    instructions_ += seconds * 1e9 / (0.5 + 1 / ghz);
    misses_ += seconds * 1e7;
    enabled_ += seconds * 1e9;
    if (!kernel_.list("/sys/class/powercap").empty()) use_energy(seconds * 1e6 * (10 + ghz * ghz));
    const auto whole = [](double value) { return static_cast<std::uint64_t>(value); };
    return {whole(enabled_), whole(enabled_), whole(instructions_), whole(misses_)};
  }

 private:
  void use_energy(double microjoules) {
    const double joules = std::stod(kernel_.read(joules_place)) + microjoules;
    kernel_.write(joules_place, std::to_string(static_cast<unsigned long long>(joules)));
  }

  kernel& kernel_;
  double before_;
  double enabled_ = 0;
  double instructions_ = 0;
  double misses_ = 0;
};

class mocked_kernel final : public kernel {
 public:
  using kernel::kernel;

  std::unique_ptr<processor_counters> open_counters(unsigned /*processor*/) override {
    return std::make_unique<made_counters>(*this);
  }
};

}  // namespace
}  // namespace assay::energy

int main(int argc, char** argv) {
  return assay::energy::govern_main(argc, argv, [](const auto& root, int ended) {
    return std::make_unique<assay::energy::mocked_kernel>(root, ended);
  });
}
