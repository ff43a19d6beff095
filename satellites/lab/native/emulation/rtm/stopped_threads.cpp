#include "emulation/rtm/stopped_threads.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "emulation/rtm/give_up.h"

namespace assay::emulation {
namespace {

constexpr std::size_t most_threads = 4096;
constexpr std::string_view too_many_threads =
    "the program has more than 4,096 threads; run it with fewer";
// How long another thread may take to stop, of this one's time on a processor: what is asleep,
// suspended or waits for its turn costs this one a few microseconds.
constexpr std::time_t patience_s = 10;

struct other {
  std::atomic<pid_t> thread{0};
  std::atomic<bool> stopped{false};
};

// Written by the thread that stops the others. They find themselves in it.
std::array<other, most_threads> others;
std::atomic<std::size_t> count{0};

// Odd while threads are to be stopped.
std::atomic<std::uint32_t> stops{0};

struct thread_slot {
  std::atomic<pid_t> thread{0};  // 0: free
  std::atomic<bool> away{false};
};
std::array<thread_slot, most_threads> places;
std::atomic<std::size_t> places_used{0};  // none after these was ever taken

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// Not so of one that has ended: the first one of the process stays listed (state Z) until all have.
bool is_there(pid_t thread) {
  constexpr std::string_view before = "/proc/self/task/";
  constexpr std::string_view after = "/stat";
  std::array<char, 64> path{};
  char* at = std::ranges::copy(before, path.data()).out;
  at = std::to_chars(at, path.data() + path.size() - after.size(), thread).ptr;
  std::ranges::copy(after, at);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno != ENOENT;
  std::array<char, 128> content;  // number, name of at most 64 bytes in parentheses, state
  const ssize_t bytes = ::read(file, content.data(), content.size());
  ::close(file);
  if (bytes <= 0) return false;
  const std::string_view found(content.data(), static_cast<std::size_t>(bytes));
  const std::size_t state = found.rfind(')') + 2;
  return state >= found.size() || (found[state] != 'Z' && found[state] != 'X');
}

std::time_t time_of_this_thread_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec;
}

bool is_away(pid_t thread) {
  const std::size_t used = places_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    if (places[i].thread.load(std::memory_order_acquire) != thread) continue;
    return places[i].away.load(std::memory_order_seq_cst);  // (7) with (8)
  }
  return false;
}

// Until it is another one than `seen`.
void wait_for_end_of(std::uint32_t seen) {
  // (5) with (6): what was done meanwhile is seen by who goes on.
  while (stops.load(std::memory_order_acquire) == seen) {
    ::syscall(SYS_futex, &stops, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  }
}

void stand_still(int /*signal*/) {
  const int before = errno;
  // (1) with (2): who finds threads to be stopped sees what is known of it. Even where it was away
  // when it was told, and has come back after the end.
  const std::uint32_t seen = stops.load(std::memory_order_acquire);
  if (seen % 2 == 1) {
    const pid_t self = this_thread();
    const std::size_t known = count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < known; ++i) {
      if (others[i].thread.load(std::memory_order_relaxed) != self) continue;
      // (3) with (4): what it has done is seen by who stopped it.
      others[i].stopped.store(true, std::memory_order_release);
      break;
    }
    wait_for_end_of(seen);
  }
  errno = before;
}

// Calls `each` with every thread of the process but the calling one. Allocates nothing.
template <class Each>
void for_each_other(const Each& each) {
  const int tasks = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) {
    give_up(
        "cannot open /proc/self/task, so that no thread can be stopped: is there no /proc, or no "
        "descriptor left (ulimit -n)?");
  }
  const pid_t self = this_thread();
  alignas(8) std::array<char, 4096> entries;
  for (;;) {
    const long bytes = ::syscall(SYS_getdents64, tasks, entries.data(), entries.size());
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      // struct linux_dirent64: inode, offset, length in 16 bits, type, name.
      constexpr std::size_t length_at = 16;
      constexpr std::size_t name_at = 19;
      std::uint16_t length = 0;
      const char* const entry = entries.data() + at;
      std::memcpy(&length, entry + length_at, sizeof length);
      const auto thread = static_cast<pid_t>(std::strtol(entry + name_at, nullptr, 10));
      if (thread > 0 && thread != self) each(thread);
      at += length;
    }
  }
  ::close(tasks);
}

