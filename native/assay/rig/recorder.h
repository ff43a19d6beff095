// Records short histories of a map: a few threads, a few keys, a few operations each, so that a
// checker can try every order of them, and thousands, so that the rare interleaving is among them.
//
//     const recorded all = record(trial::find_subject("my_map"), {.seed = 7, .histories = 5000},
//                                 [](const history& one) { write(std::cout, one); });
//
// 2 to 4 threads perform up to 8 operations each on 1 to 8 keys, in proportions that are drawn for
// each history; every fourth history of a map that offers more than insert, erase and find asks for
// that too, and is kept tiny, because it cannot be judged key by key. A map serves up to 4096
// histories, of which each begins with what the last one left, as long as that follows from the
// answers. Threads are disturbed at marked points and, in every other history, between operations
// (disturbance.h), and taken off their processor anywhere (preemption.h). The seed gives the same
// operations and delays again, not the same schedule: that is the machine's.

#ifndef ASSAY_RIG_RECORDER_H_
#define ASSAY_RIG_RECORDER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>

#include "assay/rig/history.h"
#include "assay/rig/watchdog.h"
#include "assay/trial/subject.h"

namespace assay::rig {

struct recording {
  std::uint64_t seed;
  std::uint64_t histories;
  std::chrono::milliseconds patience = rig::patience();  // with each history
};

struct recorded {
  std::uint64_t histories = 0;
  std::uint64_t operations = 0;
  // Histories in which two threads were inside the map at the same time.
  std::uint64_t overlapping = 0;
  // Those in which one of the two changed what the other one's answer tells of.
  std::uint64_t meeting = 0;
};

// An operation that threw.
class operation_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Calls `take` with each history. Throws operation_failed, and what `take` throws. The subject must
// take two threads. A history that does not end within the patience asked for ends the process with
// status 3, as its threads cannot be stopped, after a message that names what has not returned;
// `take` is called with it, too.
recorded record(const trial::subject_entry& subject, const recording& asked,
                const std::function<void(const history&)>& take);

}  // namespace assay::rig

#endif  // ASSAY_RIG_RECORDER_H_
