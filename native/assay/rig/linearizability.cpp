#include "assay/rig/linearizability.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace assay::rig {
namespace {

struct close_pipe {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};
using pipe_to = std::unique_ptr<std::FILE, close_pipe>;

constexpr const char* checker_path = ASSAY_LINEARIZABILITY;

pipe_to start_checker(std::uint64_t histories) {
  if (!std::filesystem::exists(checker_path)) {
    throw std::system_error(
        std::make_error_code(std::errc::no_such_file_or_directory),
        std::string(checker_path) + ", which the build makes of native/assay/rig/linearizability");
  }
  std::fflush(nullptr);  // what was printed before stands before what the checker prints
  const std::string command =
      "exec '" + std::string(checker_path) + "' -histories " + std::to_string(histories);
  // NOLINTNEXTLINE(bugprone-command-processor): a path of the build's
  pipe_to pipe(popen(command.c_str(), "w"));
  if (!pipe) throw std::system_error(errno, std::generic_category(), checker_path);
  return pipe;
}

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

// Waits for the checker, which prints what it found.
judgement judgement_of(pipe_to checker) {
  const int status = pclose(checker.release());
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

}  // namespace

judgement check_linearizability(const trial::subject_entry& subject, const recording& asked,
                                recorded& counts) {
  const ignored_sigpipe ignored;
  pipe_to checker = start_checker(asked.histories);
  counts = record(subject, asked, [&](const history& one) {
    std::ostringstream line;
    write(line, one);
    const std::string text = line.str();
    std::fwrite(text.data(), 1, text.size(), checker.get());
    std::fflush(checker.get());  // the next history may end the process
    if (!one.unreturned.empty()) judgement_of(std::move(checker));  // as this one will
  });
  return judgement_of(std::move(checker));
}

}  // namespace assay::rig
