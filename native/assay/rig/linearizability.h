// Is a map linearizable? Thousands of recorded histories, each judged by porcupine.
//
//     recorded counts;
//     switch (check_linearizability(trial::find_subject("my_map"), {.seed = 7, .histories = 5000},
//                                   counts)) { ... }
//
// The checker is the program assay-linearizability, which the build makes of linearizability/, in
// Go. It prints what it found to the standard output of this program: also of a recording that is
// cut short because the map throws, hangs or crashes.

#ifndef ASSAY_RIG_LINEARIZABILITY_H_
#define ASSAY_RIG_LINEARIZABILITY_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include "assay/rig/recorder.h"
#include "assay/trial/subject.h"

namespace assay::rig {

enum class judgement : std::uint8_t { linearizable, not_linearizable, unreadable };

// The checker, for histories that were not recorded by recorder.h:
//
//     checker judge(2);
//     judge.take(first);                      // one line of JSON, as history.h has it
//     judge.take(second);
//     judge.verdict();
class checker {
 public:
  // Throws std::system_error if it cannot be run.
  explicit checker(std::uint64_t histories);
  void take(std::string_view line);
  // Waits for the checker, which prints what it found. Nothing is taken from then on.
  [[nodiscard]] judgement verdict();

 private:
  struct close_pipe {
    void operator()(std::FILE* pipe) const;
  };
  std::unique_ptr<std::FILE, close_pipe> pipe_;
};

// Unreadable: the checker said why it could not judge, or ended early, of which there is a message.
// Throws std::system_error if the checker cannot be run, and what record() throws; ends the process
// as record() does.
judgement check_linearizability(const trial::subject_entry& subject, const recording& asked,
                                recorded& counts);

}  // namespace assay::rig

#endif  // ASSAY_RIG_LINEARIZABILITY_H_
