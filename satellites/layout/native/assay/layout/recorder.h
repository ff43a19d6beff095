// Makes a trace of what the plugin of qemu-user tells (native/qemu/block_trace.c).

#ifndef ASSAY_LAYOUT_RECORDER_H_
#define ASSAY_LAYOUT_RECORDER_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace assay::layout {

struct recording {
  std::filesystem::path blocks;    // what the plugin writes of blocks
  std::filesystem::path executed;  // a pipe with what it writes of their execution
  std::filesystem::path output;
};

// What follows in the pipe where the emulator has ended: all bytes are alike, so that it is found
// also behind a number that was cut.
inline constexpr std::uint32_t emulator_ended = 0xfefefefe;

// Reads all that is executed, until the plugin says that it ends. `program` is an object with
// `program`, its path, `build_id`, `procedures` (lists of name, address, bytes, and 1 if it is
// movable, in the order of addresses), and `code`, its segments that are executed (lists of
// address, offset in the file and bytes). Throws bad_request if the program changes its code while
// it runs, if the plugin did not come to its end, or if nothing in its procedures was executed, and
// std::system_error if the trace cannot be written.
void record(const nlohmann::json& program, const recording& files);

}  // namespace assay::layout

#endif  // ASSAY_LAYOUT_RECORDER_H_
