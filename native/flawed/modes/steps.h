// A trial with flaws: the honest one with something else done between its steps.

#ifndef ASSAY_FLAWED_MODES_STEPS_H_
#define ASSAY_FLAWED_MODES_STEPS_H_

#include "assay/subject/subject.h"
#include "assay/trial/result.h"
#include "assay/trial/steps.h"
#include "flawed/modes/flaws.h"

namespace assay::flawed {

// What is measured in place of `subject`, for a flaw may be in how a map is compiled. Throws
// bad_request where it was not compiled so.
[[nodiscard]] subject::subject_entry built(const subject::subject_entry& subject,
                                           const flaws& chosen);

// Runs a trial that misleads. Throws what trial::run does, and bad_request where a flaw could
// change nothing.
[[nodiscard]] trial::result run(const trial::request& request,
                                const subject::subject_entry& subject, const flaws& chosen);

}  // namespace assay::flawed

#endif  // ASSAY_FLAWED_MODES_STEPS_H_
