// Who has come? For up to 8 threads each has a line of its own, where it writes how often it has
// come, and reads those of the others: two threads that come at once then wait for a line each way,
// where a common count and its release would take four such ways. More threads count in a tree, and
// the last one ends the epoch for all (Mellor-Crummey and Scott 1991, section 3).

#ifndef ASSAY_OPENMP_BARRIER_H_
#define ASSAY_OPENMP_BARRIER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "assay/base/atomics.h"
#include "assay/base/point.h"

namespace assay::omp {

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what is written often stands apart
class barrier {
 public:
  explicit barrier(unsigned threads) : alone_(threads <= fan_in ? threads : 0) {
    if (threads <= fan_in) return;
    for (unsigned width = threads; first_.empty() || width > 1;) {
      const unsigned groups = (width + fan_in - 1) / fan_in;
      first_.push_back(nodes_);
      nodes_ += groups;
      widths_.push_back(width);
      width = groups;
    }
    groups_ = std::vector<count>(nodes_);
  }

  // The epoch of the thread's next arrive().
  [[nodiscard]] std::uint32_t next(unsigned id) const noexcept {
    return (alone_.empty() ? ended_ : alone_[id].arrived).load(memory_order_relaxed) + 1;
  }

  // By each thread once an epoch, with its number: has come. Returns the epoch, which ends when all
  // have. Wait-free.
  [[nodiscard]] std::uint32_t arrive(unsigned id) noexcept {
    // Relaxed: the thread has seen the end of the last epoch, and this one does not end without it.
    const std::uint32_t epoch = next(id);
    if (!alone_.empty()) {
      ASSAY_POINT("openmp_comes_to_barrier");
      alone_[id].arrived.store(epoch, memory_order_seq_cst);  // (2) with (1); and see events.h
      return epoch;
    }
    if (comes_last(id)) {
      ASSAY_POINT("openmp_ends_epoch");
      ended_.store(epoch, memory_order_seq_cst);  // (2) with (1); and see events.h
    }
    return epoch;
  }

  // Wait-free. (1) with (2): what all did before they came.
  [[nodiscard]] bool has_ended(std::uint32_t epoch) const noexcept {
    const auto reached = [epoch](const atomic<std::uint32_t>& at) {
      return static_cast<std::int32_t>(at.load(memory_order_seq_cst) - epoch) >= 0;
    };
    if (alone_.empty()) return reached(ended_);
    return std::ranges::all_of(alone_, [&](const count& each) { return reached(each.arrived); });
  }

  // Forgets who has come: by one thread, while no other uses it.
  void forget() noexcept {
    for (count& each : alone_) each.arrived.store(0, memory_order_relaxed);
    for (count& each : groups_) each.arrived.store(0, memory_order_relaxed);
  }

 private:
  static constexpr unsigned fan_in = 8;
  static constexpr std::size_t line = 64;
  struct alignas(line) count {
    atomic<std::uint32_t> arrived{0};
  };

  [[nodiscard]] bool comes_last(unsigned id) noexcept {
    for (std::size_t level = 0; level < widths_.size(); ++level) {
      const unsigned group = id / fan_in;
      const unsigned expected = std::min(widths_[level] - group * fan_in, fan_in);
      atomic<std::uint32_t>& here = groups_[first_[level] + group].arrived;
      // (3) with itself: who comes last has seen what the others of its group did.
      if (here.fetch_add(1, memory_order_acq_rel) + 1 != expected) return false;
      ASSAY_POINT("openmp_last_of_its_group");
      here.store(0, memory_order_relaxed);  // before the end (2), after which others come again
      id = group;
    }
    return true;
  }

  std::vector<count> alone_;  // of up to 8 threads, each its own
  std::size_t nodes_ = 0;
  std::vector<std::size_t> first_;  // of each level, its first count
  std::vector<unsigned> widths_;    // of each level, who comes there
  std::vector<count> groups_;
  alignas(line) atomic<std::uint32_t> ended_{0};
};

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_BARRIER_H_
