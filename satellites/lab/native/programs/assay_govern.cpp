// assay-govern: what `assay-governor` starts to look at the machine, to train and to govern
// (governor_process.h).

#include <memory>

#include "assay/governor/governor_process.h"

int main(int argc, char** argv) {
  return assay::energy::govern_main(argc, argv, [](const auto& root, int ended) {
    return std::make_unique<assay::energy::kernel>(root, ended);
  });
}
