// Does every thread find what it left?
//
//     const owned seen = check_owners(find_subject("my_map"), {.seed = 7});
//     EXPECT_EQ(seen.problem, "");
//
// Each key belongs to one thread, which alone inserts and erases it and so knows every answer about
// it beforehand, while its neighbours in the structure belong to other threads. Answers are
// compared as they come, millions a second: a mistake that shows once in a million calls is found
// in seconds, and so is one that needs thousands of keys, or a map that has just been built.
//
// It goes in rounds, each on a new map: of 2 to 8 threads and up to 20,000 keys, side by side, in
// equal steps or scattered, which grow from nothing, are filled and emptied in turn, or are
// inserted and erased at random. Every third round is on hundreds of small maps, one after the
// other, each about to grow, as far as the time of one thread's inserts tells. Half of the rounds
// run at full speed; in the others threads are disturbed (disturbance.h, preemption.h). The end
// belongs to one long round, for what shows late in the life of a map.
//
// What visits several elements (ranges, snapshots, iterations, ...) must meet the thread's own keys
// exactly, and those that stay for the whole round exactly once.
//
// In half of the rounds on a map that is linearizable, threads also look at each other's keys. Each
// says how many of its operations have begun and how many have returned, and keeps a log of them:
//
//     thread 0   returned: 95 ...             ... begun: 97
//     thread 1             ┌ find(17) ── nothing ┘
//
// says that key 17 was held at no time between the 95th operation of thread 0 and its 97th, if that
// is whose it is, or that it was erased in between. The log says whether that is so. What takes
// effect at one instant must also be of one instant of each thread's log: a range over hundreds of
// keys is judged in as many steps. So old values, caches that nobody clears and writes that others
// see late are found.

#ifndef ASSAY_RIG_OWNERS_H_
#define ASSAY_RIG_OWNERS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "assay/subject/subject.h"

namespace assay::rig {

struct owning {
  std::uint64_t seed;
  std::chrono::duration<double> duration{3};
};

struct owned {
  // Each kind of round has had its turn after this many.
  static constexpr std::uint64_t enough_rounds = 8;
  std::uint64_t rounds = 0;
  std::uint64_t operations = 0;
  std::uint64_t undisturbed = 0;   // of these operations
  double undisturbed_seconds = 0;  // in which they were performed
  std::uint64_t observations = 0;  // answers about other threads' keys, each key that a visit met
  std::string problem{};           // the first answer that was wrong, with its round; or empty
};

// The subject must take two threads. Throws operation_failed (recorder.h) if the map throws.
[[nodiscard]] owned check_owners(const subject::subject_entry& subject, const owning& asked);

}  // namespace assay::rig

#endif  // ASSAY_RIG_OWNERS_H_
