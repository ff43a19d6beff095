// assay-rtm: runs a program whose transactions (RTM) are emulated, on a processor that has none.
//
//     assay-rtm build/release/bin/my_test --its-own-options
//     assay-rtm --abort-percent 90 --seed 3 --sets 1 --ways 4 my_test
//
// It loads a library into the program (preloaded.cpp, engine.cpp), and is replaced by it. What came
// of the transactions is written to standard error when the program ends. It shows whether a
// program is right; no timing of a program under it means anything.

#include <CLI/CLI.hpp>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "assay/input/bad_request.h"
#include "assay/input/command_line.h"
#include "assay/input/message.h"
#include "assay/input/output_file.h"
#include "assay/input/preloading.h"
#include "emulation/rtm/settings.h"

// NOLINTBEGIN(concurrency-mt-unsafe): it has one thread
namespace {

namespace fs = std::filesystem;

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

void run(const std::vector<std::string>& command, const assay::emulation::settings& chosen) {
  const fs::path program = assay::input::find_program(command.front());
  assay::input::require_loadable(program);
  assay::input::preload(fs::read_symlink("/proc/self/exe").parent_path() / "libassay_rtm.so");
  ::setenv(assay::emulation::settings_variable, chosen.to_text().c_str(), 1);
  // Functions of the C library that the emulator can execute, and none that is looked up, with all
  // registers saved, when it is first called.
  assay::input::put_before(
      "GLIBC_TUNABLES",
      "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,-ERMS,"
      "-FSRM",
      ':');
  ::setenv("LD_BIND_NOW", "1", 1);
  assay::input::replace_by(program, command);
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
