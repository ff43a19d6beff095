// Who has come? A count for up to 8 threads, a tree of such counts for more. The last one releases
// all by a new epoch, which each of them watches; counts and epoch are on lines of their own, so
// that a thread that arrives takes no line from those that wait (Mellor-Crummey and Scott 1991,
// section 3).

#ifndef ASSAY_OPENMP_BARRIER_H_
#define ASSAY_OPENMP_BARRIER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "assay/base/atomics.h"

namespace assay::omp {

class barrier {
 public:
  explicit barrier(unsigned threads) {
    for (unsigned width = threads; first_.empty() || width > 1;) {
      const unsigned groups = (width + fan_in - 1) / fan_in;
      first_.push_back(nodes_);
      nodes_ += groups;
      widths_.push_back(width);
      width = groups;
    }
    counts_ = std::vector<count>(nodes_);
  }

  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return epoch_.load(memory_order_seq_cst);  // (1) with (2): what all did before they came
  }

  // By each thread once an epoch, with its number. True for the last of all, which calls release().
  // Wait-free.
  [[nodiscard]] bool arrive(unsigned id) noexcept {
    for (std::size_t level = 0; level < widths_.size(); ++level) {
      const unsigned group = id / fan_in;
      const unsigned expected =
          widths_[level] - group * fan_in < fan_in ? widths_[level] - group * fan_in : fan_in;
      atomic<std::uint32_t>& here = counts_[first_[level] + group].arrived;
      // (3) with itself: who comes last has seen what the others of its group did.
      if (here.fetch_add(1, memory_order_acq_rel) + 1 != expected) return false;
      here.store(0, memory_order_relaxed);  // before the release (2), after which others come again
      id = group;
    }
    return true;
  }

  void release() noexcept {
    epoch_.fetch_add(1, memory_order_seq_cst);  // (2) with (1); and see events.h
  }

  // Forgets who has come: by one thread, while no other uses it.
  void forget() noexcept {
    for (count& each : counts_) each.arrived.store(0, memory_order_relaxed);
  }

 private:
  static constexpr unsigned fan_in = 8;
  static constexpr std::size_t line = 64;
  struct alignas(line) count {
    atomic<std::uint32_t> arrived{0};
  };

  alignas(line) atomic<std::uint32_t> epoch_{0};
  alignas(line) std::size_t nodes_ = 0;
  std::vector<std::size_t> first_;  // of each level, its first count
  std::vector<unsigned> widths_;    // of each level, who comes there
  std::vector<count> counts_;
};

}  // namespace assay::omp

#endif  // ASSAY_OPENMP_BARRIER_H_
