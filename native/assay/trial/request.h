// What a trial is asked to do: schema trial-request.

#ifndef ASSAY_TRIAL_REQUEST_H_
#define ASSAY_TRIAL_REQUEST_H_

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "assay/host/placement.h"
#include "assay/workload/key_space.h"
#include "assay/workload/mix.h"

namespace assay::trial {

// A trial that cannot be run as it was asked for, with a message that names the key at fault. A
// type of its own, as a map may throw any of the standard library's.
class bad_request : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct request {
  std::string subject;
  std::uint64_t seed;
  unsigned threads;
  host::pinning pinning;
  std::uint64_t key_range;
  workload::key_layout keys;
  workload::mix mix;
  std::chrono::milliseconds warm_up{};  // before the measured interval
  std::chrono::milliseconds duration;
  std::chrono::milliseconds interval;
};

// Reads a request from JSON. Every key is required but `warm_up_ms`, which is 0 if it is missing,
// and no other is allowed. Throws bad_request.
[[nodiscard]] request parse_request(std::string_view json);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_REQUEST_H_
