// assay-omp: runs a program of gcc -fopenmp with Assay's OpenMP runtime in place of libgomp, and
// one of clang with a library in front of libomp.
//
//     assay-omp ./my_program --its-own-options
//     assay-omp --statistics -- ./my_program
//     assay-omp --check ./my_program
//
// It reads first which entries of libgomp the program and its libraries call: one that is missing
// is named before anything runs. Then it has the runtime loaded into the program (LD_PRELOAD), and
// is replaced by it.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "assay/input/bad_request.h"
#include "assay/input/command_line.h"
#include "assay/input/message.h"
#include "assay/input/preloading.h"
#include "launcher/elf_file.h"

// NOLINTBEGIN(concurrency-mt-unsafe): it has one thread
namespace {

namespace fs = std::filesystem;
using assay::bad_request;
using assay::omp::elf_file;
using assay::omp::read_elf;

constexpr std::string_view usage =
    R"(Runs a program of gcc -fopenmp with Assay's OpenMP runtime in place of libgomp,
or one of clang -fopenmp with Assay's critical sections, locks and barriers.
Usage: assay-omp [--statistics | --check] [--] PROGRAM [ARGUMENTS...]

  --statistics   Print on standard error, when the program ends, how often it used
                 each construct and how long its threads waited there
  --check        Run nothing: print the OpenMP runtime that the program was linked
                 to, and the library that assay-omp would load in its place
  -h, --help     Print this and end
)";
constexpr std::string_view gomp = "libgomp.so.1";

std::string output_of(std::vector<std::string> command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string output;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;) {
    output.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  if (error != 0) throw bad_request(command[0] + ": " + std::generic_category().message(error));
  ::waitpid(child, nullptr, 0);
  return output;
}

// The program and, by their names, the libraries that its loader would load. The loader lists them,
// and runs nothing.
std::map<std::string, elf_file> read_with_libraries(const fs::path& program) {
  std::map<std::string, elf_file> files{{program.string(), read_elf(program)}};
  const std::string loader = files.begin()->second.loader;
  std::istringstream lines(output_of({loader, "--list", fs::absolute(program).string()}));
  for (std::string line; std::getline(lines, line);) {  // a tab, NAME => PATH (ADDRESS)
    const std::size_t arrow = line.find(" => /");
    const std::size_t end = line.rfind(" (");
    if (end == std::string::npos) continue;
    if (arrow != std::string::npos) {
      const std::size_t path = arrow + 4;
      files.emplace(line.substr(1, arrow - 1), read_elf(line.substr(path, end - path)));
    } else if (const std::string path = line.substr(1, end - 1);  // a library that is named by its
               path.find('/') != std::string::npos && path != loader) {  // path, or the loader
      files.emplace(path, read_elf(path));
    }
  }
  return files;
}

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](auto each) { return name.starts_with(each); });
}

bool offloads(std::string_view name) {
  return begins_with_any(name, {"GOACC_", "acc_", "GOMP_target", "GOMP_offload", "omp_target_"});
}

