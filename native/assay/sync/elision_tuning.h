// How often should a lock try a transaction before it is taken? Found out by trying.
//
//     assay::sync::elision_tuning tuning;                  // of one lock
//
//     const unsigned attempts = tuning.attempts();         // 0: transactions do not pay here
//     ... a section with at most so many ...
//     tuning.record(attempts, ns);                         // of some sections, how long it took
//     tuning.pays();                                       // whether to let transactions run at all
//
// Whether a transaction pays depends on what the section does, on who else does it, and on the
// processor, and it changes: no number is right for all. So each lock measures (Diegues and Romano
// 2014, who climb a hill by processor cycles; libomp's adaptive lock judges by failures alone, and
// does not see that a transaction which commits may cost more than it gains). A choice stands for a
// window of some sections, whose mean time is what it costs: from the wish to enter until the
// section has ended, waits and all that ran in vain included, but for the two that took longest: a
// thread that lost its processor says nothing about transactions. After each choice was tried once, the
// one that cost least is taken. One window in 32 goes to another one by turns, as they may have
// become better: what they cost at most is known.
//
// A lock that is taken inside of another one's section always pays, however little its own transactions
// gain: those of the other one would end at it.
//
// All is for any thread, and wait-free: a record that would wait for another one is dropped.

#ifndef ASSAY_SYNC_ELISION_TUNING_H_
#define ASSAY_SYNC_ELISION_TUNING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "assay/sync/atomics.h"
#include "assay/sync/spin_lock.h"

namespace assay::sync {

class elision_tuning {
 public:
  // The first is the listing's (Bonnichsen 2016, listing 4.1).
  static constexpr std::array<unsigned, 4> choices{3, 0, 1, 8};
  static constexpr unsigned window = 32;          // records
  static constexpr unsigned windows_a_look = 32;  // of which one looks at another choice

  [[nodiscard]] unsigned attempts() const noexcept {
    return attempts_.load(memory_order_relaxed);  // a number that stands for itself
  }

  [[nodiscard]] bool pays() const noexcept {
    return attempts() != 0 || is_inner_.load(memory_order_relaxed);
  }

  // It was wanted by a thread that has another such lock.
  void taken_inside() noexcept {
    if (!is_inner_.load(memory_order_relaxed)) is_inner_.store(true, memory_order_relaxed);
  }

  // A section that began when there were this many attempts took this long.
  void record(unsigned attempts, std::uint64_t ns) noexcept {
    if (!busy_.try_lock()) return;
    if (attempts == choices[now_]) add(ns);
    busy_.unlock();
  }

 private:
  void add(std::uint64_t ns) noexcept {
    sum_ += ns;
    if (ns > longest_[0]) {
      longest_ = {ns, longest_[0]};
    } else {
      longest_[1] = std::max(longest_[1], ns);
    }
    if (++records_ == window) {
      costs_[now_] = (sum_ - longest_[0] - longest_[1]) / (window - longest_.size());
      longest_ = {};
      sum_ = 0;
      records_ = 0;
      ++windows_;
      now_ = next();
      attempts_.store(choices[now_], memory_order_relaxed);
    }
  }
  [[nodiscard]] std::size_t next() const noexcept {
    if (windows_ < choices.size()) return windows_;
    if (windows_ % windows_a_look == 0) return windows_ / windows_a_look % choices.size();
    return static_cast<std::size_t>(std::ranges::min_element(costs_) - costs_.begin());
  }

  atomic<unsigned> attempts_{choices[0]};
  atomic<bool> is_inner_{false};  // relaxed: it stands for itself, too
  spin_lock busy_;
  // Under busy_.
  unsigned records_ = 0;
  std::uint64_t sum_ = 0;
  std::array<std::uint64_t, 2> longest_{};
  std::size_t windows_ = 0;
  std::size_t now_ = 0;
  std::array<std::uint64_t, choices.size()> costs_{};
};

}  // namespace assay::sync

#endif  // ASSAY_SYNC_ELISION_TUNING_H_
