// A history: what threads asked of a map, when, and what it answered. One line of JSON each, as
// linearizability/history.go reads them:
//
//     {"map":"my_map","seed":7,"number":12,"start":[[3,101]],
//      "operations":[{"thread":0,"op":"insert","key":3,"value":1201,"call":0,"return":85,
//                     "answer":false}, ...],
//      "end":[[3,101]]}
//
// `start` and `end` are what a walk met while no thread was inside the map. Of an operation that
// has not returned, "return" and "answer" are missing, and so is "end" of its history.

#ifndef ASSAY_RIG_HISTORY_H_
#define ASSAY_RIG_HISTORY_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "assay/subject/any_map.h"

namespace assay::rig {

struct operation_record {
  unsigned thread;
  subject::question asked;
  subject::answer answered;
  std::int64_t call_ns;
  std::int64_t return_ns;
};

// An operation that has not returned.
struct unreturned_record {
  unsigned thread;
  subject::question asked;
  std::int64_t call_ns;
};

struct history {
  std::string map;
  std::uint64_t seed;
  std::uint64_t number;
  std::vector<subject::element> start;
  std::vector<operation_record> operations;
  std::vector<subject::element> end;
  std::vector<unreturned_record> unreturned{};
};

// One line, which is flushed: what the map does next may end the process.
void write(std::ostream& out, const history& recorded);

// As one would write it in a program: "insert(3, 1201)".
[[nodiscard]] std::string to_string(const subject::question& asked);

// "true", "nothing", "1201", "{3 -> 1201}"
[[nodiscard]] std::string to_string(const subject::answer& answered);

}  // namespace assay::rig

#endif  // ASSAY_RIG_HISTORY_H_
