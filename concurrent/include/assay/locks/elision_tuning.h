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
// does not see that a transaction which commits may cost more than it gains). base/cheapest.h says
// how. How long single sections take would not do: where transactions fail, threads wait at random,
// seldom and long, and whoever looks at a few sections sees the short ones of the others.
//
// A lock that is taken inside another one's section is always elided, however little its own
// transactions gain: the other one's transactions would end at it.
//
// Any thread may call all functions, which are wait-free.

#ifndef ASSAY_LOCKS_ELISION_TUNING_H_
#define ASSAY_LOCKS_ELISION_TUNING_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "assay/base/abi.h"
#include "assay/base/atomics.h"
#include "assay/base/cheapest.h"

namespace assay::sync::inline ASSAY_ABI {

class elision_tuning {
 public:
  // The first is the listing's (Bonnichsen 2016, listing 4.1).
  static constexpr std::array<unsigned, 4> choices{3, 0, 1, 8};
  static constexpr unsigned window = cheapest<choices.size()>::window;
  static constexpr unsigned windows_a_look = cheapest<choices.size()>::windows_a_look;

  [[nodiscard]] unsigned attempts() const noexcept { return choices[cheapest_.choice()]; }

  [[nodiscard]] bool pays() const noexcept {
    return attempts() != 0 || is_inner_.load(memory_order_relaxed);
  }

  // It was wanted by a thread that has another such lock.
  void taken_inside() noexcept {
    if (!is_inner_.load(memory_order_relaxed)) is_inner_.store(true, memory_order_relaxed);
  }

  // `sections` have ended since the last record of this thread, and the steady clock is at `ns`.
  void record(std::uint64_t sections, std::uint64_t ns) noexcept { cheapest_.record(sections, ns); }

 private:
  cheapest<choices.size()> cheapest_;
  atomic<bool> is_inner_{false};  // relaxed: it stands for itself, too
};

}  // namespace assay::sync::inline ASSAY_ABI

#endif  // ASSAY_LOCKS_ELISION_TUNING_H_
