// Files that a user names for output.
//
//     input::require_writable(path);             // before what takes long
//     input::write_output(path, text + '\n');
//
// Links are followed. A plain file is replaced when the new one is whole, and keeps its mode and,
// where that is allowed, its owner. Devices and pipes are written to; "-" is standard output, and
// so is /dev/stdout: what this process has open is written to where it is.

#ifndef ASSAY_INPUT_OUTPUT_FILE_H_
#define ASSAY_INPUT_OUTPUT_FILE_H_

#include <string>
#include <string_view>

namespace assay::input {

// Whether writing replaces a plain file, which may be done several times.
[[nodiscard]] bool replaces_file(const std::string& path);

// Makes an empty file where there is none; does not open devices and pipes, whose reader would see
// the end. Throws std::system_error if the path cannot be written to.
void require_writable(const std::string& path);

// Throws std::system_error if the text could not be written as a whole.
void write_output(const std::string& path, std::string_view text);

}  // namespace assay::input

#endif  // ASSAY_INPUT_OUTPUT_FILE_H_
