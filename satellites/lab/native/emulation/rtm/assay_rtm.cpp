// assay-rtm: runs a program whose transactions (RTM) are emulated, on a processor that has none.
//
//     assay-rtm build/release/bin/my_test --its-own-options
//     assay-rtm --abort-percent 90 --seed 3 --sets 1 --ways 4 my_test
//
// It loads a library into the program (preloaded.cpp, engine.cpp), and is replaced by it. What came
// of the transactions is written to standard error when the program ends. It shows whether a
// program is right; no timing of a program under it means anything.

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "assay/input/bad_request.h"
#include "assay/input/command_line.h"
#include "assay/input/message.h"
#include "assay/input/output_file.h"
#include "emulation/rtm/settings.h"

// NOLINTBEGIN(concurrency-mt-unsafe): it has one thread
namespace {

namespace fs = std::filesystem;

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "/usr/bin:/bin";
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(':'), left.size());
    const fs::path one = fs::path(left.substr(0, end)) / name;
    if (::access(one.c_str(), X_OK) == 0) return one;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  throw assay::bad_request(name + ": is in no directory of PATH; give its path, such as ./" + name);
}

// What keeps a library from being loaded into the program, if anything does.
void require_loadable(const fs::path& path) {
  const std::string name = path.string();
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) {
    throw assay::bad_request(name + ": " + std::generic_category().message(errno));
  }
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    throw assay::bad_request(
        name + ": is not a program for x86-64; of a script, name the program that runs it");
  }
  if ((about.st_mode & (S_ISUID | S_ISGID)) != 0) {
    throw assay::bad_request(
        name + ": is setuid or setgid, and no library can be loaded into it; run a copy");
  }
  if (::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    throw assay::bad_request(
        name + ": has capabilities, and no library can be loaded into it; run a copy");
  }
  bool has_loader = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    file.read(reinterpret_cast<char*>(&part), sizeof part);
    has_loader = has_loader || (file && part.p_type == PT_INTERP);
  }
  if (!has_loader) {
    throw assay::bad_request(
        name +
        ": is linked statically, and no library can be loaded into it; link it without -static");
  }
}

sigjmp_buf no_such_instruction;

// Whether XBEGIN does not raise SIGILL. Some processors that have no RTM still execute it, to
// abort.
bool executes_transactions() {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { siglongjmp(no_such_instruction, 1); };
  ::sigaction(SIGILL, &action, &before);
  bool executes = false;
  if (sigsetjmp(no_such_instruction, 1) == 0) {
    asm volatile("xbegin 1f\n\txend\n1:" : : : "rax", "memory");
    executes = true;
  }
  ::sigaction(SIGILL, &before, nullptr);
  return executes;
}

void put_before(const char* variable, const std::string& value, char separator) {
  const char* const given = std::getenv(variable);
  const std::string whole = given != nullptr && *given != '\0' ? value + separator + given : value;
  ::setenv(variable, whole.c_str(), 1);
}

void run(const std::vector<std::string>& command, const assay::emulation::settings& chosen) {
  const fs::path program = find_program(command.front());
  require_loadable(program);
  const fs::path library = fs::read_symlink("/proc/self/exe").parent_path() / "libassay_rtm.so";
  if (!fs::exists(library)) {
    throw assay::bad_request(library.string() + ": is not there; run make build");
  }
  if (library.string().find_first_of(" :") != std::string::npos) {
    throw assay::bad_request(
        library.string() +
        ": nothing is preloaded from a path with a space or colon; build elsewhere");
  }
  put_before("LD_PRELOAD", library.string(), ':');
  ::setenv(assay::emulation::settings_variable, chosen.to_text().c_str(), 1);
  // Functions of the C library that the emulator can execute, and none that is looked up, with all
  // registers saved, when it is first called.
  put_before(
      "GLIBC_TUNABLES",
      "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,-ERMS,"
      "-FSRM",
      ':');
  ::setenv("LD_BIND_NOW", "1", 1);
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw assay::bad_request(program.string() + ": " + std::generic_category().message(errno));
}

}  // namespace
// NOLINTEND(concurrency-mt-unsafe)

int main(int argc, char** argv) {
  CLI::App cli(
      "Runs a program whose transactions (RTM) are emulated. No timing of it means anything.");
  assay::emulation::settings chosen;
  std::vector<std::string> command;
  constexpr unsigned most = 65536;
  cli.add_option("--sets", chosen.sets,
                 "Number of sets of the cache that keeps what a transaction writes")
      ->check(CLI::Range(1U, most))
      ->capture_default_str();
  cli.add_option("--ways", chosen.ways,
                 "Lines of 64 bytes that a transaction may write in each set")
      ->check(CLI::Range(1U, most))
      ->capture_default_str();
  cli.add_option("--read-ways", chosen.read_ways, "Lines that it may read in each set")
      ->check(CLI::Range(1U, most))
      ->capture_default_str();
  cli.add_option("--abort-percent", chosen.abort_percent,
                 "Percentage of transactions that abort, drawn at random")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  cli.add_option("--seed", chosen.seed, "Seed of the draw of --abort-percent")
      ->capture_default_str();
  cli.add_flag("--json", chosen.json, "Print the summary as JSON");
  cli.add_option("--record", chosen.record,
                 "Write everything about each transaction as JSON to this file, and print no "
                 "summary. The file stays empty if no transaction began");
  cli.add_option("program", command, "The program to run, and its arguments")->required();
  cli.prefix_command();
  cli.positionals_at_end();
  try {
    if (const auto status = assay::input::parse(cli, argc, argv)) return *status;
    if (std::isnan(chosen.abort_percent)) {  // which CLI::Range lets pass
      throw assay::bad_request("--abort-percent: nan is no number from 0 to 100");
    }
    chosen.replaces_begins = executes_transactions();
    if (!chosen.record.empty()) assay::input::require_writable(chosen.record);
    if (!chosen.record.empty() && chosen.record != "-") {
      chosen.record = fs::absolute(chosen.record).string();
    }
    run(command, chosen);
  } catch (const std::exception& error) {
    assay::input::print_error(error.what(), {argv, static_cast<std::size_t>(argc)});
    return 2;
  }
}
