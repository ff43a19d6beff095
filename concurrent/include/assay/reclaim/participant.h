// A thread's part in a domain, the same for every policy (see concept.h).

#ifndef ASSAY_RECLAIM_PARTICIPANT_H_
#define ASSAY_RECLAIM_PARTICIPANT_H_

#include <utility>

#include "assay/reclaim/checks.h"

namespace assay::reclaim::inline ASSAY_ABI::detail {

template <class Policy>
class participant {
 public:
  participant(participant&& other) noexcept
      : domain_(other.domain_), record_(std::exchange(other.record_, nullptr)) {}
  participant& operator=(participant&& other) noexcept {
    participant taken(std::move(other));
    std::swap(domain_, taken.domain_);
    std::swap(record_, taken.record_);
    return *this;
  }

  // Leaves. By the thread that joined, or by another that knows that it is done; no guard is open.
  // Never fails and never waits for another thread.
  ~participant() {
    if (record_ == nullptr) return;
    record_->use.leave();
    domain_->leave(*record_);
  }

  // Until the guard that this returns ends, what it protects is not freed. By the thread that
  // joined, while no other guard is open. Lock-free. May throw std::bad_alloc, with nothing
  // changed.
  typename Policy::guard pin() {
    misuse::require(record_ != nullptr, "a participant is used after it was moved from");
    record_->use.check();
    return typename Policy::guard(*domain_, *record_);
  }

 private:
  friend Policy;
  participant(Policy& domain, typename Policy::record& mine) : domain_(&domain), record_(&mine) {
    mine.use.join();
  }

  Policy* domain_;
  typename Policy::record* record_;
};

}  // namespace assay::reclaim::inline ASSAY_ABI::detail

#endif  // ASSAY_RECLAIM_PARTICIPANT_H_
