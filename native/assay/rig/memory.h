// Does a map give its memory back?
//
//     const kept_memory seen = memory_kept(trial::find_subject("my_map"), {.seed = 7});
//     EXPECT_EQ(seen.problem, "");
//
// Again and again, four threads perform random operations on a new map, disturbed at marked points,
// and then the map is destroyed. What the process has allocated is looked at after each round, when
// all threads of it have ended. A map that loses something now and then makes it climb; all else,
// what libraries allocate once and what allocators round up, does not: among numbers that vary by
// chance alone, new greatest ones become rare.

#ifndef ASSAY_RIG_MEMORY_H_
#define ASSAY_RIG_MEMORY_H_

#include <cstdint>
#include <string>

#include "assay/trial/subject.h"

namespace assay::rig {

struct remembering {
  std::uint64_t seed;
  unsigned rounds = 16;             // that count; one in four more before them does not
  std::uint64_t operations = 1500;  // of each thread, in each round
  std::uint64_t keys = 16;
};

struct kept_memory {
  std::uint64_t operations = 0;
  std::string problem{};  // what it kept or what it did wrong meanwhile; empty if nothing
};

// Throws operation_failed (recorder.h) if the map throws. A map that goes on allocating ends the
// process with status 1, at 256 MiB, as no thread inside it can be stopped.
[[nodiscard]] kept_memory memory_kept(const trial::subject_entry& subject,
                                      const remembering& asked);

}  // namespace assay::rig

#endif  // ASSAY_RIG_MEMORY_H_
