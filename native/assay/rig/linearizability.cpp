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

namespace assay::rig {
namespace {

struct close_pipe {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};
using pipe_to = std::unique_ptr<std::FILE, close_pipe>;

pipe_to start_checker() {
  const auto path =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("assay-linearizability");
  if (!std::filesystem::exists(path)) {
    throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory),
                            path.string() +
                                ", which the build makes of native/assay/rig/"
                                "linearizability");
  }
  std::fflush(nullptr);  // what was printed before stands before what the checker prints
  // A checker that has ended early says why itself, and is told of by its status.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  const std::string command = "exec '" + path.string() + "'";
  pipe_to pipe(popen(command.c_str(), "w"));  // NOLINT(cert-env33-c): a path of the build's
  if (!pipe) throw std::system_error(errno, std::generic_category(), path.string());
  return pipe;
}

}  // namespace

judgement check_linearizability(const trial::subject_entry& subject, const recording& asked,
                                recorded& counts) {
  pipe_to checker = start_checker();
  counts = record(subject, asked, [&](const history& one) {
    std::ostringstream line;
    write(line, one);
    const std::string text = line.str();
    std::fwrite(text.data(), 1, text.size(), checker.get());
  });
  const int status = pclose(checker.release());
  if (!WIFEXITED(status)) return judgement::unreadable;
  switch (WEXITSTATUS(status)) {
    case 0:
      return judgement::linearizable;
    case 1:
      return judgement::not_linearizable;
    default:
      return judgement::unreadable;
  }
}

}  // namespace assay::rig
