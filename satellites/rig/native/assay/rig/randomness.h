// Threads are stopped a little at many moments, so that all interleavings come up that a little
// delay makes. Some mistakes need one thread to stop at one place while the others complete
// thousands of operations: a slot that is used again "after a while", a count that wraps around. No
// number of short delays does that, and equal ones at every place are spent where threads pass most
// often.
//
// With high randomness each thread has habits, one for each marked point: how often it stops there
// and for how long. Both are drawn by multiplying an ordinary value by e^(C Z), Z standard normal
// (Blackwell 1998, section 4.5, equation 1), from a seed of the point's own, which follows from the
// seed of the thread and the name of the point (section 7.1). With C = 5, "very high" (sections 4.6
// and 7.1), a point is passed by without a stop, stopped at each time for a moment, or each time
// for milliseconds while the rest of the program runs as fast as it can. After a number of passes,
// drawn likewise from 1 to 16,384, a thread gets other habits: among that many passes is also one
// of a place that is rarely reached.
//
// That threads are slowed down by very different amounts, which change at random moments, is what
// PCT does with priorities (Burckhardt et al. 2010). Its guarantee is not given: the kernel
// schedules.
//
//     habits mine(seed, 5);
//     mine.pass("bst_insert_before_swing");      // may stop there

#ifndef ASSAY_RIG_RANDOMNESS_H_
#define ASSAY_RIG_RANDOMNESS_H_

#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "assay/random/splitmix64.h"

namespace assay::rig {

// The C of all disturbances and preemptions of the process that begin from now on; 0, as at first,
// for the ordinary ones. Set while no thread is disturbed, and not for check_progress(), which
// tells by their sleep which threads wait. Throws std::invalid_argument if it is not from 0 to
// random::most_randomness.
void set_randomness(double c);
[[nodiscard]] double randomness();

// What a thread does at one point.
struct habit {
  double probability;  // of a stop, each time
  std::chrono::nanoseconds length;
};

// No stop is longer, so that a check of a few seconds sees many, and takes none for a thread that
// hangs.
inline constexpr std::chrono::milliseconds longest_stop{20};

[[nodiscard]] habit draw_habit(std::uint64_t seed, double c);
// The length of one stop alone, where there is no point.
[[nodiscard]] std::chrono::nanoseconds draw_stop(std::uint64_t seed, double c);

// Stops its thread for given lengths, but for no more than an eighth of the time and longest_stop
// at once: the rest is left out. Used by one thread, also in a signal's handler.
class stopper {
 public:
  // Until the process has used its processors for this long: on a busy machine, where its other
  // threads get less done, that takes longer, up to four times as long. Whether it did.
  bool stop_for(std::chrono::nanoseconds length);

 private:
  std::chrono::nanoseconds left_{};  // below 0 if the last stop took longer than it should
  std::chrono::steady_clock::time_point seen_{};  // long ago
};

// Used by one thread.
class habits {
 public:
  habits(std::uint64_t seed, double c);
  void pass(const char* point);

 private:
  // A place that is rarely reached has time left to stop, whatever was spent elsewhere: a stopper
  // for each.
  struct known {
    std::uint64_t spell = 0;        // of which the rest is
    std::uint64_t stops_below = 0;  // numbers drawn
    std::chrono::nanoseconds length{};
    stopper stops{};
  };

  void begin_spell();

  random::splitmix64 draw_;
  double c_;
  std::uint64_t spell_ = 0;  // a seed
  std::uint64_t passes_left_ = 0;
  std::unordered_map<const char*, known> known_{};
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_RANDOMNESS_H_
