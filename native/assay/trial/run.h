// One trial from beginning to end: pin, build, prefill, start together, warm up, measure, stop,
// join, validate.

#ifndef ASSAY_TRIAL_RUN_H_
#define ASSAY_TRIAL_RUN_H_

#include "assay/subject/subject.h"
#include "assay/trial/request.h"
#include "assay/trial/result.h"

namespace assay::trial {

class steps;

// Throws bad_request if `request` asks for an operation that the subject does not offer or types or
// keys that it cannot hold, with what it does offer or hold.
void require_offered(const subject::subject_entry& subject, const request& request);

// Throws bad_request if the request cannot be met here: more threads than the subject
// takes, or processors that threads cannot be bound to. Whatever the map throws comes out as well.
// A trial is honest unless `changed` says what other than that is done between its steps.
[[nodiscard]] result run(const request& request, const subject::subject_entry& subject,
                         const steps* changed = nullptr);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_RUN_H_
