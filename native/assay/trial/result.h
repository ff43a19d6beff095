// What a trial found out: schema trial-result.

#ifndef ASSAY_TRIAL_RESULT_H_
#define ASSAY_TRIAL_RESULT_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "assay/host/usage.h"
#include "assay/trial/prefill.h"
#include "assay/trial/validation.h"
#include "assay/trial/worker.h"

namespace assay::trial {

// One thread's part, without what it needed for its work.
struct thread_report {
  std::uint64_t seed;
  std::vector<unsigned> bound_to;
  std::optional<unsigned> last_ran_on;
  std::uint64_t measured_ns;
  std::uint64_t processor_ns;
  tally operations;
  std::vector<std::uint64_t> series;
  std::optional<unfinished_operation> unfinished;
  double generation_ns;
};

struct result {
  std::vector<std::string> problems;  // why the trial is invalid; empty if it is valid
  std::map<std::string, double> metrics;
  std::vector<thread_report> threads;
  prefill_report prefill;
  std::optional<validation> contents_check;  // none for a subject that holds nothing
  host::usage usage;
};

// `environment` is host::environment().
[[nodiscard]] nlohmann::json to_json(const result& result, nlohmann::json environment);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_RESULT_H_
