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
  // joined. While another guard of this participant is open, only where Policy::nests: then both
  // are one guard, which ends when the last of them does. Elsewhere the second guard would end the
  // protection of the first, and debug builds end the program; a thread that needs both joins
  // twice. Lock-free. May throw std::bad_alloc, with nothing changed.
  typename Policy::guard pin() { return typename Policy::guard(*domain_, checked_record()); }

  // As pin(), of a guard that cannot retire. Allocates nothing and never fails.
  typename Policy::read_guard pin_to_read() noexcept {
    return typename Policy::read_guard(*domain_, checked_record());
  }

  // From now on it is a mistake, which debug builds find, to open a guard while another is open.
  // For handles of structures whose calls must not be made within each other. By the thread that
  // joined.
  void forbid_nesting() noexcept { record_->use.forbid_nesting(); }

 private:
  friend Policy;
  participant(Policy& domain, typename Policy::record& mine) : domain_(&domain), record_(&mine) {
    mine.use.join(Policy::nests);
  }

  typename Policy::record& checked_record() const noexcept {
    misuse::require(record_ != nullptr, "a handle or participant is used after it was moved from");
    record_->use.check();
    return *record_;
  }

  Policy* domain_;
  typename Policy::record* record_;
};

}  // namespace assay::reclaim::inline ASSAY_ABI::detail

namespace assay::reclaim::inline ASSAY_ABI {

// A participant whose guards must not nest, where the policy can tell. As domain.join().
template <class Domain>
[[nodiscard]] typename Domain::participant join_without_nesting(Domain& domain) {
  auto joined = domain.join();
  if constexpr (requires { joined.forbid_nesting(); }) joined.forbid_nesting();
  return joined;
}

}  // namespace assay::reclaim::inline ASSAY_ABI

#endif  // ASSAY_RECLAIM_PARTICIPANT_H_
