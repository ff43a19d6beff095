// How many operations a thread does between two looks at the clock.
//
// A long batch makes the clock cheap, a short one makes a thread notice in time that the trial is
// over, so a batch should be long but take at most about 100 us, and nobody knows beforehand how
// long an operation takes.

#ifndef ASSAY_TRIAL_BATCH_PACER_H_
#define ASSAY_TRIAL_BATCH_PACER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "assay/workload/operation_batch.h"

namespace assay::trial {

class batch_pacer {
 public:
  static constexpr std::uint64_t longest_ns = 100'000;

  // With `fixed`, from 1 to capacity, all batches have that length, however long they take.
  explicit batch_pacer(std::optional<std::size_t> fixed = {})
      : size_(fixed.value_or(1)), fixed_(fixed.has_value()) {}

  // The length of the next batch, 1 at first.
  [[nodiscard]] std::size_t size() const { return size_; }

  // Notes how long a batch of this length took.
  void took(std::uint64_t ns) {
    if (fixed_) return;
    if (ns > longest_ns) {
      size_ = std::max<std::size_t>(size_ * longest_ns / ns, 1);
    } else if (2 * ns <= longest_ns) {
      size_ = std::min(2 * size_, workload::operation_batch::capacity);
    }
  }

 private:
  std::size_t size_;
  bool fixed_;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_BATCH_PACER_H_
