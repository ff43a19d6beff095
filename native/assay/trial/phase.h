// A phase that loads, grows or drains a map, as the work that is measured.
//
// Which keys are inserted or erased follows from the request and from what the map holds, so that
// every operation does something: of a correct map, each answers that it did. The threads share the
// keys out in equal parts, and the phase lasts from the common start to the end of the last thread.

#ifndef ASSAY_TRIAL_PHASE_H_
#define ASSAY_TRIAL_PHASE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/subject/any_map.h"
#include "assay/trial/request.h"
#include "assay/trial/worker.h"
#include "assay/workload/key_space.h"

namespace assay::trial {

// The keys of a phase, in order. The list must outlive the workers' use of it.
class phase_keys {
 public:
  // Takes the memory that it needs, so that what memory grows by later is the map's.
  explicit phase_keys(const request& request);

  // To be called when no handle of `map` is inside a call. Gives each worker its part: what it
  // performs, and how much. Of a multimap or a queue, in which a key may lie many times, all keys
  // may be inserted, and each erase is for any.
  void share_out(subject::any_map& map, subject::structure structure, const request& request,
                 const workload::key_space& space, std::span<worker> workers);

 private:
  std::vector<std::uint64_t> keys_;
};

// Sets the measured time of each worker to the time of the worker that ended last, and returns it.
std::uint64_t end_together(std::span<worker> workers);

// How many operations of a phase of a map did nothing, though each had to do something; empty if
// all did.
[[nodiscard]] std::string idle_operations(const phase& phase, std::span<const worker> workers);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_PHASE_H_
