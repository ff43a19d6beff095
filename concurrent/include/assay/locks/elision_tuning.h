// How often should a lock try a transaction before it is taken? Found out by trying.
//
//     assay::sync::elision_tuning tuning;                  // of one lock
//
//     const unsigned attempts = tuning.attempts();         // 0: transactions do not pay here
//     ... a section with at most this many ...
//     tuning.record(sections, now_ns);                     // sometimes: this many ended by now
//     tuning.pays();                                       // whether to try transactions at all
//
// Whether a transaction pays depends on what the section does, on who else does it, and on the
// processor, and it changes: no number is right for all. So each lock measures (Diegues and Romano
// 2014, who climb a hill by processor cycles; libomp's adaptive lock judges by failures alone, and
// does not see that a transaction which commits may cost more than it gains). A choice holds for a
// window of some sections, and its cost is the time that passed, over the sections of all threads
// that ended in it. How long single sections take would not do: where transactions fail, threads
// wait at random, seldom and long, and whoever looks at a few sections sees the short ones of the
// others. The shorter one of a choice's last two windows counts, as in the other a thread may have
// lost its processor, or have had other things to do. After each choice was tried twice, the
// cheapest one is taken. One window in 32 goes to the other choices by turns, as they may have
// become better: their cost is bounded.
//
// A lock that is taken inside another one's section is always elided, however little its own
// transactions gain: the other one's transactions would end at it.
//
// Any thread may call all functions, which are wait-free: a record that would wait for another is
// dropped.

#ifndef ASSAY_LOCKS_ELISION_TUNING_H_
#define ASSAY_LOCKS_ELISION_TUNING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/locks/spin_lock.h"

namespace assay::sync::inline ASSAY_ABI {

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

  // `sections` have ended since the last record of this thread, and the steady clock is at `ns`.
  void record(std::uint64_t sections, std::uint64_t ns) noexcept {
    if (!busy_.try_lock()) return;
    add(sections, ns);
    busy_.unlock();
  }

 private:
  void add(std::uint64_t sections, std::uint64_t ns) noexcept {
    if (began_ == 0) began_ = ns;  // what ended before is of no window
    sections_ += sections;
    if (++records_ <= window) return;
    // Another thread may have looked at the clock after this one, and recorded first.
    before_[now_] = last_[now_];
    last_[now_] = (std::max(ns, began_) - began_) * 1000 / sections_;
    began_ = ns;
    sections_ = 0;
    records_ = 0;
    ++windows_;
    now_ = next();
    attempts_.store(choices[now_], memory_order_relaxed);
  }
  [[nodiscard]] std::size_t next() const noexcept {
    if (windows_ < 2 * choices.size()) return windows_ % choices.size();
    if (windows_ % windows_a_look == 0) return windows_ / windows_a_look % choices.size();
    std::size_t best = 0;
    for (std::size_t i = 1; i < choices.size(); ++i) {
      if (cost(i) < cost(best)) best = i;
    }
    return best;
  }
  // Picoseconds for a section.
  [[nodiscard]] std::uint64_t cost(std::size_t choice) const noexcept {
    return std::min(before_[choice], last_[choice]);
  }

  atomic<unsigned> attempts_{choices[0]};
  atomic<bool> is_inner_{false};  // relaxed: it stands for itself, too
  spin_lock busy_;
  // Under busy_.
  unsigned records_ = 0;
  std::uint64_t began_ = 0;
  std::uint64_t sections_ = 0;
  std::size_t windows_ = 0;
  std::size_t now_ = 0;
  std::array<std::uint64_t, choices.size()> before_{};
  std::array<std::uint64_t, choices.size()> last_{};
};

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_LOCKS_ELISION_TUNING_H_
