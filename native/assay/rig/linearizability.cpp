#include "assay/rig/linearizability.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace assay::rig {
namespace {

constexpr const char* checker_path = ASSAY_LINEARIZABILITY;

// A checker that has ended early says why itself, and is told of by its status.
class ignored_sigpipe {
 public:
  ignored_sigpipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~ignored_sigpipe() { static_cast<void>(std::signal(SIGPIPE, before_)); }
  ignored_sigpipe(const ignored_sigpipe&) = delete;
  ignored_sigpipe& operator=(const ignored_sigpipe&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace

void checker::close_pipe::operator()(std::FILE* pipe) const { pclose(pipe); }

checker::checker(std::uint64_t histories) {
  if (!std::filesystem::exists(checker_path)) {
    throw std::system_error(
        std::make_error_code(std::errc::no_such_file_or_directory),
        std::string(checker_path) + ", which the build makes of native/assay/rig/linearizability");
  }
  std::fflush(nullptr);  // what was printed before stands before what the checker prints
  const std::string command =
      "exec '" + std::string(checker_path) + "' -histories " + std::to_string(histories);
  // NOLINTNEXTLINE(bugprone-command-processor): a path of the build's
  pipe_.reset(popen(command.c_str(), "w"));
  if (!pipe_) throw std::system_error(errno, std::generic_category(), checker_path);
}

void checker::take(std::string_view line) {
  const ignored_sigpipe ignored;
  std::fwrite(line.data(), 1, line.size(), pipe_.get());
  std::fflush(pipe_.get());  // what comes next may end the process
}

judgement checker::verdict() {
  const ignored_sigpipe ignored;
  const int status = pclose(pipe_.release());
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "error: %s was ended by signal %d\n", checker_path, WTERMSIG(status));
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

judgement check_linearizability(const trial::subject_entry& subject, const recording& asked,
                                recorded& counts) {
  checker judge(asked.histories);
  counts = record(subject, asked, [&](const history& one) {
    std::ostringstream line;
    write(line, one);
    judge.take(line.str());
    // The next history may end the process, as this one will if not all has returned.
    if (!one.unreturned.empty()) static_cast<void>(judge.verdict());
  });
  return judge.verdict();
}

}  // namespace assay::rig
