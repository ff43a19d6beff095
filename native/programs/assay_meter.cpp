// assay-meter: runs a program, says what it used, the program alone, and leaves nothing of it
// behind.
//
//     assay-meter FD PARENT REPEAT_MS COUNT WAIT DATA_KIB PRELOAD PROGRAM [ARGUMENT...]
//
// It runs the program, in a fresh process each time, until REPEAT_MS milliseconds have passed, and
// at least once; writes one JSON object to the file descriptor FD, which the program does not
// inherit; and then ends as the program did, the first time that it failed. Of several runs the
// wall time is the mean of the middle half, the processor times and instructions are the mean of
// all, and the memory is the most. Each run reads standard input from its beginning, where it has
// one. COUNT (0 or 1) says whether instructions are counted, DATA_KIB and PRELOAD limit the data
// segment and name a library to preload, of the program alone; either may be empty.
//
// Descendants. Processes that the program leaves behind become children of this one, a subreaper,
// also where they left its session or were forked twice. A run has ended when they have, too, if
// WAIT is 1; else those that still run kLeftMs after the program are named in the report, and no
// further run begins. They are ended before this process ends. That they are looked for only at the
// end keeps what is measured as it is.
//
// SIGTERM ends the program with all descendants, and then this process. It comes from the runner,
// PARENT, and from the kernel when the runner dies, by `kill -9` for instance.
//
// It takes a process of its own: over exec, Linux keeps the peak memory of what a process was
// before, so that a program started by the runner would show at least the runner's. Started from
// here it shows at least this program's, which is about as little as any has.

#include <dirent.h>
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

// A process whose output the program has read to its end may still be about to exit. One that ends
// this soon belongs to the run, and so to its time.
constexpr double kLeftMs = 10;

constexpr double kNever = 1e12;        // milliseconds
constexpr long kRoundNs = 10'000'000;  // at most, between two looks for descendants to be ended
constexpr int kFruitlessRounds = 100;  // after which those left cannot be ended, as another user's

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

struct limits {
  const char* data_kib;
  const char* preload;
};

[[noreturn]] void become(char* const* command, pid_t meter, const limits& allowed,
                         const sigset_t& mask) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != meter) {  // it died before this could be asked for
    _exit(kCannotExecute);
  }
  setpgid(0, 0);  // as a shell does: a program that signals its group does not mean the meter
  // No core file is written, which would disturb the next trial. The data segment is what a leaking
  // program grows; RLIMIT_AS would also count what is only reserved.
  rlimit limit{};
  setrlimit(RLIMIT_CORE, &limit);
  if (*allowed.data_kib != '\0') {
    limit.rlim_cur = limit.rlim_max = std::strtoull(allowed.data_kib, nullptr, 10) * 1024;
    if (setrlimit(RLIMIT_DATA, &limit) != 0) {
      fail("the memory limit");
    }
  }
  if (*allowed.preload != '\0') {
    setenv("LD_PRELOAD", allowed.preload, 1);  // NOLINT(concurrency-mt-unsafe): there is one thread
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  execv(*command, command);
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

// Takes one child that has ended, and adds what it used. Returns its number; 0 if children run but
// none has ended, -1 if there are none.
pid_t reap(totals& used, int& status) {
  rusage of{};
  const pid_t ended = wait4(-1, &status, WNOHANG, &of);
  if (ended > 0) {
    used.user_ms += in_ms(of.ru_utime);
    used.system_ms += in_ms(of.ru_stime);
    used.peak_kib = std::max<long long>(used.peak_kib, of.ru_maxrss);
  }
  return ended;
}

// The signals that end a wait; they are blocked throughout, so that none is missed.
class signals {
 public:
  signals() {
    // Where SIGCHLD is ignored, the kernel takes children away itself.
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    plain.sa_flags = SA_NOCLDSTOP;
    sigaction(SIGCHLD, &plain, nullptr);
    sigemptyset(&awaited_);
    sigaddset(&awaited_, SIGCHLD);
    sigaddset(&awaited_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &awaited_, &before_);
  }

  // Waits for a signal, for as long as given at most.
  void wait(const timespec* at_most = nullptr) {
    stopped_ = sigtimedwait(&awaited_, nullptr, at_most) == SIGTERM || stopped_;
  }

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t awaited_{};
  sigset_t before_{};
  bool stopped_ = false;
};

struct process {
  pid_t number = 0;
  pid_t parent = 0;
  char state = ' ';
  char name[64]{};  // NOLINT(*-avoid-c-arrays): the kernel's, of 15 bytes, or 63 of its own threads
};

// Reads about a process in /proc; its parent is 0 where it is gone.
process read_process(const char* number) {
  process found;
  char path[64];        // NOLINT(*-avoid-c-arrays)
  char text[256] = {};  // NOLINT(*-avoid-c-arrays)
  std::snprintf(path, sizeof path, "/proc/%.20s/stat", number);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return found;
  }
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  const char* name = std::strchr(text, '(');
  const char* end = std::strrchr(text, ')');
  if (length <= 0 || name == nullptr || end == nullptr || std::strlen(end) < 4) {
    return found;
  }
  found.number = static_cast<pid_t>(std::strtol(number, nullptr, 10));
  found.state = end[2];
  found.parent = static_cast<pid_t>(std::strtol(end + 4, nullptr, 10));
  const auto bytes = std::min<std::ptrdiff_t>(end - name - 1, sizeof found.name - 1);
  std::transform(name + 1, name + 1 + bytes, found.name, [](char c) {
    return c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c;  // as it stands in JSON
  });
  return found;
}

