// Makes a trace of what the plugin of qemu-user tells (native/qemu/block_trace.c).

#ifndef ASSAY_LAYOUT_RECORDER_H_
#define ASSAY_LAYOUT_RECORDER_H_

#include <filesystem>
#include <nlohmann/json.hpp>

namespace assay::layout {

struct recording {
  std::filesystem::path blocks;    // what the plugin wrote
  std::filesystem::path executed;  // what it writes
  std::filesystem::path output;
};

// Reads all that is executed, until the plugin ends. `program` is an object with `program`, its path,
// `build_id`, `procedures` (lists of name, address, bytes, and 1 if it is movable, in the
// order of addresses), and `code`,
// its segments that are executed (lists of address, offset in the file and bytes). Throws bad_request
// if the program changes its code while it runs, or if nothing in its procedures was executed, and
// std::system_error if the trace cannot be written.
void record(const nlohmann::json& program, const recording& files);

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_RECORDER_H_
