// Which of a few ways of doing the same thing costs least? Found out by trying, while it is done.
//
//     assay::sync::cheapest<3> ways;                       // of one place in a program
//
//     switch (ways.choice()) { ... }                       // 0, 1 or 2
//     ways.record(events, now_ns);                         // sometimes: this many ended by now
//
// A choice holds for a window of some records, and its cost is the time that passed, over the
// events that ended in it. The shorter one of a choice's last two windows counts, as in the other a
// thread may have lost its processor, or have had other things to do. After each choice was tried
// twice, the cheapest one is taken. One window in 32 goes to the other choices by turns, as they
// may have become better: their cost is bounded.
//
// Any thread may call both functions, which are wait-free: a record that would wait for another is
// dropped.

#ifndef ASSAY_BASE_CHEAPEST_H_
#define ASSAY_BASE_CHEAPEST_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"

namespace assay::sync::inline ASSAY_ABI {

template <std::size_t choices>
class cheapest {
 public:
  static constexpr unsigned window = 32;          // records
  static constexpr unsigned windows_a_look = 32;  // of which one looks at another choice

  [[nodiscard]] std::size_t choice() const noexcept {
    return choice_.load(memory_order_relaxed);  // a number that stands for itself
  }

  // `events` have ended since the last record of this thread, and the steady clock is at `ns`.
  void record(std::uint64_t events, std::uint64_t ns) noexcept {
    if (busy_.exchange(true, memory_order_acquire)) return;  // (1) with (2): the numbers below
    add(events, ns);
    busy_.store(false, memory_order_release);  // (2) with (1)
  }

 private:
  void add(std::uint64_t events, std::uint64_t ns) noexcept {
    if (began_ == 0) began_ = ns;  // what ended before is of no window
    events_ += events;
    if (++records_ <= window) return;
    const std::size_t now = choice();
    // Another thread may have looked at the clock after this one, and recorded first.
    before_[now] = last_[now];
    last_[now] = (std::max(ns, began_) - began_) * 1000 / events_;
    began_ = ns;
    events_ = 0;
    records_ = 0;
    ++windows_;
    choice_.store(next(), memory_order_relaxed);
  }
  [[nodiscard]] std::size_t next() const noexcept {
    if (windows_ < 2 * choices) return windows_ % choices;
    if (windows_ % windows_a_look == 0) return windows_ / windows_a_look % choices;
    std::size_t best = 0;
    for (std::size_t i = 1; i < choices; ++i) {
      if (cost(i) < cost(best)) best = i;
    }
    return best;
  }
  // Picoseconds for an event.
  [[nodiscard]] std::uint64_t cost(std::size_t choice) const noexcept {
    return std::min(before_[choice], last_[choice]);
  }

  atomic<std::size_t> choice_{0};
  atomic<bool> busy_{false};
  // Under busy_.
  unsigned records_ = 0;
  std::uint64_t began_ = 0;
  std::uint64_t events_ = 0;
  std::size_t windows_ = 0;
  std::array<std::uint64_t, choices> before_{};
  std::array<std::uint64_t, choices> last_{};
};

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_BASE_CHEAPEST_H_
