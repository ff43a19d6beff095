// A thread that never returns from a map cannot be stopped, and would hold up the check for ever
// without a word.
//
//     watchdog watch({.check = "model", .map = subject.name, .seed = 7});
//     const auto map = watch.over(subject.build({.key_range = 8, .threads = 4}));
//     const auto handle = map->attach();
//     handle->ask(...);                    // every call that returns is a sign of life
//     watch.sign_of_life();                // so is this
//
// When there has been none for ten seconds, or as soon as all threads of the process are asleep
// until another wakes them, or have each been busy inside one call for 0.3 s of processor time, it
// prints what was checked, what is the matter, and inside which call of the map each thread is, and
// ends the process with status 3:
//
//     error: stress of my_map, seed 7: deadlock: 2 threads wait for each other's locks
//       thread 1 is inside insert(3), asleep: it waits for a lock that thread 2 holds
//       thread 2 is inside erase(4), asleep: it waits for a lock that thread 1 holds
//
// If the process crashes meanwhile, it prints `crashed in: erase(4)` before it dies of the signal;
// not under sanitizers, which say more.
//
// The environment variable ASSAY_RIG_PATIENCE gives another number of seconds than 10.

#ifndef ASSAY_RIG_WATCH_WATCHDOG_H_
#define ASSAY_RIG_WATCH_WATCHDOG_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "assay/rig/watch/thread_state.h"
#include "assay/subject/any_map.h"
#include "assay/workload/operation_batch.h"

namespace assay::rig {

// How long a check may do nothing.
[[nodiscard]] std::chrono::milliseconds patience();

// What it costs the threads watched is a few relaxed stores to memory that no other thread writes.
// The thread is last, and posts stand apart.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class watchdog {
 public:
  struct subject_of_check {
    std::string check;
    std::string map;
    std::uint64_t seed;
    // Allocated bytes above those at the beginning that end the process with status 1; for checks
    // of maps that may never stop allocating.
    std::optional<std::uint64_t> most_bytes{};
    // What happens outside of calls of the map may take as long as it likes.
    bool only_calls = false;
    std::chrono::milliseconds patience = rig::patience();
    // Called when all is said, before the process ends, by the thread that ends it.
    std::function<void()> last_words{};
  };

  explicit watchdog(subject_of_check of);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  // The same map, watched. The watchdog outlives it.
  [[nodiscard]] std::unique_ptr<subject::any_map> over(std::unique_ptr<subject::any_map> map);

  // While it lives, its thread is inside a call of a map that is not watched itself. Threads that
  // make one at the same time may be ordered by it, as they are not by calls of a map that is
  // watched.
  class sentry;

  // By any thread.
  void sign_of_life() { life_.fetch_add(1, std::memory_order_relaxed); }

  // How many there have been, with those into and out of each call. By any thread.
  [[nodiscard]] std::uint64_t signs() const;

  // A handle of a watched map, as its thread uses it.
  struct call {
    pid_t thread = 0;
    std::uint64_t steps = 0;                   // into and out of calls
    std::string inside_of{};                   // empty if it is inside of none
    std::optional<subject::question> asked{};  // if it is inside of a question
  };
  // The calls of all handles that there are. Any thread may call this.
  [[nodiscard]] std::vector<call> calls() const;

  // This thread looks on: that it is awake does not mean that anything can happen. One at a time.
  void look_on();

  // What else is printed if the process is ended: what was known by then. By any thread.
  void note(std::string known);
  // The same, also if the process crashes: a literal, with the end of its line.
  void hint(const char* text) { hint_.store(text, std::memory_order_relaxed); }

 private:
  class watched_map;
  class watched_handle;

  // What one thread is inside of. Relaxed throughout: it is read to be printed when nothing moves.
  struct alignas(workload::interference_bytes) post {
    std::atomic<bool> taken{false};
    std::atomic<std::uint64_t> steps{0};  // into and out of calls: odd inside
    std::atomic<pid_t> thread{0};
    std::atomic<const char*> call{nullptr};  // null for what the rest says
    std::atomic<bool> of_batch{false};       // of which the kind and the key are known
    std::atomic<workload::operation> kind{};
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint64_t> value{0};
    std::atomic<std::uint64_t> last{0};

    void enter(const subject::question& asked);
    void enter(const char* what);
    void leave();  // or enter what is known already
    [[nodiscard]] struct call now() const;
  };
  class inside;
  class crash_text;

  static void tell_crash(int signal);  // a signal's handler
  post& take_post();
  void keep_watch();
  void look_at_threads();
  void look_at_memory();
  // Why, if that is not all in what the threads do.
  [[noreturn]] void end_process(const std::string& why, int status);

  static constexpr std::size_t most_posts = 256;

  subject_of_check of_;
  std::uint64_t bytes_at_first_;
  std::atomic<std::uint64_t> life_{0};
  std::atomic<pid_t> looks_on_{0};
  std::array<post, most_posts> posts_{};
  std::atomic<const char*> hint_{""};  // relaxed: literals are there from the beginning
  std::mutex mutex_;
  std::string known_;  // guarded by mutex_
  std::binary_semaphore over_{0};
  std::vector<std::pair<pid_t, thread_state>> asleep_;  // all threads at the last look, if all were
  std::map<pid_t, thread_state> quiet_;  // those inside the map when first nothing happened
  std::jthread thread_;                  // last, so that it ends before what it uses
};

class [[nodiscard]] watchdog::sentry {
 public:
  sentry(watchdog& watch, const char* what);
  ~sentry();
  sentry(const sentry&) = delete;
  sentry& operator=(const sentry&) = delete;

 private:
  post& mine_;
};

}  // namespace assay::rig

#endif  // ASSAY_RIG_WATCH_WATCHDOG_H_
