// Eight threads at once, disturbed at marked points, for a while: what a trial validates at its end
// (assay/trial/validation.h) is what is looked at here, and then the map's own invariants
// (assay/maps/invariant.h). It sees what is lost, held twice or mixed up, not who was told what
// when.
//
//     const stressed seen = stress(trial::find_subject("my_map"), {.seed = 7});
//     EXPECT_TRUE(seen.problems.empty());

#ifndef ASSAY_RIG_STRESS_H_
#define ASSAY_RIG_STRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/trial/subject.h"

namespace assay::rig {

struct stressing {
  std::uint64_t seed;
  std::chrono::milliseconds duration{50};  // of each of two trials, of few and of more keys
};

struct stressed {
  std::uint64_t operations = 0;
  std::vector<std::string> problems{};
};

// Throws operation_failed (recorder.h) if the map throws.
[[nodiscard]] stressed stress(const trial::subject_entry& subject, const stressing& asked);

}  // namespace assay::rig

#endif  // ASSAY_RIG_STRESS_H_
