// Messages that quote what somebody else wrote: a word of the command line, the name of a file,
// what an exception says.

#ifndef ASSAY_INPUT_MESSAGE_H_
#define ASSAY_INPUT_MESSAGE_H_

#include <span>
#include <string>
#include <string_view>

namespace assay::input {

// Returns the text as a terminal may show it, by the rule of Python's `words.message`. It is one
// line. Control, format and bidirectional characters, and bytes that are not UTF-8, become escapes
// such as
// \x1b. A word longer than 200 characters loses its middle, and so does a line longer than 2000.
//
// A word ends at a blank. The words of a command line, `given`, may have blanks inside.
[[nodiscard]] std::string message(std::string_view text, std::span<char* const> given = {});

// Prints "error: " and the message in one line on standard error.
void print_error(std::string_view text, std::span<char* const> given = {});

}  // namespace assay::input

#endif  // ASSAY_INPUT_MESSAGE_H_
