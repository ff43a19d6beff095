// A machine as a power governor sees it: frequencies that can be set, counters, time.
//
// What governs is written once and runs on each of them: a real machine, the same code on a mocked
// /sys (tests), and a simulated machine whose time passes as fast as it is computed.

#ifndef ASSAY_ENERGY_PLATFORM_H_
#define ASSAY_ENERGY_PLATFORM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::energy {

using kilohertz = std::uint32_t;  // as cpufreq counts

[[nodiscard]] constexpr double gigahertz(kilohertz frequency) { return frequency / 1e6; }

// Processors that have one frequency together.
struct domain {
  std::vector<unsigned> processors;
  std::vector<kilohertz> frequencies;  // ascending, at least one
};

// Counts of a domain's processors, since the platform was opened.
struct counts {
  double instructions;
  double cache_misses;  // of the last level
  double busy_seconds;  // not idle: up to the number of processors in each second
};

struct reading {
  double seconds;                // since the platform was opened
  std::vector<counts> domains;   // in the order of platform::domains()
  std::optional<double> joules;  // of the whole machine, where it has a counter
};

// What a governor is trained with (Bonnichsen 2016, listing 3.2).
enum class load : std::uint8_t { compute, memory };

// The message names the place and the remedy.
class platform_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Methods throw platform_error. One thread at a time.
class platform {
 public:
  platform() = default;
  platform(const platform&) = delete;
  platform& operator=(const platform&) = delete;
  virtual ~platform() = default;

  // The same as long as the platform lives.
  [[nodiscard]] virtual const std::vector<domain>& domains() const = 0;
  // Identifies the machine of a training: model of the processor, number of processors,
  // frequencies.
  [[nodiscard]] virtual std::string machine() const = 0;

  // One of the domain's frequencies.
  virtual void set(std::size_t domain, kilohertz frequency) = 0;
  [[nodiscard]] virtual reading read() = 0;
  // Returns when this much time has passed, or earlier if something asked the process to end.
  virtual void wait(double seconds) = 0;

  // Runs a load on this many processors until end_load(). At most one runs.
  virtual void begin_load(load which, unsigned processors) = 0;
  virtual void end_load() = 0;
};

}  // namespace assay::energy

#endif  // ASSAY_ENERGY_PLATFORM_H_
