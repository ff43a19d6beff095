// How a trial can mislead on purpose: what other harnesses do and the honest trial does not.
//
// Only those are here that no setting of the honest trial expresses. The maps are right, and but
// for lost_updates their contents are validated as always: it is the loop around them that
// misleads.

#ifndef ASSAY_FLAWED_MODES_FLAWS_H_
#define ASSAY_FLAWED_MODES_FLAWS_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "assay/input/json.h"
#include "assay/trial/request.h"

namespace assay::flawed {

enum class flaw {
  never_inserts,
  one_seed,
  effective_updates,
  alternating_keys,
  failed_updates_as_searches,
  insert_only_prefill,
  single_threaded_prefill,
  no_prefill,
  power_of_two_range,
  clock_every_operation,
  nominal_time,
  half_the_processors,
  latency_from_start,
  debug_build,
  lost_updates,
};

inline constexpr std::size_t number_of_flaws = 15;

struct flaw_entry {
  std::string_view name;
  std::string_view description;
  std::string_view source;  // which harness or paper does so
};

// In the order of `flaw`. Kharal and Brown: Performance Anomalies in Concurrent Data Structure
// Microbenchmarks (2022).
inline constexpr std::array<flaw_entry, number_of_flaws> flaw_entries{{
    {"never_inserts",
     "every update is an erase, so that the map empties and searches end at its root",
     "Synchrobench's unsigned flag: Kharal and Brown, 4.5.1"},
    {"one_seed", "all threads draw the same keys and operations from one seed, one after the other",
     "Synchrobench: Kharal and Brown, 4.5.2"},
    {"effective_updates",
     "an insert must succeed before an erase is tried, and an erase before an insert: no thread "
     "updates at random",
     "Synchrobench: Kharal and Brown, 4.5.4"},
    {"alternating_keys",
     "an erase takes the key that its thread inserted last, which its caches still hold",
     "Synchrobench's option -A: Kharal and Brown, 4.1"},
    {"failed_updates_as_searches",
     "updates that change nothing are counted as searches, and others are made up for them: the "
     "map meets another mix than was asked for",
     "Synchrobench's option -f: Kharal and Brown, 4.1"},
    {"insert_only_prefill",
     "the prefill inserts keys and erases none: the map has a shape that updates at random do not "
     "leave it",
     "Synchrobench and ASCYLIB: Kharal and Brown, 4.8"},
    {"single_threaded_prefill",
     "one thread fills the map for all: its memory lies near this thread, in the order of its "
     "inserts",
     "Synchrobench and ASCYLIB: Kharal and Brown, 4.8"},
    {"no_prefill",
     "the map is empty when the measurement begins, and its size changes all the time",
     "Kharal and Brown, 2"},
    {"power_of_two_range",
     "the key range is rounded up to a power of two, and the low bits of a number are its key",
     "ASCYLIB: Kharal and Brown, 4.2"},
    {"clock_every_operation",
     "the clock is read after every operation, which is part of what is measured",
     "loops that ask before each operation whether time is over"},
    {"nominal_time",
     "operations are divided by the time that was asked for, not by the time that passed",
     "harnesses that divide by their option for the duration"},
    {"half_the_processors",
     "all threads share one half of the processors, and the other half is idle",
     "ASCYLIB's pinning as installed: Kharal and Brown, 4.6.1"},
    {"latency_from_start",
     "latency counts from when an operation began, not from when it was due: nobody sees that it "
     "waited",
     "coordinated omission (Tene 2013)"},
    {"debug_build",
     "the map and the loop around it are compiled without optimisation and with assertions",
     "a build for finding mistakes that was measured"},
    {"lost_updates",
     "one insert in 100 that succeeded is lost again, as a map with a mistake loses it, and nobody "
     "compares the map's contents with what its operations answered",
     "Synchrobench's lock-free tree: Kharal and Brown, 4.5.4"},
}};

// A set of them.
class flaws {
 public:
  [[nodiscard]] bool has(flaw one) const { return set_[static_cast<std::size_t>(one)]; }
  void add(flaw one) { set_.set(static_cast<std::size_t>(one)); }
  [[nodiscard]] bool any_of(std::initializer_list<flaw> some) const {
    for (const flaw one : some) {
      if (has(one)) return true;
    }
    return false;
  }

 private:
  std::bitset<number_of_flaws> set_;
};

// Reads a list of names, each once and at least one. Throws bad_request.
[[nodiscard]] flaws parse_flaws(const input::json_node& node);

// Throws bad_request where a flaw could change nothing, so that no trial bears a name for nothing.
void require_effect(const flaws& chosen, const trial::request& request, bool holds_nothing);

// What is asked for in place of `request`: its key range and where its threads run.
[[nodiscard]] trial::request misled(trial::request request, const flaws& chosen);

}  // namespace assay::flawed

#endif  // ASSAY_FLAWED_MODES_FLAWS_H_
