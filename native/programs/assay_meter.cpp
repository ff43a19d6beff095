// assay-meter: runs a command that knows nothing of Assay, and says what it used, the command
// alone.
//
//     assay-meter FD REPEAT_MS PROGRAM [ARGUMENT...]
//
// runs it, in a fresh process each time, until REPEAT_MS milliseconds have passed, and at least
// once; writes one JSON object of metrics to the file descriptor FD, which the command does not
// inherit; and then ends as the command did, the first time that it failed. Of several runs the
// wall time is the mean of the middle half, the processor times and instructions are the mean of
// all, and the memory is the most. Each run reads standard input from its beginning, where it has
// one.
//
// It takes a process of its own: over exec, Linux keeps the peak memory of what a process was
// before, so that a command started by the runner would show at least the runner's. Started from
// here it shows at least this program's, which is about as little as any has.

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <vector>

namespace {

constexpr int kCannotExecute = 126;  // as a shell exits from here on

double now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double in_ms(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

// Says why in the words that the runner takes for a command that was never started.
[[noreturn]] void fail(const char* what) {
  const char* why = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): there is one thread
  std::fprintf(stderr, "assay-launcher: %s: %s\n", what, why);
  _exit(127);
}

[[noreturn]] void become(char* const* command, pid_t meter) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == meter) {  // else the meter died before this could be asked for
    execv(*command, command);
  }
  fail(*command);
}

// Counts the instructions of this process and its children outside the kernel; -1 where that is
// not possible. Those of the meter itself are a few hundred a run.
int instruction_counter() {
  perf_event_attr what{};
  what.size = sizeof what;
  what.type = PERF_TYPE_HARDWARE;
  what.config = PERF_COUNT_HW_INSTRUCTIONS;
  what.inherit = 1;
  what.exclude_kernel = 1;
  what.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

double count_of(int counter) {
  std::uint64_t count = 0;
  return read(counter, &count, sizeof count) == sizeof count ? static_cast<double>(count) : 0;
}

struct totals {
  std::vector<double> wall_ms;
  double user_ms = 0;
  double system_ms = 0;
  long long peak_kib = 0;
};

// Runs the command once; returns its status.
int run(char* const* command, totals& used) {
  lseek(STDIN_FILENO, 0, SEEK_SET);
  const pid_t meter = getpid();
  const double began = now_ms();
  const pid_t child = fork();
  if (child < 0) {
    fail("fork");
  }
  if (child == 0) {
    become(command, meter);
  }
  int status = 0;
  rusage of{};
  while (wait4(child, &status, 0, &of) < 0) {
    if (errno != EINTR) {
      fail("wait4");
    }
  }
  used.wall_ms.push_back(now_ms() - began);
  used.user_ms += in_ms(of.ru_utime);
  used.system_ms += in_ms(of.ru_stime);
  used.peak_kib = std::max<long long>(used.peak_kib, of.ru_maxrss);
  return status;
}

// The mean of the middle half: it is moved by runs far off as little as the median is, and scatters
// less.
double typical(std::vector<double> values) {
  std::ranges::sort(values);
  const auto left_out = static_cast<std::ptrdiff_t>(values.size() / 4);
  const auto first = values.begin() + left_out;
  const auto last = values.end() - left_out;
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "usage: assay-meter FD REPEAT_MS PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  const int report = static_cast<int>(std::strtol(arguments[1], nullptr, 10));
  const double repeat_ms = std::strtod(arguments[2], nullptr);
  if (fcntl(report, F_SETFD, FD_CLOEXEC) != 0) {
    fail(arguments[1]);
  }
  const int counter = instruction_counter();
  totals used;
  int failed = 0;
  const double began = now_ms();
  const double counted = counter < 0 ? 0 : count_of(counter);
  do {
    const int status = run(arguments + 3, used);
    failed = failed == 0 ? status : failed;
    if (WIFSIGNALED(status) || WEXITSTATUS(status) >= kCannotExecute) {
      break;
    }
  } while (now_ms() - began < repeat_ms);
  const auto runs = static_cast<double>(used.wall_ms.size());
  dprintf(report,
          R"({"wall_ms": %.6f, "user_ms": %.6f, "system_ms": %.6f, "peak_resident_bytes": %lld, )"
          R"("runs": %.0f)",
          typical(used.wall_ms), used.user_ms / runs, used.system_ms / runs, used.peak_kib * 1024,
          runs);
  if (counter >= 0) {
    dprintf(report, R"(, "instructions": %.0f)", (count_of(counter) - counted) / runs);
  }
  dprintf(report, "}");
  if (WIFSIGNALED(failed)) {
    std::signal(WTERMSIG(failed), SIG_DFL);
    std::raise(WTERMSIG(failed));
  }
  return WEXITSTATUS(failed);
}
