#include "assay/random/entropy.h"

#include <sys/random.h>

#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "assay/random/hardware.h"

namespace assay::random {
namespace {

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Eight bytes of the kernel's generator: ChaCha20, which the kernel seeds from every source that
// it has and reseeds while it runs. A ChaCha20 of our own, seeded by one such call, would save the
// other calls. They take less than a microsecond each, as long as RDSEED, once in a million
// numbers; and it would be cryptographic code to keep and to prove.
bool try_getrandom(std::uint64_t& number) {
  return getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number);
}

// How often to try is Intel's advice (section 5 of the guide that hardware.h names): RDRAND ten
// times, after which it is broken; RDSEED can be drawn faster by many threads than the hardware
// gathers entropy, so it is tried again after a pause, a hundred times, and RDRAND asked instead
// if that would keep the thread waiting any longer. A call of getrandom is interrupted by a signal
// only while the kernel starts.
std::vector<entropy_way> ways_of_this_machine() {
  std::vector<entropy_way> ways;
  if (has_rdseed()) ways.push_back({"RDSEED", try_rdseed, 100});
  if (has_rdrand()) ways.push_back({"RDRAND", try_rdrand, 10});
  ways.push_back({"getrandom", try_getrandom, 10});
  return ways;
}

}  // namespace

std::uint64_t first_to_answer::draw() {
  for (const auto& way : ways_) {
    for (int attempt = 0; attempt < way.attempts; ++attempt) {
      std::uint64_t number = 0;
      if (way.attempt(number)) return number;
      pause();
    }
  }
  throw std::runtime_error("no source of entropy gave a number in any attempt: " + source());
}

std::string first_to_answer::source() const {
  std::string text;
  for (const auto& way : ways_) {
    if (!text.empty()) text += ", else ";
    text += way.name;
  }
  return text;
}

// Nothing else answers if RDSEED does not: it is waited for longer.
std::unique_ptr<entropy> entropy_named(std::string_view name) {
  const auto alone = [](const entropy_way& way) {
    return std::make_unique<first_to_answer>(std::vector{way});
  };
  if (name == "rdseed" && has_rdseed()) return alone({"RDSEED", try_rdseed, 100'000});
  if (name == "rdrand" && has_rdrand()) return alone({"RDRAND", try_rdrand, 10});
  if (name == "kernel") return alone({"getrandom", try_getrandom, 10});
  return nullptr;
}

entropy& system_entropy() {
  static first_to_answer system(ways_of_this_machine());
  return system;
}

}  // namespace assay::random
