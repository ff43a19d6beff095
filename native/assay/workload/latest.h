// Keys are inserted in order, the oldest are erased, and searches prefer the newest: workload D of
// YCSB (Cooper et al. 2010, "Benchmarking cloud serving systems with YCSB", section 4.2), with
// erases.
//
// Keys are numbered without end; number n is the index n modulo the range. Before the trial the map
// holds the numbers below latest_prefilled(range), half of the range. Of `threads` threads, thread
// i inserts, as its j-th, number prefilled + j * threads + i and erases number j * threads + i. Any
// other operation has the number newest - r, where r, the recency, is drawn by Zipf's law among as
// many as are held.
//
// What is newest and how many are held a thread knows from the feedback on its own operations,
// after each batch; it assumes that the others have done as many. A thread that inserts nothing
// thus knows the prefilled keys alone. An operation that could not be performed is drawn again.
// When inserts have come round to keys that are still held, they fail: without erases, after half
// the range.

#ifndef ASSAY_WORKLOAD_LATEST_H_
#define ASSAY_WORKLOAD_LATEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "assay/random/engine.h"
#include "assay/workload/index_source.h"
#include "assay/workload/options.h"
#include "assay/workload/strip_source.h"
#include "assay/workload/zipf.h"

namespace assay::workload {

// Whether the map must hold the first keys of the range before the trial, rather than random ones,
// and how many: the keys with index 0 to before latest_prefilled(range).
[[nodiscard]] inline bool prefill_is_first_keys(const options& options) {
  return options.keys.kind == distribution_kind::latest;
}
[[nodiscard]] constexpr std::uint64_t latest_prefilled(std::uint64_t range) {
  return range - range / 2;
}

class latest final : public index_source {
 public:
  latest(double exponent, std::uint64_t range, thread_place place,
         std::unique_ptr<random::number_source> numbers);

  void fill(std::span<std::uint64_t> indices, std::span<std::uint64_t> fractions) override;
  void settle(std::span<const operation> kinds, std::span<std::uint64_t> indices) override;
  void feedback(const operation_batch& batch, std::size_t performed) override;
  [[nodiscard]] bool wants_feedback() const override { return true; }

 private:
  // Numbers that all threads have inserted or were prefilled, and have erased, as far as known.
  [[nodiscard]] std::uint64_t end() const {
    return latest_prefilled(range_) + inserted_ * place_.threads;
  }
  [[nodiscard]] std::uint64_t begin() const { return erased_ * place_.threads; }
  [[nodiscard]] std::uint64_t held() const;

  double exponent_;
  std::uint64_t range_;
  thread_place place_;
  std::uint64_t inserted_ = 0;  // by this thread, performed
  std::uint64_t erased_ = 0;    // likewise, but no more than there can have been
  std::uint64_t recencies_;     // that the law is over: at least as many as are held
  strip_source<zipf> recency_;
};

}  // namespace assay::workload

#endif  // ASSAY_WORKLOAD_LATEST_H_
