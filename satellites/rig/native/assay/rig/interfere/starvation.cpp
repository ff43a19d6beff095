#include "assay/rig/interfere/starvation.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace assay::rig {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t very_many = 1'000'000;
constexpr auto very_long = 2s;
constexpr std::uint64_t many_awakenings = 1000;
constexpr std::uint64_t long_ns = 300'000'000;
// A thread that waits in a loop and gives its processor away in it has this many turns in vain.
constexpr std::uint64_t many_turns = 100;

// What it did between the two, if it was not waiting for a processor.
const char* in_vain(const thread_state& first, const thread_state& now) {
  if (sleeps_since(first, now)) return "asleep all the time";
  if (now.sleeps - first.sleeps >= many_awakenings) return "woken again and again";
  if (now.ran_ns - first.ran_ns >= long_ns) return "busy all the time";
  if (now.switches - now.sleeps - (first.switches - first.sleeps) >= many_turns) {
    return "running again and again in vain";
  }
  return nullptr;
}

}  // namespace

starvation::starvation(watchdog& watch)
    : watch_(watch), thread_([this] {
        watch_.look_on();
        while (!over_.try_acquire_for(10ms)) look();
      }) {}

starvation::found starvation::end() {
  over_.release();
  thread_.join();
  return found_;
}

void starvation::look() {
  const auto calls = watch_.calls();
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t all = watch_.signs();
  for (const auto& call : calls) {
    operation& before = last_[call.thread];
    if (call.inside_of.empty() || call.steps != before.steps || !before.state.known) {
      before = {call.steps, all, now, state_of(call.thread)};
      continue;
    }
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - before.seen);
    found_.longest = std::max(found_.longest, age);
    const std::uint64_t others = (all - before.signs_of_all) / 2;
    if (found_.beyond_doubt || age < very_long || others < very_many) continue;
    const char* const how = in_vain(before.state, state_of(call.thread));
    if (how == nullptr) continue;
    std::array<char, 200> text{};
    std::snprintf(text.data(), text.size(),
                  "a thread starves: it has been inside %s for %.1f s, %s, while the others "
                  "completed %ju operations",
                  call.inside_of.c_str(), std::chrono::duration<double>(age).count(), how,
                  std::uintmax_t{others});
    found_.message = text.data();
    found_.beyond_doubt = true;
  }
}

}  // namespace assay::rig
