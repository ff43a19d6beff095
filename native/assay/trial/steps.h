// What another program than assay-trial does between the steps of a trial, outside all that is
// measured: one that misleads on purpose (native/flawed/modes). The loop itself is the same.

#ifndef ASSAY_TRIAL_STEPS_H_
#define ASSAY_TRIAL_STEPS_H_

#include <cstdint>
#include <span>

#include "assay/measure/crew.h"
#include "assay/trial/prefill.h"
#include "assay/trial/request.h"
#include "assay/trial/worker.h"
#include "assay/workload/key_space.h"

namespace assay::trial {

class steps {
 public:
  steps() = default;
  steps(const steps&) = delete;
  steps& operator=(const steps&) = delete;
  virtual ~steps() = default;

  // In place of prefill(), and with what that is given.
  virtual prefill_report fill(measure::crew& threads, std::span<worker> workers,
                              const request& request, const workload::key_space& space,
                              std::uint64_t salt, subject::structure structure) const = 0;

  // In the thread of each worker, which has its handle and its generator, and when it has measured.
  virtual void before_measuring(worker& self, const request& request,
                                const workload::key_space& space) const = 0;
  virtual void after_measuring(worker& self, const request& request) const = 0;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_STEPS_H_
