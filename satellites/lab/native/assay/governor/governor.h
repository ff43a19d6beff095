// What chooses a frequency, and what carries the choice out.
//
//     simulated_machine machine{...};                  // or a real one: any platform
//     adaptive_governor governor(training, {.exponent = 1});
//     energy::govern(machine, {&governor}, [&] { return machine.idle(); });
//
// A governor is a pure function of what it has seen: it knows neither clock nor platform, so that a
// rival, a test and the daemon run the same one.

#ifndef ASSAY_GOVERNOR_GOVERNOR_H_
#define ASSAY_GOVERNOR_GOVERNOR_H_

#include <functional>
#include <string>
#include <vector>

#include "assay/energy/platform.h"

namespace assay::energy {

// What a domain did while it had one frequency.
struct interval {
  kilohertz frequency;
  double seconds;                  // > 0
  double instructions_per_second;  // of all its processors together
  double cache_misses_per_second;
  double active_processors;  // how many were not idle, on average
  double active_in_machine;  // likewise, of all domains
};

struct decision {
  kilohertz frequency;
  double seconds;   // until the next one, > 0
  std::string why;  // for people
};

// Governs one domain.
class governor {
 public:
  governor() = default;
  governor(const governor&) = delete;
  governor& operator=(const governor&) = delete;
  virtual ~governor() = default;

  [[nodiscard]] virtual decision first() = 0;
  // `last` is the interval that the last decision led to.
  [[nodiscard]] virtual decision next(const interval& last) = 0;
};

// Governs the domains of a platform, each with its own governor, until `over` says so. `over` is
// called after the decisions that are due together, `on_decision` before each decision is carried
// out. Throws platform_error.
void govern(platform& machine, const std::vector<governor*>& governors,
            const std::function<bool()>& over,
            const std::function<void(std::size_t domain, const decision&)>& on_decision = {});

}  // namespace assay::energy

#endif  // ASSAY_GOVERNOR_GOVERNOR_H_
