// assay-omp: runs a program of gcc -fopenmp with Assay's OpenMP runtime in place of libgomp.
//
//     assay-omp ./my_program --its-own-options
//     assay-omp --statistics -- ./my_program
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
    R"(Runs a program of gcc -fopenmp with Assay's OpenMP runtime in place of libgomp.
Usage: assay-omp [--statistics] [--] PROGRAM [ARGUMENTS...]

  --statistics   Print on standard error, when the program ends, how often it used
                 each construct and how long its threads waited there
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
  std::istringstream lines(
      output_of({files.begin()->second.loader, "--list", fs::absolute(program).string()}));
  for (std::string line; std::getline(lines, line);) {  // a tab, NAME => PATH (ADDRESS)
    const std::size_t arrow = line.find(" => /");
    if (arrow == std::string::npos) continue;
    const std::size_t path = arrow + 4;
    files.emplace(line.substr(1, arrow - 1), read_elf(line.substr(path, line.rfind(" (") - path)));
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

// Whether the program is one of gcc. Throws unless it is linked to one OpenMP runtime.
bool is_of_gcc(const std::string& program, const std::map<std::string, elf_file>& files,
               const fs::path& runtime) {
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
                      "If it loads one later, run it with LD_PRELOAD=" + runtime.string());
  }
  if (runtimes.size() > 1) {
    const auto& first = *runtimes.begin();
    const auto& second = *std::next(runtimes.begin());
    throw bad_request(program + ": is linked to two OpenMP runtimes, " + first.first + " (by " +
                      first.second + ") and " + second.first + " (by " + second.second +
                      "); compile all of it with one compiler");
  }
  if (runtimes.contains(std::string(gomp))) return true;
  std::cerr << assay::input::message("note: " + program + " was made by clang and runs with " +
                                     runtimes.begin()->first +
                                     ", its own runtime; assay-omp serves programs of gcc")
            << '\n';
  return false;
}

void run(const std::vector<std::string>& command, bool statistics) {
  const fs::path program = assay::input::find_program(command.front());
  assay::input::require_loadable(program);
  const fs::path runtime = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" /
                           "openmp" / "libassay-gomp.so";
  const auto files = read_with_libraries(program);
  if (is_of_gcc(program.string(), files, runtime)) {
    assay::input::preload(runtime);
    require_entries(program.string(), files, runtime);
    if (statistics) ::setenv("ASSAY_OMP_STATISTICS", "on", 1);
  }
  assay::input::replace_by(program, command);
}

}  // namespace
// NOLINTEND(concurrency-mt-unsafe)

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    auto word = words.begin();
    bool statistics = false;
    for (; word != words.end() && word->starts_with('-'); ++word) {
      if (*word == "-h" || *word == "--help") {
        std::cout << usage;
        assay::input::require_printed();
        return 0;
      }
      if (*word != "--statistics" && *word != "--") {
        throw bad_request(*word + ": no such option; there is --statistics");
      }
      if (*word == "--") {
        ++word;
        break;
      }
      statistics = true;
    }
    if (word == words.end()) {
      throw bad_request("no program is named; for example: assay-omp ./my_program");
    }
    run({word, words.end()}, statistics);
  } catch (const std::exception& error) {
    assay::input::print_error(error.what(), {argv, static_cast<std::size_t>(argc)});
    return 2;
  }
}
