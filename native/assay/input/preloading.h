// Programs into which a library is loaded before they start.
//
//     const fs::path program = input::find_program(command.front());
//     input::require_loadable(program);
//     input::preload(library);
//     input::replace_by(program, command);

#ifndef ASSAY_INPUT_PRELOADING_H_
#define ASSAY_INPUT_PRELOADING_H_

#include <filesystem>
#include <string>
#include <vector>

namespace assay::input {

// All throw bad_request with a message for the user. They are for programs of one thread.

// Returns the path of a program: what has no slash is looked for in PATH.
[[nodiscard]] std::filesystem::path find_program(const std::string& name);
// Throws if something keeps a library from being loaded into the program.
void require_loadable(const std::filesystem::path& program);
// Has this library loaded into what is run next, before those that the environment names.
void preload(const std::filesystem::path& library);
// Puts `value` before what a variable of the environment has.
void put_before(const char* variable, const std::string& value, char separator);
// Ends this program, and runs the other one in its place.
[[noreturn]] void replace_by(const std::filesystem::path& program,
                             const std::vector<std::string>& command);

}  // namespace assay::input

#endif  // ASSAY_INPUT_PRELOADING_H_
