// assay-govern, which `assay-governor` starts once everything is noted that is to be put back:
// reads one request on standard input, and answers with one JSON object.
//
//     {"protocol": 1, "action": "look"}                           what this machine has, and lacks
//     {"protocol": 1, "action": "train", "seconds": 1, "processors": [1, 4]}
//     {"protocol": 1, "action": "run", "training": {...}, "exponent": 1, "state":
//     "/run/assay-governor/state.json"}
//
// SIGTERM, SIGINT and SIGHUP end a run, which then answers, and a training, which fails. It changes
// frequencies (real_platform.h) and puts nothing back.

#ifndef ASSAY_GOVERNOR_GOVERNOR_PROCESS_H_
#define ASSAY_GOVERNOR_GOVERNOR_PROCESS_H_

#include <filesystem>
#include <functional>
#include <memory>

#include "assay/governor/kernel.h"

namespace assay::energy {

// Makes a kernel for another root. The descriptor can be read once waiting is over.
using kernel_maker = std::function<std::unique_ptr<kernel>(const std::filesystem::path&, int)>;

// main() of the program; returns its status.
[[nodiscard]] int govern_main(int argc, char** argv, const kernel_maker& make_kernel);

}  // namespace assay::energy

#endif  // ASSAY_GOVERNOR_GOVERNOR_PROCESS_H_
