// Three to eight threads at once, for a while: what a trial validates at its end
// (assay/trial/validation.h) is what is looked at here, the map's own invariants
// (assay/maps/invariant.h) included. It sees what is lost, held twice or mixed up, not who observed
// what when. For a while threads are disturbed at marked points; for the rest they run at full
// speed, so that what happens once in a million operations happens. Locks taken in opposite orders
// are made to meet (lock_order.h), and those that wait yield seldom half of the time (yields.h).
//
// A thread that stays inside one operation while the others complete a million starves. Whether it
// merely waits for a processor is known from the kernel (starvation.h).
//
//     const stressed seen = stress(find_subject("my_map"), {.seed = 7});
//     EXPECT_TRUE(seen.problems.empty());

#ifndef ASSAY_RIG_STRESS_H_
#define ASSAY_RIG_STRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/subject/subject.h"

namespace assay::rig {

struct stressing {
  std::uint64_t seed;
  // How long each of the two trials with disturbance takes, with few keys and with more. The three
  // without are two or three times as long, and longer if a thread seems to starve. A trial that
  // finds something is the last.
  std::chrono::milliseconds duration{15};
};

struct stressed {
  // Fewer in all say nothing of a map, of what happens once in a thousand.
  static constexpr std::uint64_t enough = 7000;
  std::uint64_t operations = 0;
  // What there was no time for, or empty: a thread seems to starve, and it is not beyond doubt.
  std::string unclear{};
  std::vector<std::string> problems{};
};

// Throws operation_failed (recorder.h) if the map throws.
[[nodiscard]] stressed stress(const subject::subject_entry& subject, const stressing& asked);

}  // namespace assay::rig

#endif  // ASSAY_RIG_STRESS_H_
