// What a governor is trained with, after listing 3.2 of Bonnichsen 2016: threads that only compute,
// or that only wait for memory, one read after another.
//
//     training_loads loads(load::memory, {0, 2});   // on these processors, and running when this
//     returns
//     ...                                           // until it is destroyed

#ifndef ASSAY_GOVERNOR_LOADS_H_
#define ASSAY_GOVERNOR_LOADS_H_

#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

#include "assay/energy/platform.h"

namespace assay::energy {

class training_loads {
 public:
  // Each thread that waits for memory has an array of `bytes`, which should be many times the last
  // cache, and is at least 4096. Throws platform_error where a processor cannot be had or the
  // memory not be allocated.
  training_loads(load which, const std::vector<unsigned>& processors, std::size_t bytes);

 private:
  std::latch begun_;
  std::vector<std::jthread> threads_;
};

}  // namespace assay::energy

#endif  // ASSAY_GOVERNOR_LOADS_H_
