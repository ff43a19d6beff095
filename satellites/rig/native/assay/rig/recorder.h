// Records short histories of a map: a few threads, a few keys, a few operations each, so that a
// checker can try every order of them, and thousands, so that the rare interleaving is among them.
//
//     const recorded all = record(find_subject("my_map"), {.seed = 7, .histories = 5000},
//                                 [](const history& one) { write(std::cout, one); });
//
// 2 to 4 threads perform up to 8 operations each on 1 to 8 keys, in proportions that are drawn for
// each history. Every fourth map is asked about keys at the ends of their type (ends.h), and one
// insert in 16 stores a value at an end of its type. If a map offers operations on several keys,
// every fourth history also asks for those; it is kept tiny, because it cannot be judged key by
// key. Every other map holds up to 1024 other keys besides, from 1 to 20,000, which histories
// leave out unless something happens to them; the keys asked about lie among those. A map serves up
// to 4096 histories, most maps few. Each begins with what the last one left, as long as the answers
// say what that is and no key is there twice.
//
// Threads are disturbed at marked points and, in every other history, between operations
// (disturbance.h), and taken off their processor anywhere (preemption.h). The same seed gives the
// same operations and delays, but not the same schedule, which the machine makes.

#ifndef ASSAY_RIG_RECORDER_H_
#define ASSAY_RIG_RECORDER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>

#include "assay/rig/history.h"
#include "assay/rig/watch/watchdog.h"
#include "assay/subject/subject.h"

namespace assay::rig {

struct recording {
  std::uint64_t seed;
  std::uint64_t histories;
  std::chrono::milliseconds patience = rig::patience();  // with each history
  // Histories begin for this long, then, and `histories` does not count.
  std::optional<std::chrono::duration<double>> duration{};
  // Called before the process ends because something else than a history does not.
  std::function<void()> last_words{};
};

struct recorded {
  // Fewer are no sample of what threads do to each other.
  static constexpr std::uint64_t enough = 100;
  std::uint64_t histories = 0;
  std::uint64_t operations = 0;
  // Histories in which two threads were inside the map at the same time.
  std::uint64_t overlapping = 0;
  // Histories in which, of two such operations, one changed what the other read.
  std::uint64_t meeting = 0;
};

// An operation that threw.
class operation_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Calls `take` with each history. The subject must take two threads. Throws operation_failed, and
// what `take` throws. If a history does not end within `patience`, calls `take` with it, prints
// which operations have not returned, and ends the process with status 3, as its threads cannot be
// stopped. So does a watchdog (watchdog.h) if what is called between histories does not return: a
// map is built or destroyed, handles are made, or all that it holds is visited.
recorded record(const subject::subject_entry& subject, const recording& asked,
                const std::function<void(const history&)>& take);

}  // namespace assay::rig

#endif  // ASSAY_RIG_RECORDER_H_
