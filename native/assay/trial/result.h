// What a trial found out: schema trial-result.

#ifndef ASSAY_TRIAL_RESULT_H_
#define ASSAY_TRIAL_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "assay/host/energy.h"
#include "assay/host/usage.h"
#include "assay/probe/recording.h"
#include "assay/trial/latency.h"
#include "assay/trial/prefill.h"
#include "assay/trial/validation.h"
#include "assay/trial/worker.h"

namespace assay::trial {

// One thread's part, without what it needed for its work.
struct thread_report {
  std::uint64_t seed = 0;
  std::size_t role = 0;  // in result::roles
  std::vector<unsigned> bound_to{};
  std::optional<unsigned> last_ran_on{};
  std::uint64_t measured_ns = 0;
  std::uint64_t processor_ns = 0;
  std::uint64_t warmed_up = 0;  // operations before the measured interval
  subject::tally operations{};
  std::vector<std::uint64_t> series{};
  std::optional<unfinished_operation> unfinished{};
  std::uint64_t longest_ns = 0;
  std::uint64_t clock_reads = 0;
  std::optional<arrival_counts> arrival{};
  double generation_ns = 0;
};

// One role's part, in addition to its threads'.
struct role_report {
  std::string name;
  bool open_loop = false;
  latencies durations{};  // of all its threads
};

// How the durations in role_report came about.
struct latency_report {
  latency_sampling sampling;
  double clock_ns;  // cost of one reading of the clock
};

struct memory_report {
  struct moment {
    double ms;  // since the measured interval began
    std::uint64_t bytes;
  };
  std::vector<moment> resident{};
  std::string policy{};
};

struct result {
  std::vector<std::string> problems{};  // why the trial is invalid; empty if it is valid
  std::map<std::string, double> metrics{};
  std::vector<workload::operation> kinds{};  // every map's, and any other that a mix names
  std::vector<thread_report> threads{};
  std::vector<role_report> roles{};
  prefill_report prefill{};
  std::optional<validation> contents_check{};  // none for a subject that holds nothing
  host::usage usage{};
  std::optional<latency_report> latency{};               // none if no operation was timed
  std::optional<std::vector<probe::recorded>> probes{};  // none if they did not record
  memory_report memory{};
  host::energy energy{};
  std::string not_replayable_because{};  // empty if a replay performs the same operations again
};

// `environment` is host::environment().
[[nodiscard]] nlohmann::json to_json(const result& result, nlohmann::json environment);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_RESULT_H_