std::string list(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Throws if the program calls entries of libgomp that the runtime does not have.
void require_entries(const std::string& program, const std::map<std::string, elf_file>& files,
                     const fs::path& runtime) {
  std::set<std::string> defined = read_elf(runtime).defined;
  for (const auto& [name, file] : files) {
    if (name != gomp) defined.insert(file.defined.begin(), file.defined.end());
  }
  std::set<std::string> missing;
  std::set<std::string> offloading;
  for (const auto& [file_name, file] : files) {
    if (file_name == gomp) continue;
    for (const std::string& name : file.undefined) {
      if (!begins_with_any(name, {"GOMP_", "omp_", "GOACC_", "acc_"}) || defined.contains(name)) {
        continue;
      }
      (offloads(name) ? offloading : missing).insert(name);
    }
  }
  if (!offloading.empty()) {
    throw bad_request(program + ": offloads to devices (" + list(offloading) +
                      "), for which Assay has no runtime; run it without assay-omp");
  }
  if (!missing.empty()) {
    throw bad_request(program + ": calls " + list(missing) +
                      ", which libassay-gomp.so does not have; run it without assay-omp");
  }
}

// The OpenMP runtime that the program or one of its libraries was linked to. Throws unless it is
// one.
std::string own_runtime(const std::string& program, const std::map<std::string, elf_file>& files,
                        const fs::path& ours) {
  std::map<std::string, std::string> runtimes;  // and who needs them
  for (const auto& [name, file] : files) {
    for (const std::string& needed : file.needed) {
      if (needed == gomp || begins_with_any(needed, {"libomp.", "libiomp5."})) {
        runtimes.emplace(needed, name);
      }
    }
  }
  if (runtimes.empty()) {
    throw bad_request(program + ": is linked to no OpenMP runtime; compile it with gcc -fopenmp. " +
                      "If it loads one later, run it with LD_PRELOAD=" + ours.string());
  }
  if (runtimes.size() > 1) {
    const auto& first = *runtimes.begin();
    const auto& second = *std::next(runtimes.begin());
    throw bad_request(program + ": is linked to two OpenMP runtimes, " + first.first + " (by " +
                      first.second + ") and " + second.first + " (by " + second.second +
                      "); compile all of it with one compiler");
  }
  return runtimes.begin()->first;
}

// Throws if parts of a program of clang go to its runtime by the names of libgomp, which the
// library in front of it does not see.
void require_clang_alone(const std::string& program, const std::map<std::string, elf_file>& files,
                         const std::string& own) {
  std::set<std::string> of_gcc;
  for (const auto& [name, file] : files) {
    if (name == own) continue;
    std::ranges::copy_if(file.undefined, std::inserter(of_gcc, of_gcc.end()),
                         [](const std::string& entry) { return entry.starts_with("GOMP_"); });
  }
  if (of_gcc.empty()) return;
  throw bad_request(program + ": has parts that gcc compiled, which call " + list(of_gcc) + " of " +
                    own + "; compile all of it with clang, or run it without assay-omp");
}

enum class task : std::uint8_t { run, run_with_statistics, check };

void run(const std::vector<std::string>& command, task what) {
  const fs::path program = assay::input::find_program(command.front());
  assay::input::require_loadable(program);
  const fs::path folder =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" / "openmp";
  const fs::path ours = folder / "libassay-gomp.so";
  const auto files = read_with_libraries(program);
  const std::string own = own_runtime(program.string(), files, ours);
  const fs::path loaded = own == gomp ? ours : folder / "libassay-kmpc.so";
  if (own == gomp) {
    require_entries(program.string(), files, ours);
  } else {
    require_clang_alone(program.string(), files, own);
  }
  if (what == task::check) {
    std::cout << own << '\n' << loaded.string() << '\n';
    assay::input::require_printed();
    return;
  }
  assay::input::preload(loaded);
  if (what == task::run_with_statistics) ::setenv("ASSAY_OMP_STATISTICS", "on", 1);
  assay::input::replace_by(program, command);
}

}  // namespace
// NOLINTEND(concurrency-mt-unsafe)

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    auto word = words.begin();
    auto what = task::run;
    for (; word != words.end() && word->starts_with('-'); ++word) {
      if (*word == "-h" || *word == "--help") {
        std::cout << usage;
        assay::input::require_printed();
        return 0;
      }
      if (*word == "--") {
        ++word;
        break;
      }
      if (what != task::run) {
        throw bad_request(*word + ": --statistics and --check don't go together, nor twice");
      }
      if (*word == "--statistics") {
        what = task::run_with_statistics;
      } else if (*word == "--check") {
        what = task::check;
      } else {
        throw bad_request(*word + ": no such option; there are --statistics and --check");
      }
    }
    if (word == words.end()) {
      throw bad_request("no program is named; for example: assay-omp ./my_program");
    }
    run({word, words.end()}, what);
  } catch (const std::exception& error) {
    assay::input::print_error(error.what(), {argv, static_cast<std::size_t>(argc)});
    return 2;
  }
}
