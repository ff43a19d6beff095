// Messages that quote what somebody else wrote: a word of the command line, the name of a file, what
// an exception says.

#ifndef ASSAY_INPUT_MESSAGE_H_
#define ASSAY_INPUT_MESSAGE_H_

#include <span>
#include <string>
#include <string_view>

namespace assay::input {

// The text as a terminal may show it, by the rule of Python's `words.message`: on one line, with
// control, format and bidirectional characters and bytes that are not UTF-8 written as escapes such as
// \x1b, and with at most 200 characters of a word and 2000 in all, of which the middle is left out.
//
// Of `given`, the words of a command line, a word is all of it and not what is between blanks.
[[nodiscard]] std::string message(std::string_view text, std::span<char* const> given = {});

// Prints "error: " and the message in one line on standard error.
void print_error(std::string_view text, std::span<char* const> given = {});

}  // namespace assay::input

#endif  // ASSAY_INPUT_MESSAGE_H_
