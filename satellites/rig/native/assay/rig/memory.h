// Does a map give its memory back, when it is destroyed and while it lives?
//
//     const kept_memory seen = memory_kept(find_subject("my_map"), {.seed = 7});
//     EXPECT_EQ(seen.problem, "");
//
// Again and again, four threads perform random operations on a new map, disturbed at marked points,
// and then the map is destroyed. What the process has allocated is looked at after each round, when
// all threads of it have ended. A map that loses something now and then makes it climb; all else,
// what libraries allocate once and what allocators round up, does not: among numbers that vary by
// chance alone, new greatest ones become rare. While they come in a third of the rounds there are
// more rounds, up to four times as many.
//
// Then one map lives on: lap after lap four threads insert and erase the same few keys, and at the
// end of each lap it is emptied. Its memory may grow for a while, as tables and reserves do, and
// vary, and what was erased may wait until there is a batch of it. While in each quarter of the
// laps it has more than ever before, there are as many laps again. It keeps what was erased if it
// grows like this over some millions of operations.

#ifndef ASSAY_RIG_MEMORY_H_
#define ASSAY_RIG_MEMORY_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "assay/subject/subject.h"

namespace assay::rig {

struct remembering {
  std::uint64_t seed;
  unsigned rounds = 16;  // that count, at least; one in four more before them does not; and laps
  std::uint64_t operations = 1500;  // of each thread, in each round; fewer where these take long
  std::uint64_t keys = 16;
  // That lives on and still grows, unless it is done earlier with 4000 times `operations`.
  std::chrono::duration<double> patience = std::chrono::seconds(5);
};

struct kept_memory {
  std::uint64_t operations = 0;
  // What there was no time for, or empty: a map that is slow gets four times the patience, and a
  // little more, for each of the two parts.
  std::string no_time_for{};
  std::string problem{};  // what it kept or what it did wrong meanwhile; empty if nothing
};

// Throws operation_failed (recorder.h) if the map throws. A map that goes on allocating ends the
// process with status 1, at 256 MiB, as no thread inside it can be stopped.
[[nodiscard]] kept_memory memory_kept(const subject::subject_entry& subject,
                                      const remembering& asked_for);

}  // namespace assay::rig

#endif  // ASSAY_RIG_MEMORY_H_
