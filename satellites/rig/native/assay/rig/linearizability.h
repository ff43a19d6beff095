// Is a map linearizable? Thousands of recorded histories, each judged by porcupine.
//
//     recorded counts;
//     switch (check_linearizability(find_subject("my_map"), {.seed = 7, .histories = 5000},
//                                   counts)) { ... }
//
// The checker is the program assay-linearizability, which the build makes of linearizability/, in
// Go: the one that the environment variable ASSAY_JUDGE names, or else stands beside the program,
// or else is where CMake knew it to be when the program was linked (judge_path.cpp). It prints what
// it found to the standard output of this program: also of a recording that is cut short because
// the map throws, hangs or crashes.

#ifndef ASSAY_RIG_LINEARIZABILITY_H_
#define ASSAY_RIG_LINEARIZABILITY_H_

#include <cstdint>

#include "assay/rig/recorder.h"
#include "assay/subject/subject.h"

namespace assay::rig {

// Where the judge is if it is not next to the program. judge_path.cpp sets it; null without it.
extern const char* judge_path;

enum class judgement : std::uint8_t { linearizable, not_linearizable, unreadable };

// Unreadable: the checker said why it could not judge, or ended early, which a message reports.
// Throws std::runtime_error if the checker cannot be run, and what record() throws; ends the
// process as record() does.
judgement check_linearizability(const subject::subject_entry& subject, const recording& asked,
                                recorded& counts);

}  // namespace assay::rig

#endif  // ASSAY_RIG_LINEARIZABILITY_H_
