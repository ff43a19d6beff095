// Lengths of strings and values that are numbers, drawn by a distribution before the trial.
//
//     request.value.drawn = draw({.from = 1, .to = 1000, .by = zipf}, seed, {});

#ifndef ASSAY_TRIAL_DRAWING_H_
#define ASSAY_TRIAL_DRAWING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "assay/subject/type_spec.h"
#include "assay/workload/options.h"

namespace assay::trial {

// At most 2^40 numbers from `from` to `to`, drawn as indices into them are. The distribution must
// not depend on operations: neither `sequential` nor `latest`.
struct drawing {
  std::uint64_t from;
  std::uint64_t to;
  workload::distribution by{};
};

// Draws numbers that are not `reserved`. Throws std::invalid_argument if hardly any other is drawn.
[[nodiscard]] std::shared_ptr<const subject::drawn_numbers> draw(
    const drawing& asked, std::uint64_t seed, const std::vector<std::uint64_t>& reserved);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_DRAWING_H_
