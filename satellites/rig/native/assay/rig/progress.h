// What happens to all others when one thread stops for good, wherever it is?
//
// In a lock-free structure nothing: whatever the thread had begun, others can finish or undo. In
// one with locks those wait that need what it holds. Marked points (assay/base/point.h) are where a
// thread can be made to stop:
//
//     for (const std::string& point : points_passed(subject, seed)) {
//       const suspension seen = suspend_at(subject, point, {.seed = seed});
//       EXPECT_TRUE(seen.reached && !seen.waited);
//     }
//
// Four threads perform random operations on a few keys, of all kinds that the map offers. One that
// reaches the point, the first or a later one as the seed has it, stays there until each of the
// others has completed this many more operations, or until all that have not are known to wait.
// After half of the attempts to reach it, some operations let others get ahead at each point that
// they pass, for points that only such operations come to. Known to wait are threads
//
// - asleep in a lock, as the kernel reports (thread_state.h): if all of them are at the same time,
// only
//   the suspended thread can wake them;
// - passing the marked points of the loop that it waits in without end, or using its processor
//   for a fifth of a second, within one operation and while no operation of any thread is
//   completed.
//
// A thread that merely lost its processor does none of these. Time plays no part, but that the
// suspended thread goes on when for half the patience (watchdog.h) nothing was completed and it is
// not clear why. If the others do not end then, nothing ends them but the watchdog.
//
// Maps without marks have their threads suspended, too: anywhere, by a signal (preemption.h).

#ifndef ASSAY_RIG_PROGRESS_H_
#define ASSAY_RIG_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/subject/any_map.h"
#include "assay/subject/subject.h"

namespace assay::rig {

struct suspending {
  std::uint64_t seed = 0;
  // What the other threads are asked once a thread is suspended; all that is offered if empty.
  std::vector<workload::operation> others{};
  std::uint64_t operations = 300;   // of each of the others, after that
  std::uint64_t attempts = 20'000;  // of each thread, to reach the point; then anew, up to 20 times
  std::uint64_t keys = 8;
  bool at_first = false;  // not at a later arrival: a point may be passed once in a map's life
};

struct suspension {
  bool reached = false;
  std::optional<subject::question> waited{};  // an operation that waited for the suspended thread
  std::string how{};                          // it waited: "asleep", ...
  std::string suspended_in{};  // what the suspended thread was inside of, if one waited
  bool unclear = false;        // the others did not go on, for no reason that can be seen
  // What the map held at the end does not follow from the answers, an invariant of it is broken, or
  // an operation threw.
  std::string problem{};
  std::uint64_t operations = 0;  // of all threads
};

// The names of all points that random operations of four threads pass, in alphabetical order.
// Throws operation_failed (recorder.h) if the map throws.
[[nodiscard]] std::vector<std::string> points_passed(const subject::subject_entry& subject,
                                                     std::uint64_t seed);

// The names of the points that are marked in a source file, in alphabetical order. Throws
// std::runtime_error if it cannot be read.
[[nodiscard]] std::vector<std::string> points_marked_in(const std::string& file);

[[nodiscard]] suspension suspend_at(const subject::subject_entry& subject, std::string_view point,
                                    const suspending& asked);

// What all of this comes to for one map.
struct progress_found {
  // Fewer suspensions anywhere seldom meet a lock that is not marked.
  static constexpr unsigned enough_anywhere = 40;
  bool any_suspended = false;  // else nothing was looked at
  bool passed = true;
  std::uint64_t operations = 0;
  std::string no_time_for{};
  std::vector<std::string> lines{};  // what was seen at each point
};

// Suspends a thread at every point that operations pass, at each several times with other seeds,
// and anywhere else. Fails if something is wrong with the map at the end, and if an operation waits
// in a map that says it is lock-free. A point that is passed so seldom that no thread comes to it
// again is only told. For slow maps and busy machines: the points are looked for in half of
// `duration`, and when it is over only three threads are to come to each, and few are suspended
// anywhere else. Points that none came to then, and too few of these in a map that says it is
// lock-free, are what there was no time for.
[[nodiscard]] progress_found check_progress(
    const subject::subject_entry& subject, std::uint64_t seed,
    std::optional<std::chrono::duration<double>> duration = {});

}  // namespace assay::rig

#endif  // ASSAY_RIG_PROGRESS_H_
