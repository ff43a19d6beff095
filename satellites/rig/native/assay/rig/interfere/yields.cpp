#include "assay/rig/interfere/yields.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "assay/base/sanitizers.h"
#include "assay/rig/interfere/disturbance.h"

namespace assay::rig {
namespace {

// Nothing is published by it: relaxed throughout.
std::atomic<bool> suppressed{false};

}  // namespace

suppress_yields::suppress_yields() { suppressed.store(true, std::memory_order_relaxed); }
suppress_yields::~suppress_yields() { suppressed.store(false, std::memory_order_relaxed); }

}  // namespace assay::rig

#if !ASSAY_ADDRESS_SANITIZER && !ASSAY_THREAD_SANITIZER

// Replaces the C library's, for what is compiled into the program.
extern "C" int sched_yield() noexcept {
  if (assay::rig::suppressed.load(std::memory_order_relaxed)) {
    constexpr unsigned between = 256;
    thread_local unsigned yields = 0;
    if (++yields % between != 0) {
      assay::rig::pause_processor();
      return 0;
    }
  }
  return static_cast<int>(syscall(SYS_sched_yield));
}

#endif
