// What the kernel says of a thread of this process: whether it runs, waits for a processor, or
// sleeps until another thread wakes it.
//
//     const thread_state before = state_of(thread);
//     ...
//     if (sleeps_since(before, state_of(thread))) ...  // it did nothing at all in between
//
// Time does not tell a thread that waits for another from one that waits for a processor; this
// does.

#ifndef ASSAY_RIG_WATCH_THREAD_STATE_H_
#define ASSAY_RIG_WATCH_THREAD_STATE_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace assay::rig {

struct thread_state {
  bool known = false;   // else nothing else is: it has ended, or the kernel does not tell
  bool asleep = false;  // neither runs nor waits for a processor
  bool by_lock =
      false;  // asleep until another thread wakes it: in a futex, without a limit of time
  std::uintptr_t lock{};       // and where that is
  std::uint64_t sleeps = 0;    // how often it has fallen asleep
  std::uint64_t switches = 0;  // how often it has left its processor in any way
  std::uint64_t ran_ns = 0;    // processor time
};

[[nodiscard]] thread_state state_of(pid_t thread);

// Whether it was asleep all the time between the two.
[[nodiscard]] inline bool sleeps_since(const thread_state& before, const thread_state& now) {
  return before.known && now.known && before.asleep && now.asleep &&
         before.switches == now.switches;
}

// Whether it was busy in between: it used its processor for 0.1 ms or more for each time that it
// fell asleep. A process that is stopped and continued (SIGSTOP), or that reads a page from a disk,
// falls asleep too.
[[nodiscard]] inline bool runs_since(const thread_state& before, const thread_state& now) {
  constexpr std::uint64_t each_ns = 100'000;
  return before.known && now.known && !before.asleep && !now.asleep && now.ran_ns > before.ran_ns &&
         now.ran_ns - before.ran_ns >= each_ns * (now.sleeps - before.sleeps);
}

// All threads of this process.
[[nodiscard]] std::vector<pid_t> all_threads();

// The thread that holds the std::mutex or std::shared_mutex (of glibc) for which others sleep
// there. None if it is no such lock, or readers hold it.
[[nodiscard]] std::optional<pid_t> holder_of(std::uintptr_t lock);

}  // namespace assay::rig

#endif  // ASSAY_RIG_WATCH_THREAD_STATE_H_
