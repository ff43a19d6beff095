// assay-meter: runs a command that knows nothing of Assay, and says what it used, the command
// alone.
//
//     assay-meter FD PROGRAM [ARGUMENT...]
//
// writes one JSON object of metrics to the file descriptor FD, which the command does not inherit,
// and then ends as the command did.
//
// It takes a process of its own: over exec, Linux keeps the peak memory of what a process was
// before, so that a command started by the runner would show at least the runner's. Started from
// here it shows at least this program's, which is about as little as any has.

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

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

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: assay-meter FD PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  const int report = static_cast<int>(std::strtol(arguments[1], nullptr, 10));
  char* const* command = arguments + 2;
  if (fcntl(report, F_SETFD, FD_CLOEXEC) != 0) {
    fail(arguments[1]);
  }
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
  rusage used{};
  while (wait4(child, &status, 0, &used) < 0) {
    if (errno != EINTR) {
      fail("wait4");
    }
  }
  dprintf(report,
          R"({"wall_ms": %.6f, "user_ms": %.3f, "system_ms": %.3f, "peak_resident_bytes": %lld})",
          now_ms() - began, in_ms(used.ru_utime), in_ms(used.ru_stime),
          static_cast<long long>(used.ru_maxrss) * 1024);
  if (WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    std::raise(WTERMSIG(status));
  }
  return WEXITSTATUS(status);
}
