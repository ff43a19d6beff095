// The command line of a program, and how it ends.

#ifndef ASSAY_INPUT_COMMAND_LINE_H_
#define ASSAY_INPUT_COMMAND_LINE_H_

#include <functional>
#include <optional>

namespace CLI {
class App;
}

namespace assay::input {

// Throws unless all that was printed has been written: a program whose output is lost has failed.
// parse() does this after help or version, and run() at the end.
void require_printed();

// Reads the command line. What it returns, if anything, is the status to exit with at once: 0 after
// help or version, 2 after a mistake, which it prints in one line on standard error. Lets through
// what callbacks of `app` throw.
[[nodiscard]] std::optional<int> parse(CLI::App& app, int argc, char** argv);

// All that main() does: reads the command line, works, and returns the status to exit with. That is
// 2 if the command line is mistaken or `work` throws bad_request, and 1 if it throws anything else.
[[nodiscard]] int run(CLI::App& app, int argc, char** argv, const std::function<void()>& work);

}  // namespace assay::input

#endif  // ASSAY_INPUT_COMMAND_LINE_H_
