#include "assay/governor/loads.h"

#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <stop_token>
#include <string>
#include <system_error>

namespace assay::energy {
namespace {

constexpr std::size_t stride = 256;

void compute(const std::stop_token& end) {
  volatile std::uint32_t count = 0;
  while (!end.stop_requested()) {
    for (int i = 0; i < 1 << 16; ++i) count = count + 1;
  }
}

// Where the next read is, the last one says: all bytes are 1, which the compiler cannot know.
void wait_for_memory(std::vector<std::uint8_t>& array, const std::stop_token& end) {
  std::size_t i = 0;
  while (!end.stop_requested()) {
    for (int reads = 0; reads < 1024; ++reads) {
      const std::uint8_t one = array[i];
      array[i] = static_cast<std::uint8_t>(one * one);
      i += one * stride;
      if (i >= array.size()) i = 0;
    }
  }
}

}  // namespace

training_loads::training_loads(load which, const std::vector<unsigned>& processors,
                               std::size_t bytes)
    : begun_(static_cast<std::ptrdiff_t>(processors.size())) {
  std::vector<int> errors(processors.size());  // each written by its thread, before it counts down
  for (std::size_t i = 0; i < processors.size(); ++i) {
    threads_.emplace_back(
        [&, which, bytes, i, processor = processors[i]](const std::stop_token& end) {
          std::vector<std::uint8_t> array;
          cpu_set_t* const only = CPU_ALLOC(processor + 1);
          CPU_ZERO_S(CPU_ALLOC_SIZE(processor + 1), only);
          CPU_SET_S(processor, CPU_ALLOC_SIZE(processor + 1), only);
          if (sched_setaffinity(0, CPU_ALLOC_SIZE(processor + 1), only) != 0) errors[i] = errno;
          CPU_FREE(only);
          try {
            if (which == load::memory) array.assign(bytes, 1);
          } catch (const std::bad_alloc&) {
            errors[i] = ENOMEM;
          }
          const bool works = errors[i] == 0;
          begun_.count_down();  // from here on, nothing of the constructor's may be touched
          if (!works) return;
          if (which == load::memory) {
            wait_for_memory(array, end);
          } else {
            compute(end);
          }
        });
  }
  begun_.wait();
  for (std::size_t i = 0; i < processors.size(); ++i) {
    if (errors[i] == 0) continue;
    throw platform_error("cannot run a load on processor " + std::to_string(processors[i]) + ": " +
                         std::generic_category().message(errors[i]));
  }
}

}  // namespace assay::energy