// Whether there were none that had not been told.
bool tell_new_ones() {
  bool none = true;
  for_each_other([&](pid_t thread) {
    const std::size_t known = count.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < known; ++i) {
      if (others[i].thread.load(std::memory_order_relaxed) == thread) return;
    }
    if (is_away(thread)) return;
    if (known == most_threads) give_up(too_many_threads);
    none = false;
    others[known].stopped.store(false, std::memory_order_relaxed);
    others[known].thread.store(thread, std::memory_order_relaxed);
    count.store(known + 1, std::memory_order_release);  // (2) with (1)
    ::syscall(SYS_tgkill, ::getpid(), thread, stopped_threads::signal_number());
  });
  return none;
}

void wait_for_all() {
  const std::size_t known = count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < known; ++i) {
    const pid_t thread = others[i].thread.load(std::memory_order_relaxed);
    const std::time_t since = time_of_this_thread_s();
    for (unsigned n = 1; !others[i].stopped.load(std::memory_order_acquire); ++n) {  // (4) with (3)
      if (is_away(thread) || (n % 64 == 0 && !is_there(thread))) break;
      if (n % 4096 == 0 && time_of_this_thread_s() > since + patience_s) {
        give_up(
            "another thread does not stop: it blocks the last but three of the real-time signals, "
            "by a system call of its own or "
            "a function that is not followed, such as epoll_pwait2(); leave that signal unblocked");
      }
      ::sched_yield();
    }
  }
}

}  // namespace

int stopped_threads::signal_number() { return SIGRTMAX - 3; }

void stopped_threads::install() {
  struct sigaction action{};
  action.sa_handler = stand_still;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  ::sigaction(signal_number(), &action, nullptr);
}

stopped_threads::stopped_threads() {
  count.store(0, std::memory_order_relaxed);
  // (8) with (7), as in Dekker's algorithm: either a thread that comes back sees this, or this one
  // sees that it has come back.
  stops.fetch_add(1, std::memory_order_seq_cst);
  // Those that were begun meanwhile are found when all that could begin more have stopped.
  while (!tell_new_ones()) wait_for_all();
}

stopped_threads::~stopped_threads() {
  stops.fetch_add(1, std::memory_order_release);  // (6) with (5)
  constexpr int all = 1 << 30;
  ::syscall(SYS_futex, &stops, FUTEX_WAKE_PRIVATE, all, nullptr, nullptr, 0);
}

away_place::away_place() {
  const pid_t self = this_thread();
  for (pid_t free = 0;
       !places[at_].thread.compare_exchange_strong(free, self, std::memory_order_acq_rel);
       free = 0) {
    if (++at_ == most_threads) give_up(too_many_threads);
  }
  std::size_t used = places_used.load(std::memory_order_relaxed);
  while (used <= at_ && !places_used.compare_exchange_weak(used, at_ + 1)) {
  }
}

away_place::~away_place() { places[at_].thread.store(0, std::memory_order_release); }

away_from_program::away_from_program(const away_place& place) : at_(place.at_) {
  // What the thread has done before is seen by whoever sees this.
  places[at_].away.store(true, std::memory_order_seq_cst);
}

away_from_program::~away_from_program() {
  for (;;) {
    places[at_].away.store(false, std::memory_order_seq_cst);  // (8) with (7)
    const std::uint32_t seen = stops.load(std::memory_order_seq_cst);
    if (seen % 2 == 0) return;
    places[at_].away.store(true, std::memory_order_seq_cst);
    wait_for_end_of(seen);
  }
}

}  // namespace assay::emulation
