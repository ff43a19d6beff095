// Whatever a scheduler may do to threads, it does too seldom for a short test to see. A disturbance
// does it on purpose: at marked points (assay/base/point.h) and between operations a thread spins,
// or lets others run, at random but as its seed says.
//
//     disturbance mine(seed);                       // in a thread
//     const disturbance::scope disturbed(mine);      // from here on, at every point it passes
//     handle->ask(...);
//     mine.strike();                                // between operations
//
// What it does is of no kind that would order the threads' accesses to memory: it writes nothing
// that another thread reads. How much it does is drawn too, so that some histories run at full
// speed and others are torn apart. With high randomness it does something else (randomness.h).

#ifndef ASSAY_RIG_INTERFERE_DISTURBANCE_H_
#define ASSAY_RIG_INTERFERE_DISTURBANCE_H_

#include <cstdint>
#include <optional>

#include "assay/random/splitmix64.h"
#include "assay/rig/randomness.h"

namespace assay::rig {

// Takes some 10 to 40 ns, and cannot be left out by the compiler.
void pause_processor();

// Lets other threads run: those that wait for this processor. Beside busy processes a yield would
// last until each of them has had its turn. After one that took so long this thread sleeps a few
// times instead, for some 100 us, in which a processor mostly goes to a thread that has slept as
// well. May be called in a signal's handler, and does nothing there if the thread gives way
// already.
void give_way();

// Used by one thread.
class disturbance {
 public:
  explicit disturbance(std::uint64_t seed);

  // Spins, yields, or does nothing, at the point with this name.
  void strike(const char* point = "between operations");

  // While it lives, `mine` strikes wherever this thread passes a marked point.
  class scope {
   public:
    explicit scope(disturbance& mine);
    ~scope();
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
  };

 private:
  random::splitmix64 draw_;
  std::uint64_t one_in_ = 0;        // calls of strike() do something
  std::uint64_t longest_spin_ = 0;  // in pauses of the processor
  std::optional<habits> habits_;    // instead, with high randomness
};

// Disturbs the threads that ask for it, while it lives. One at a time in a process.
class disturb_at_points {
 public:
  disturb_at_points();
  // All other threads, too, each by a seed of its own.
  explicit disturb_at_points(std::uint64_t seed);
  ~disturb_at_points();
  disturb_at_points(const disturb_at_points&) = delete;
  disturb_at_points& operator=(const disturb_at_points&) = delete;
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_INTERFERE_DISTURBANCE_H_
