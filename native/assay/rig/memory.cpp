#include "assay/rig/memory.h"

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "assay/random/splitmix64.h"
#include "assay/rig/allocated.h"
#include "assay/rig/disturbance.h"
#include "assay/rig/map_failures.h"
#include "assay/rig/questions.h"
#include "assay/rig/watchdog.h"
#include "assay/trial/crew.h"

namespace assay::rig {
namespace {

constexpr std::uint64_t too_much = std::uint64_t{256} << 20U;

// What is wrong with the map at the end of the round, if anything is.
std::optional<std::string> play_round(const trial::subject_entry& subject, const remembering& asked,
                                      std::uint64_t seed, watchdog& watch) {
  const unsigned threads = std::min(4U, subject.max_threads.value_or(4));
  const auto map = watch.over(subject.open({.key_range = asked.keys, .threads = threads}));
  trial::crew crew(threads);
  crew.run([&](unsigned i) {
    random::splitmix64 draw(random::derive_seed(seed, i));
    const auto handle = map->attach();
    for (std::uint64_t n = 0; n < asked.operations; ++n) {
      handle->ask(draw_question(draw, subject.operations, asked.keys));
    }
  });
  return map->broken_invariant();
}

// In a thread of its own, which ends before the memory is looked at: what it kept at hand for its
// next allocations has gone back by then.
std::optional<std::string> in_own_thread(auto round) {
  std::packaged_task<std::optional<std::string>()> task(round);
  auto outcome = task.get_future();
  std::jthread(std::move(task)).join();
  return outcome.get();
}

}  // namespace

kept_memory memory_kept(const trial::subject_entry& subject, const remembering& asked) {
  watchdog watch({.check = "memory",
                  .map = subject.name,
                  .seed = asked.seed,
                  .most_bytes = subject.leaks ? std::nullopt : std::optional(too_much)});
  const disturb_at_points disturbed(asked.seed);
  kept_memory seen;
  std::vector<std::uint64_t> bytes;
  bytes.reserve(asked.rounds + 1);
  const unsigned unheeded = asked.rounds / 4;
  for (unsigned n = 0; n <= unheeded + asked.rounds; ++n) {
    const std::uint64_t seed = random::derive_seed(asked.seed, n);
    const auto broken = telling_failures(subject.name, asked.seed, [&] {
      return in_own_thread([&] { return play_round(subject, asked, seed, watch); });
    });
    if (broken) {
      seen.problem = "after round " + std::to_string(n) + ": " + *broken;
      return seen;
    }
    seen.operations += asked.operations * std::min(4U, subject.max_threads.value_or(4));
    if (n >= unheeded) bytes.push_back(allocated_bytes());
  }
  std::uint64_t most = bytes.front();
  unsigned climbs = 0;
  for (const std::uint64_t now : bytes) {
    if (now <= most) continue;
    most = now;
    ++climbs;
  }
  if (3 * climbs >= asked.rounds) {
    seen.problem = "the process had " + std::to_string(bytes.front()) +
                   " bytes allocated after a map was destroyed, and " + std::to_string(most) +
                   " after " + std::to_string(asked.rounds) + " more were; it grew in " +
                   std::to_string(climbs) + " of these rounds";
  }
  return seen;
}

}  // namespace assay::rig
