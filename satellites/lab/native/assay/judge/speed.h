// What drawing a number costs, beside a loop that draws none: rounds of both alternate, so that a
// change of the host meets both.

#ifndef ASSAY_JUDGE_SPEED_H_
#define ASSAY_JUDGE_SPEED_H_

#include <vector>

#include "assay/random/engine.h"

namespace assay::judge {

struct speed_statistics {
  std::vector<double> source_ns;  // a number, of each round
  std::vector<double> floor_ns;   // the same loop with a source that leaves its numbers as they are
};

[[nodiscard]] speed_statistics measure_speed(random::number_source& source);

}  // namespace assay::judge

#endif  // ASSAY_JUDGE_SPEED_H_
