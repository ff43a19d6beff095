#include "assay/rig/linearizability.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace assay::rig {

const char* judge_path = nullptr;

namespace {

// The judge: what ASSAY_JUDGE names, else the one next to this program, else where the project
// says.
std::filesystem::path judge() {
  // Nobody changes the environment while threads run.
  const char* const named = std::getenv("ASSAY_JUDGE");  // NOLINT(concurrency-mt-unsafe)
  if (named != nullptr) return named;
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  auto beside = program.parent_path() / "assay-linearizability";
  if (judge_path == nullptr || std::filesystem::exists(beside, ignored)) return beside;
  return judge_path;
}

// Writing to a checker that has ended early must not end this process: the checker says itself what
// was wrong, and its status is looked at.
class ignored_sigpipe {
 public:
  ignored_sigpipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~ignored_sigpipe() { static_cast<void>(std::signal(SIGPIPE, before_)); }
  ignored_sigpipe(const ignored_sigpipe&) = delete;
  ignored_sigpipe& operator=(const ignored_sigpipe&) = delete;

 private:
  void (*before_)(int);
};

// The program, which takes one history after the other, each a line of JSON.
class checker {
 public:
  explicit checker(const recording& asked);
  void take(std::string_view line);
  // Waits for the checker, which prints what it found. Nothing is taken from then on, and there is
  // no other verdict.
  [[nodiscard]] judgement verdict();

 private:
  struct close_pipe {
    void operator()(std::FILE* pipe) const { pclose(pipe); }
  };
  std::mutex mutex_;
  std::unique_ptr<std::FILE, close_pipe> pipe_;  // guarded by mutex_; null when nothing is taken
};

checker::checker(const recording& asked) {
  const std::string path = judge();
  if (access(path.c_str(), X_OK) != 0) {
    throw std::runtime_error(
        "the judge of histories is not at " + path +
        ": name assay-linearizability by the environment variable ASSAY_JUDGE");
  }
  std::fflush(nullptr);  // what was printed before stands before what the checker prints
  // By a variable, so that a path may hold any character. This is the program's only thread yet.
  setenv("ASSAY_JUDGE", path.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const std::string command =
      "exec \"$ASSAY_JUDGE\" " +
      (asked.duration ? "-until-end" : "-histories " + std::to_string(asked.histories));
  // NOLINTNEXTLINE(bugprone-command-processor): no more than is written here
  pipe_.reset(popen(command.c_str(), "w"));
  if (!pipe_) throw std::system_error(errno, std::generic_category(), path);
}

void checker::take(std::string_view line) {
  const std::scoped_lock lock(mutex_);
  if (!pipe_) return;
  const ignored_sigpipe ignored;
  std::fwrite(line.data(), 1, line.size(), pipe_.get());
  std::fflush(pipe_.get());  // what comes next may end the process
}

judgement checker::verdict() {
  const std::scoped_lock lock(mutex_);
  if (!pipe_) return judgement::unreadable;
  const ignored_sigpipe ignored;
  const int status = pclose(pipe_.release());
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "error: the judge was ended by signal %d\n", WTERMSIG(status));
    return judgement::unreadable;
  }
  switch (WEXITSTATUS(status)) {
    case 0:
      return judgement::linearizable;
    case 1:
      return judgement::not_linearizable;
    default:
      return judgement::unreadable;
  }
}

}  // namespace

judgement check_linearizability(const subject::subject_entry& subject, const recording& asked,
                                recorded& counts) {
  checker judge(asked);
  recording cut_short = asked;
  cut_short.last_words = [&] { static_cast<void>(judge.verdict()); };
  counts = record(subject, cut_short, [&](const history& one) {
    std::ostringstream line;
    write(line, one);
    judge.take(line.str());
    // The next history may end the process, as this one will if not all has returned.
    if (!one.unreturned.empty()) static_cast<void>(judge.verdict());
  });
  if (asked.duration) judge.take("end\n");
  return judge.verdict();
}

}  // namespace assay::rig
