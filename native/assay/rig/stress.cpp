#include "assay/rig/stress.h"

#include <algorithm>

#include "assay/rig/disturbance.h"
#include "assay/trial/run.h"

namespace assay::rig {
namespace {

// Mostly updates, and a little of whatever else the map offers.
workload::mix mix_of(const trial::subject_entry& subject) {
  using workload::operation;
  const auto offered = [&](operation kind) {
    return std::ranges::find(subject.operations, kind) != subject.operations.end() ? 2.0 : 0.0;
  };
  workload::mix mix{40,
                    40,
                    0,
                    offered(operation::range),
                    offered(operation::size),
                    offered(operation::snapshot),
                    offered(operation::iterate)};
  mix.find = 20 - mix.range - mix.size - mix.snapshot - mix.iterate;
  return mix;
}

}  // namespace

stressed stress(const trial::subject_entry& subject, const stressing& asked) {
  constexpr unsigned threads = 8;
  const disturb_at_points disturbed(asked.seed);
  stressed seen;
  for (const unsigned keys : {8U, 512U}) {
    trial::request request{
        .subject = subject.name,
        .seed = asked.seed + keys,
        .pinning = {},
        .key_range = keys,
        .keys = workload::key_layout::dense,
        .roles = trial::one_role(std::min(threads, subject.max_threads.value_or(threads)),
                                 mix_of(subject)),
        .duration = asked.duration,
        .interval = asked.duration};
    request.roles[0].fold = workload::fold::sum;
    const trial::result result = trial::run(request, subject);
    for (const auto& thread : result.threads) seen.operations += thread.operations.operations();
    for (const auto& problem : result.problems) {
      seen.problems.push_back(std::to_string(keys) + " keys: " + problem);
    }
  }
  return seen;
}

}  // namespace assay::rig
