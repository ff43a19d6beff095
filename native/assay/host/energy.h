// How much energy the processors and their memory took, by the counters that Linux shows through
// its powercap interface (RAPL: Intel since Sandy Bridge, AMD since Zen), or why that is not known.
//
//     energy_meter meter;
//     meter.start();
//     ...
//     const energy used = meter.stop();
//     used.joules;       // {{"package-0", 12.7}, {"package-0/dram", 1.9}}
//     used.unavailable;  // {}
//
// A zone counts for all that runs on it, not for this process alone, in steps of about a
// millisecond. Most virtual machines have none, and since Linux 5.10 only root may read them (they
// leak what other processes compute: Lipp et al. 2021, "PLATYPUS").

#ifndef ASSAY_HOST_ENERGY_H_
#define ASSAY_HOST_ENERGY_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay::host {

struct energy {
  // Each zone is in one of these two: "package-0", and a part of it "package-0/dram". If there are
  // no zones, "package" represents all.
  std::map<std::string, double> joules;
  std::map<std::string, std::string> unavailable;

  // The energy of all packages and their memory. A zone that is a part of another one is not
  // counted twice (cores of their package, packages of the whole platform). None if any is not
  // available.
  [[nodiscard]] std::optional<double> total_joules() const;
};

// The first line of a file. Throws std::system_error.
using line_reader = std::function<std::string(const std::filesystem::path&)>;
[[nodiscard]] std::string read_line(const std::filesystem::path& file);

class energy_meter {
 public:
  // Zones are looked for in `directory`, and their files read by `read`, so that a test can show it
  // a machine unlike its own.
  explicit energy_meter(const std::filesystem::path& directory = "/sys/class/powercap",
                        line_reader read = read_line);

  // Called once each, in this order; both read a file of each zone.
  void start();
  [[nodiscard]] energy stop();

  // In place of stop(), as often as wanted: what was used since start() or the last lap(). No zone
  // may begin again twice in between.
  [[nodiscard]] energy lap();

 private:
  struct zone {
    std::string name;
    std::filesystem::path counter;
    std::uint64_t range_uj;  // the counter begins again at 0 after it
    std::uint64_t before_uj = 0;
  };

  line_reader read_;
  std::vector<zone> zones_;
  std::map<std::string, std::string> unavailable_;
};

}  // namespace assay::host

#endif  // ASSAY_HOST_ENERGY_H_
