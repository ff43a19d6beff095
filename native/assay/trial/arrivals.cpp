#include "assay/trial/arrivals.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "assay/host/clock.h"

namespace assay::trial {

arrival_times::arrival_times(const arrivals& chosen, workload::thread_place place,
                             std::uint64_t seed)
    : gap_ns_(1e9 / chosen.rate * place.threads), spacing_(chosen.spacing), engine_(seed) {
  if (spacing_ == spacing::even) {
    first_ns_ = next_ns_ = 1e9 / chosen.rate * place.index;
  } else {
    advance();
  }
}

void arrival_times::advance() {
  if (spacing_ == spacing::even) {
    next_ns_ = first_ns_ + ++passed_ * gap_ns_;
  } else {
    // A uniform number above 0 and at most 1, by 53 bits; its logarithm's negative is exponential.
    const double uniform = static_cast<double>((engine_() >> 11) + 1) * 0x1p-53;
    next_ns_ -= gap_ns_ * std::log(uniform);
  }
}

std::uint64_t arrival_times::pass_until(double ns) {
  constexpr std::uint64_t most_drawn = 1'000'000;
  std::uint64_t passed = 0;
  for (; next_ns_ <= ns && passed < most_drawn; ++passed) advance();
  if (next_ns_ > ns) return passed;
  const double others = std::floor((ns - next_ns_) / gap_ns_) + 1;
  passed_ += others;
  next_ns_ += others * gap_ns_;
  return passed + static_cast<std::uint64_t>(others);
}

std::uint64_t wait_until(std::uint64_t due, const std::stop_token& stop) {
  constexpr std::uint64_t spin_ns = 200'000;
  constexpr std::uint64_t longest_sleep_ns = 5'000'000;
  for (;;) {
    const std::uint64_t now = host::now_ns();
    if (now >= due || stop.stop_requested()) return now;
    if (due - now > spin_ns) {
      const std::uint64_t sleep = std::min(due - now - spin_ns, longest_sleep_ns);
      const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(sleep)};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }
}

}  // namespace assay::trial
