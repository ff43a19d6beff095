// What a trial is asked to do: schema trial-request.

#ifndef ASSAY_TRIAL_REQUEST_H_
#define ASSAY_TRIAL_REQUEST_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/host/placement.h"
#include "assay/input/bad_request.h"
#include "assay/measure/process.h"
#include "assay/subject/type_spec.h"
#include "assay/trial/drawing.h"
#include "assay/workload/key_space.h"
#include "assay/workload/options.h"

namespace assay::trial {

// Gaps between arrivals: exponential, as of many independent sources, or all the same.
enum class spacing { poisson, even };

// When operations begin that do not follow each other at once: at `rate` a second in the role as a
// whole, whether or not earlier ones have ended (an open loop). Latency counts from that moment.
struct arrivals {
  double rate;
  trial::spacing spacing = trial::spacing::poisson;
};

// Threads that do the same kind of work.
struct role {
  std::string name = "all";
  unsigned threads = 1;
  workload::options work{};
  workload::fold fold = workload::fold::count;  // what ranges and whole visits do with elements
  std::optional<trial::arrivals> arrivals{};    // none: each operation follows the last at once
};

// One role that has all threads, which do the same mix.
[[nodiscard]] inline std::vector<role> one_role(unsigned threads, const workload::mix& mix) {
  std::vector<role> roles(1);
  roles[0].threads = threads;
  roles[0].work.mix = mix;
  return roles;
}

// How the map is brought to what it holds when measuring begins.
struct filling {
  enum class method {
    updates,  // random inserts and erases: a steady state
    inserts,  // distinct keys in random order
    sorted,   // the same keys in ascending order
    none
  };
  std::optional<filling::method> filled_by{};  // none given: updates
  std::optional<std::uint64_t> size{};  // keys or entries; none: as many as the mix leaves it
  std::optional<unsigned> threads{};    // how many of the first threads fill; none: all
};

// A fixed amount of work that is measured in place of a mix and a time: distinct keys are inserted
// or erased, each once, by all threads, which share them out.
struct phase {
  enum class kind {
    load,  // inserts into an empty map
    grow,  // inserts of keys that the filled map does not hold
    drain  // erases of all that it holds
  };
  phase::kind what = kind::load;
  std::optional<std::uint64_t> size{};  // keys; none: all that there are
  bool sorted = false;                  // ascending keys; else a random order
};

// What a thread performs.
struct operation_counts {
  std::uint64_t warm_up;
  std::uint64_t measured;
};

// The operations whose latency is measured: none (0), all (1), or one in this many.
using latency_sampling = std::uint32_t;

struct request {
  std::string subject;
  std::uint64_t seed;
  host::pinning pinning;
  std::uint64_t key_range;
  workload::key_layout keys;
  std::vector<role> roles;              // threads are numbered through them in order
  std::chrono::milliseconds warm_up{};  // before the measured interval
  std::chrono::milliseconds duration;
  std::chrono::milliseconds interval;
  subject::type_spec key{};
  subject::type_spec value{};
  // Lengths of keys that are strings; lengths of values, or values that are numbers. None: uniform.
  std::optional<drawing> key_lengths{};
  std::optional<drawing> values{};
  filling prefill{};
  std::optional<trial::phase> phase{};  // the role then has the mix that this performs
  latency_sampling latency = 0;
  std::optional<std::size_t> batch{};  // operations in a batch; none: as many as take 100 us
  bool probes = true;
  std::vector<std::string> events{};  // counted beside those of every trial, by libpfm's names
  std::string allocator{};            // that must be in the process; empty: whichever is
  std::string transactions{};         // that it must have; empty: whichever it has
  std::string memory_policy{};        // local or interleave; empty: as the process was started
  measure::perturbation perturbation{};
  // For a replay: each thread's warm-up and measured interval end with these operations, and not
  // when time is over. Empty: when time is over.
  std::vector<operation_counts> operations{};

  [[nodiscard]] unsigned threads() const {
    unsigned sum = 0;
    for (const auto& role : roles) sum += role.threads;
    return sum;
  }
};

// Reads a request from JSON; schema trial-request says which keys there are. Throws bad_request.
[[nodiscard]] request parse_request(std::string_view json);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_REQUEST_H_