// The children that still run: of descendants those whose own parent is gone, or is this process.
std::vector<process> running_children() {
  std::vector<process> children;
  DIR* const all = opendir("/proc");
  if (all == nullptr) {
    return children;
  }
  while (const dirent* entry = readdir(all)) {  // NOLINT(concurrency-mt-unsafe)
    const process found = read_process(entry->d_name);
    if (found.number > 0 && found.parent == getpid() && found.state != 'Z') {
      children.push_back(found);
    }
  }
  closedir(all);
  return children;
}

// Ends every descendant: the children of one that is ended become this process's own.
void end_descendants(totals& used, signals& noted) {
  for (int fruitless = 0; fruitless < kFruitlessRounds; ++fruitless) {
    for (const process& child : running_children()) {
      if (kill(child.number, SIGKILL) == 0) {  // not reaped yet: the number is still its own
        fruitless = 0;
      }
    }
    int status = 0;
    pid_t ended = 0;
    while ((ended = reap(used, status)) > 0) {
    }
    if (ended < 0) {
      return;
    }
    const timespec round{.tv_sec = 0, .tv_nsec = kRoundNs};
    noted.wait(&round);
  }
}

// Waits until a run has no descendants left, in all for as many milliseconds as given at most; says
// when, or 0 where some are left.
double when_all_ended(double began, double at_most_ms, totals& used, signals& noted) {
  int status = 0;
  for (;;) {
    const double now = now_ms();
    pid_t ended = 0;
    while ((ended = reap(used, status)) > 0) {
    }
    if (ended < 0) {
      return now;
    }
    const double left_ms = began + at_most_ms - now;
    if (noted.stopped() || left_ms <= 0) {
      return 0;
    }
    const auto left_ns = static_cast<long>(left_ms * 1e6);
    const timespec left{.tv_sec = left_ns / 1'000'000'000, .tv_nsec = left_ns % 1'000'000'000};
    noted.wait(&left);
  }
}

struct ending {
  int status = 0;
  std::vector<process> left;  // what still ran after the program, and is ended now
};

// Runs the program once.
ending run(char* const* command, const limits& allowed, bool wait_for_all, totals& used,
           signals& noted) {
  lseek(STDIN_FILENO, 0, SEEK_SET);
  const pid_t meter = getpid();
  const double began = now_ms();
  const pid_t child = fork();
  if (child < 0) {
    fail("fork");
  }
  if (child == 0) {
    become(command, meter, allowed, noted.before());
  }
  ending result;
  double ended = 0;
  for (;;) {
    ended = now_ms();
    const pid_t reaped = reap(used, result.status);
    if (reaped == child) {
      break;
    }
    if (reaped < 0) {
      fail("wait4");
    }
    if (reaped == 0) {
      noted.wait();
    }
    if (noted.stopped()) {
      kill(child, SIGKILL);
    }
  }
  // As a rule there is nothing else, which one call says.
  const double all_ended = when_all_ended(ended, wait_for_all ? kNever : kLeftMs, used, noted);
  if (all_ended == 0) {
    result.left = running_children();
    end_descendants(used, noted);
  }
  used.wall_ms.push_back(std::max(ended, all_ended) - began);
  return result;
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
  constexpr int kProgram = 8;
  if (count <= kProgram) {
    std::fprintf(stderr,
                 "usage: assay-meter FD PARENT REPEAT_MS COUNT WAIT DATA_KIB PRELOAD PROGRAM "
                 "[ARGUMENT...]\n");
    return 2;
  }
  const int report = static_cast<int>(std::strtol(arguments[1], nullptr, 10));
  const auto parent = static_cast<pid_t>(std::strtol(arguments[2], nullptr, 10));
  const double repeat_ms = std::strtod(arguments[3], nullptr);
  const bool wait_for_all = *arguments[5] == '1';
  const limits allowed{.data_kib = arguments[6], .preload = arguments[7]};
  if (fcntl(report, F_SETFD, FD_CLOEXEC) != 0) {
    fail(arguments[1]);
  }
  signals noted;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {  // it died before this could be asked for
    return kCannotExecute;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int counter = *arguments[4] == '1' ? instruction_counter() : -1;
  totals used;
  int failed = 0;
  ending last;
  const double began = now_ms();
  const double counted = counter < 0 ? 0 : count_of(counter);
  do {
    last = run(arguments + kProgram, allowed, wait_for_all, used, noted);
    failed = failed == 0 ? last.status : failed;
    if (WIFSIGNALED(last.status) || WEXITSTATUS(last.status) >= kCannotExecute) {
      break;
    }
  } while (last.left.empty() && !noted.stopped() && now_ms() - began < repeat_ms);
  const auto runs = static_cast<double>(used.wall_ms.size());
  dprintf(
      report,
      R"({"used": {"wall_ms": %.6f, "user_ms": %.6f, "system_ms": %.6f, "peak_resident_bytes": %lld, )"
      R"("runs": %.0f)",
      typical(used.wall_ms), used.user_ms / runs, used.system_ms / runs, used.peak_kib * 1024,
      runs);
  if (counter >= 0) {
    dprintf(report, R"(, "instructions": %.0f)", (count_of(counter) - counted) / runs);
  }
  dprintf(report, R"(}, "left": [)");
  for (const process& child : last.left) {
    dprintf(report, R"(%s"%s")", &child == last.left.data() ? "" : ", ", child.name);
  }
  dprintf(report, "]}");
  if (WIFSIGNALED(failed)) {
    // No core file of this one either.
    const rlimit none{};
    setrlimit(RLIMIT_CORE, &none);
    std::signal(WTERMSIG(failed), SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &noted.before(), nullptr);
    std::raise(WTERMSIG(failed));
  }
  return WEXITSTATUS(failed);
}
