#include "assay/rig/watch/thread_state.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay::rig {
namespace {

// What the kernel tells in one reading; empty if it tells nothing.
std::string text_of(pid_t thread, const char* name) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + '/' + name;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::array<char, 4096> text{};
  const ssize_t length = read(file, text.data(), text.size());
  close(file);
  return {text.data(), static_cast<std::size_t>(std::max(length, ssize_t{0}))};
}

// The number behind `name:` in /proc/.../status.
std::uint64_t number_behind(const std::string& status, std::string_view name) {
  const std::size_t at = status.find(name);
  return at == std::string::npos ? 0 : std::strtoull(&status[at + name.size()], nullptr, 10);
}

// The kernel's own number of the clock of a thread, as pthread_getcpuclockid() makes it.
std::uint64_t ran_ns(pid_t thread) {
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | 6U);
  struct timespec ran{};
  if (clock_gettime(clock, &ran) != 0) return 0;
  return static_cast<std::uint64_t>(ran.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(ran.tv_nsec);
}

}  // namespace

thread_state state_of(pid_t thread) {
  thread_state seen;
  const std::string status = text_of(thread, "status");
  const std::size_t state = status.find("\nState:\t");
  if (state == std::string::npos) return seen;
  seen.known = true;
  seen.asleep = status[state + 8] == 'S' || status[state + 8] == 'D';
  seen.sleeps = number_behind(status, "\nvoluntary_ctxt_switches:");
  seen.switches = seen.sleeps + number_behind(status, "\nnonvoluntary_ctxt_switches:");
  seen.ran_ns = ran_ns(thread);
  if (!seen.asleep) return seen;
  // Its number, and six arguments; "running" if it is not asleep after all. For the answer the
  // kernel waits until the thread has really left its processor.
  const std::string call = text_of(thread, "syscall");
  if (call.starts_with("running")) {
    seen.asleep = false;
  } else if (call.starts_with(std::to_string(SYS_futex) + ' ')) {
    std::array<std::uint64_t, 4> arguments{};
    const char* at = call.c_str() + call.find(' ');
    for (auto& argument : arguments) {
      char* end = nullptr;
      argument = std::strtoull(at, &end, 16);
      at = end;
    }
    seen.by_lock = arguments[3] == 0;
    seen.lock = arguments[0];
  }
  return seen;
}

std::vector<pid_t> all_threads() {
  std::vector<pid_t> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    all.push_back(thread);
  }
  return all;
}

std::optional<pid_t> holder_of(std::uintptr_t lock) {
  // Where glibc's mutex has its owner, and its lock for readers and writers, which sleep at one of
  // two places, its writer. The kernel copies, as there may be no memory behind what is no lock.
  std::array<pid_t, 5> words{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is the address that the kernel reported
  const struct iovec from{.iov_base = reinterpret_cast<void*>(lock), .iov_len = sizeof words};
  const struct iovec to{.iov_base = words.data(), .iov_len = sizeof words};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != ssize_t{sizeof words}) return {};
  // A mutex that is locked and waited for has one user. Who locked it may have ended.
  if (words[0] == 2 && words[2] > 0 && words[3] == 1) return words[2];
  const auto all = all_threads();
  for (const std::size_t at : {3U, 4U}) {
    if (std::ranges::find(all, words.at(at)) != all.end()) return words.at(at);
  }
  return {};
}

}  // namespace assay::rig
