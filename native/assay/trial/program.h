// What programs that run trials have in common on their command lines.

#ifndef ASSAY_TRIAL_PROGRAM_H_
#define ASSAY_TRIAL_PROGRAM_H_

#include <functional>

namespace CLI {
class App;
}

namespace assay::trial {

// Lists what the user asks for, of --list, --events and --engines, or calls `run_one_trial`;
// returns the exit status. The name of `app` is the program's, and it may have options of its own.
int run_program(CLI::App& app, int argc, char** argv, const std::function<void()>& run_one_trial);

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_PROGRAM_H_
