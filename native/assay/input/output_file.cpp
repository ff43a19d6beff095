#include "assay/input/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace assay::input {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as the kernel follows
constexpr mode_t new_file = 0666;

[[noreturn]] void fail(const std::string& path, int why = errno) {
  throw std::system_error(why, std::generic_category(), "cannot write " + path);
}

struct destination {
  int descriptor = -1;  // of a file that this process has open, or -1
  fs::path path;        // all links followed
  bool is_there = false;
  struct stat about{};

  [[nodiscard]] bool is_plain() const {
    return descriptor < 0 && (!is_there || S_ISREG(about.st_mode));
  }
};

destination destination_of(const std::string& name) {
  destination found;
  if (name == "-") {
    found.descriptor = STDOUT_FILENO;
    return found;
  }
  std::error_code error;
  found.path = fs::absolute(name);
  const fs::path mine = "/proc/" + std::to_string(::getpid()) + "/fd";
  for (int links = 0; links < most_links; ++links) {
    const fs::path folder = fs::canonical(found.path.parent_path(), error);
    if (error) break;
    if (folder == mine && fs::is_symlink(found.path, error)) {
      found.descriptor = std::stoi(found.path.filename());
      return found;
    }
    if (!fs::is_symlink(found.path, error)) break;
    found.path = folder / fs::read_symlink(found.path, error);
  }
  found.is_there = ::stat(found.path.c_str(), &found.about) == 0;
  if (!found.is_there && errno != ENOENT) fail(name);
  return found;
}

class open_output {
 public:
  open_output(const fs::path& path, int flags, const std::string& name)
      : file_(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, new_file)) {
    if (file_ < 0) fail(name);
  }
  open_output(const open_output&) = delete;
  open_output& operator=(const open_output&) = delete;
  ~open_output() { close(); }

  [[nodiscard]] int get() const { return file_; }
  bool close() {
    const int file = file_;
    file_ = -1;
    return file < 0 || ::close(file) == 0;
  }

 private:
  int file_;
};

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void replace(const destination& found, std::string_view text, const std::string& name) {
  const fs::path part = found.path.string() + "." + std::to_string(::getpid()) + ".part";
  ::unlink(part.c_str());  // of a process of the same number, which was killed
  open_output file(part, O_CREAT | O_EXCL, name);
  if (found.is_there) {
    // Who is not root keeps the file as its own.
    if (::fchown(file.get(), found.about.st_uid, found.about.st_gid) != 0) errno = 0;
    if (::fchmod(file.get(), found.about.st_mode & 07777) != 0) errno = 0;
  }
  if (!write_all(file.get(), text) || !file.close() ||
      std::rename(part.c_str(), found.path.c_str()) != 0) {
    const int why = errno;
    ::unlink(part.c_str());
    fail(name, why);
  }
}

}  // namespace

bool replaces_file(const std::string& path) try {
  return destination_of(path).is_plain();
} catch (const std::system_error&) {
  return true;  // nothing is there that could be written to
}

void require_writable(const std::string& path) {
  const destination found = destination_of(path);
  if (found.descriptor >= 0) return;
  if (found.is_plain()) {
    open_output(found.path, O_CREAT, path);
  } else if (S_ISDIR(found.about.st_mode)) {
    fail(path, EISDIR);
  } else if (::access(found.path.c_str(), W_OK) != 0) {
    fail(path);
  }
}

void write_output(const std::string& path, std::string_view text) {
  const destination found = destination_of(path);
  if (found.descriptor >= 0) {
    std::cout.flush();
    if (std::fflush(stdout) != 0 || !write_all(found.descriptor, text)) fail(path);
  } else if (found.is_plain()) {
    replace(found, text, path);
  } else {
    open_output file(found.path, 0, path);
    if (!write_all(file.get(), text) || !file.close()) fail(path);
  }
}

}  // namespace assay::input
