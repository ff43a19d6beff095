// Does a thread stay inside one operation while all others go on?
//
//     starvation starving(watch);       // of the maps that are watched
//     ...                               // threads use the map for a while
//     starving.end().message            // "a thread was inside insert(3) for 4.1 s, ..."
//
// It is beyond doubt only if the others have completed a million operations meanwhile, for two
// seconds, and the thread did not merely wait for a processor, as with more threads than processors
// it may: it was asleep all the time and nobody woke it, or it was woken a thousand times in vain,
// or it used a processor for a third of a second, or had one taken or gave it away a hundred times.
// A std::mutex wakes its threads in turn, and each time they may well get it.

#ifndef ASSAY_RIG_INTERFERE_STARVATION_H_
#define ASSAY_RIG_INTERFERE_STARVATION_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <semaphore>
#include <string>
#include <thread>

#include "assay/rig/watch/thread_state.h"
#include "assay/rig/watch/watchdog.h"

namespace assay::rig {

class starvation {
 public:
  struct found {
    std::chrono::milliseconds longest{0};  // that any thread was seen inside one operation
    bool beyond_doubt = false;
    std::string message{};
  };

  explicit starvation(watchdog& watch);
  ~starvation() { over_.release(); }  // of what was looked at until something was thrown
  starvation(const starvation&) = delete;
  starvation& operator=(const starvation&) = delete;
  // Looks no longer.
  found end();

 private:
  // A thread's operation, as it was when it was first seen.
  struct operation {
    std::uint64_t steps = 0;
    std::uint64_t signs_of_all = 0;
    std::chrono::steady_clock::time_point seen{};
    thread_state state{};
  };

  void look();

  watchdog& watch_;
  std::map<pid_t, operation> last_{};
  found found_{};
  std::binary_semaphore over_{0};
  std::jthread thread_;  // last, so that it ends before what it uses
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_INTERFERE_STARVATION_H_
