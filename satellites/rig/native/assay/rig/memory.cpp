#include "assay/rig/memory.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "assay/measure/crew.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/interfere/disturbance.h"
#include "assay/rig/map_failures.h"
#include "assay/rig/questions.h"
#include "assay/rig/watch/allocated.h"
#include "assay/rig/watch/watchdog.h"

namespace assay::rig {
namespace {

using std::chrono::steady_clock;
using subject::subject_entry;

constexpr int overtime = 4;  // times the patience that the rounds take at most, and the laps
constexpr std::uint64_t too_much = std::uint64_t{256} << 20U;

// How many operations each thread has in a round, if a round with `operations` took this long: no
// more than let all rounds and laps end in time. A map whose threads wait long for each other
// needs no more for a check.
std::uint64_t operations_in_time(const remembering& asked, std::uint64_t operations,
                                 std::chrono::duration<double> took) {
  constexpr std::uint64_t fewest = 100;
  const auto for_each = asked.patience / (4.0 * asked.rounds);
  if (took <= for_each) return operations;
  return std::max(fewest,
                  static_cast<std::uint64_t>(static_cast<double>(operations) * (for_each / took)));
}

// What is wrong with the map at the end of the round, if anything is. Rounds are by turns of the
// first types that it holds and of the last, which are strings if it holds any.
std::optional<std::string> play_round(const subject_entry& subject, const remembering& asked,
                                      unsigned round, watchdog& watch,
                                      std::atomic<std::uint64_t>& operations) {
  constexpr std::uint64_t seldom = 64;  // looks at the clock
  const auto begin = steady_clock::now();
  const unsigned threads = std::min(4U, subject.max_threads.value_or(4));
  const subject::held_types& types = round % 2 == 0 ? subject.types.front() : subject.types.back();
  const auto map = watch.over(build_as(types, asked.keys, threads));
  const auto about = asked_about::of(subject, types, asked.keys, true);
  const std::uint64_t seed = random::derive_seed(asked.seed, round);
  measure::crew crew(threads);
  crew.run([&](unsigned i) {
    random::splitmix64 draw(random::derive_seed(seed, i));
    const auto handle = map->attach();
    std::uint64_t n = 0;
    while (n < asked.operations) {
      ++n;
      handle->ask(draw_question(draw, subject.operations, about));
      if (n % seldom == 0 && steady_clock::now() - begin > asked.patience) break;
    }
    operations.fetch_add(n, std::memory_order_relaxed);
  });
  return map->broken_invariant();
}

// In a thread of its own, which ends before the memory is looked at: what it kept at hand for its
// next allocations has gone back by then.
std::optional<std::string> in_own_thread(auto round) {
  std::packaged_task<std::optional<std::string>()> task(round);
  auto result = task.get_future();
  std::jthread(std::move(task)).join();
  return result.get();
}

// How often there was more than ever before.
std::size_t climbs_of(std::span<const std::uint64_t> bytes) {
  std::size_t climbs = 0;
  std::uint64_t most = bytes.front();
  for (const std::uint64_t now : bytes) {
    climbs += now > most ? 1U : 0U;
    most = std::max(most, now);
  }
  return climbs;
}

// Whether a third of the rounds after the first end with more than ever before.
bool climbs_often(std::span<const std::uint64_t> bytes) {
  return 3 * climbs_of(bytes) >= bytes.size() - 1;
}

// Whether each quarter is above the one before.
bool climbs_by_quarters(std::span<const std::uint64_t> bytes) {
  const std::size_t quarter = bytes.size() / 4;
  for (std::size_t at = quarter; at + quarter <= bytes.size(); at += quarter) {
    if (std::ranges::max(bytes.subspan(at - quarter, quarter)) >=
        std::ranges::min(bytes.subspan(at, quarter))) {
      return false;
    }
  }
  return true;
}

// Whether the second half brought as much as growth in proportion would, or not much less.
bool grows_steadily(std::span<const std::uint64_t> bytes) {
  const std::uint64_t half_way = bytes[bytes.size() / 2];
  return bytes.back() > half_way && half_way > bytes.front() &&
         bytes.back() - half_way > (half_way - bytes.front()) / 3;
}

// Lets one map live for a while. Says what is wrong with it. `asked` may have fewer operations than
// the user requested; growth over less than `fewest` operations is not reported.
std::optional<std::string> run_laps(const subject_entry& subject, const remembering& asked,
                                    std::uint64_t fewest, watchdog& watch, kept_memory& seen) {
  using workload::operation;
  const unsigned threads = std::min(4U, subject.max_threads.value_or(4));
  const auto map = watch.over(subject.build({.key_range = asked.keys, .threads = threads}));
  const auto about = asked_about::of(subject, subject.types.front(), asked.keys, true);
  const auto keys = about.keys.size();
  std::vector<std::unique_ptr<subject::any_handle>> handles(threads);
  measure::crew crew(threads);
  crew.run([&](unsigned i) { handles[i] = map->attach(); });
  std::uint64_t performed = 0;
  std::vector<std::uint64_t> bytes;
  constexpr std::size_t most_laps = 1024;
  bytes.reserve(std::max<std::size_t>(most_laps, asked.rounds));
  const auto begin = steady_clock::now();
  const auto run_until = [&](std::size_t laps) {
    while (bytes.size() < laps) {
      if (steady_clock::now() - begin > overtime * asked.patience) {
        seen.no_time_for =
            std::to_string(laps) + " laps of a map that lives on: " + std::to_string(bytes.size());
        return false;
      }
      const std::uint64_t seed = random::derive_seed(asked.seed, bytes.size());
      crew.run([&](unsigned i) {
        random::splitmix64 draw(random::derive_seed(seed, i));
        for (std::uint64_t k = 0; k < asked.operations; ++k) {
          const operation kind = draw() % 2 == 0 ? operation::insert : operation::erase;
          handles[i]->ask(
              {.kind = kind, .key = about.keys[draw() % keys], .value = about.value(draw)});
        }
      });
      crew.run([&](unsigned i) {
        for (std::size_t place = i; place < keys; place += threads) {
          handles[i]->ask({.kind = operation::erase, .key = about.keys[place]});
        }
      });
      performed += asked.operations * threads + keys;
      bytes.push_back(allocated_bytes());
    }
    return climbs_by_quarters(bytes);
  };
  // What is erased may be freed in large batches: memory that has grown so far may yet fall.
  const auto enough = [&] {
    return bytes.size() >= most_laps || bytes.back() > bytes.front() + too_much / 2 ||
           steady_clock::now() - begin > asked.patience;
  };
  bool keeps = run_until(asked.rounds);
  do {
    keeps = keeps && run_until(2 * bytes.size());  // to be sure
  } while (keeps && !enough());
  keeps = keeps && performed >= fewest && grows_steadily(bytes);
  seen.operations += performed;
  crew.run([&](unsigned i) { handles[i].reset(); });
  if (const auto broken = map->broken_invariant()) return broken;
  if (!keeps) return std::nullopt;
  return "a map that lives on keeps what was erased: it was empty " + std::to_string(bytes.size()) +
         " times, and the process had " + std::to_string(bytes.front()) +
         " bytes allocated the first time and " + std::to_string(bytes.back()) +
         " the last. A map that is meant to free nothing before its end says so: static constexpr "
         "bool leaks = true";
}

}  // namespace

kept_memory memory_kept(const subject_entry& subject, const remembering& asked_for) {
  remembering asked = asked_for;
  watchdog watch({.check = "memory",
                  .map = subject.name,
                  .seed = asked.seed,
                  .most_bytes = subject.leaks ? std::nullopt : std::optional(too_much)});
  const disturb_at_points disturbed(asked.seed);
  kept_memory seen;
  std::vector<std::uint64_t> bytes;
  // A third of 16 is reached by chance once in a hundred times, a third of 64 never.
  const unsigned most_rounds = 4 * asked.rounds;
  bytes.reserve(most_rounds + 1);
  const unsigned unheeded = asked.rounds / 4;
  const auto to_be_sure = [&] { return bytes.size() <= most_rounds && climbs_often(bytes); };
  std::atomic<std::uint64_t> operations{0};
  const auto begin_time = steady_clock::now();
  for (unsigned n = 0; n <= unheeded + asked.rounds || to_be_sure(); ++n) {
    // One that seems to keep memory is looked at to the end.
    if (bytes.size() > 1 && !climbs_often(bytes) &&
        steady_clock::now() - begin_time > overtime * asked.patience) {
      seen.no_time_for =
          std::to_string(asked.rounds) + " rounds on new maps: " + std::to_string(bytes.size() - 1);
      return seen;
    }
    const auto begin = steady_clock::now();
    const auto broken = telling_failures(subject.name, asked.seed, [&] {
      return in_own_thread([&] { return play_round(subject, asked, n, watch, operations); });
    });
    if (broken) {
      seen.problem = "after round " + std::to_string(n) + ": " + *broken;
      return seen;
    }
    seen.operations = operations.load(std::memory_order_relaxed);
    if (n >= unheeded) bytes.push_back(allocated_bytes());
    if (n < unheeded) {
      asked.operations = operations_in_time(asked, asked.operations, steady_clock::now() - begin);
    }
  }
  if (climbs_often(bytes)) {
    seen.problem = "the process had " + std::to_string(bytes.front()) +
                   " bytes allocated after a map was destroyed, and " +
                   std::to_string(std::ranges::max(bytes)) + " after " +
                   std::to_string(bytes.size() - 1) + " more were; it grew in " +
                   std::to_string(climbs_of(bytes)) + " of these rounds";
    return seen;
  }
  const auto problem = telling_failures(subject.name, asked.seed, [&] {
    const std::uint64_t fewest = asked_for.operations * asked.rounds;
    return in_own_thread([&] { return run_laps(subject, asked, fewest, watch, seen); });
  });
  seen.problem = problem.value_or("");
  return seen;
}

}  // namespace assay::rig
