#include "assay/judge/speed.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "assay/host/clock.h"

namespace assay::judge {
namespace {

constexpr int rounds = 41;
constexpr std::uint64_t round_ns = 1'000'000;
constexpr std::uint64_t fewest_blocks = 8;
constexpr std::uint64_t most_blocks = 4096;

class no_source final : public random::number_source {
 public:
  void fill(std::span<std::uint64_t>) override {}
};

// In blocks as large as a trial's batch, each looked at once, so that nothing can be left out.
std::uint64_t time(random::number_source& source, std::span<std::uint64_t> numbers,
                   std::uint64_t blocks) {
  std::uint64_t all = 0;
  const std::uint64_t start = host::now_ns();
  for (std::uint64_t i = 0; i < blocks; ++i) {
    source.fill(numbers);
    for (const std::uint64_t number : numbers) all ^= number;
    asm volatile("" : "+r"(all) : : "memory");
  }
  return host::now_ns() - start;
}

}  // namespace

speed_statistics measure_speed(random::number_source& source) {
  std::array<std::uint64_t, 512> numbers{};
  no_source nothing;
  // A round of about a millisecond: long beside the clock, short beside the host's changes.
  time(source, numbers, fewest_blocks);
  const std::uint64_t trial_ns = std::max<std::uint64_t>(time(source, numbers, fewest_blocks), 1);
  const std::uint64_t blocks =
      std::clamp(fewest_blocks * round_ns / trial_ns, fewest_blocks, most_blocks);
  speed_statistics found;
  for (int round = 0; round < rounds; ++round) {
    const auto each = static_cast<double>(blocks * numbers.size());
    found.source_ns.push_back(static_cast<double>(time(source, numbers, blocks)) / each);
    found.floor_ns.push_back(static_cast<double>(time(nothing, numbers, blocks)) / each);
  }
  return found;
}

}  // namespace assay::judge
