// assay-rig: checks concurrent maps for what a trial cannot see. satellites/rig/docs/rig.md
// describes it.
//
// Every check prints a line of key=value at its beginning and another at its end, and exits with 0
// if the map passed or there was nothing to check, 1 if it did not pass, 2 if it could not be
// checked or there was no time for some of it, 3 if it did not end (watchdog.h).

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <random>
#include <string>

#include "assay/host/transactions.h"
#include "assay/input/bad_request.h"
#include "assay/input/command_line.h"
#include "assay/input/message.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/linearizability.h"
#include "assay/rig/memory.h"
#include "assay/rig/model.h"
#include "assay/rig/owners.h"
#include "assay/rig/progress.h"
#include "assay/rig/randomness.h"
#include "assay/rig/stress.h"
#include "assay/subject/subject.h"

namespace {

using assay::subject::subject_entry;
using std::chrono::steady_clock;

struct options {
  std::string map;
  std::uint64_t seed = std::random_device()();
  std::optional<std::chrono::duration<double>> seconds{};
  std::uint64_t histories = 5000;
  std::uint64_t operations = 400'000;
  std::uint64_t keys = 20'000;
  std::uint64_t milliseconds = 500;
  double randomness = 0;
};

// Said first and at once, for maps that let nothing be said later.
void begin(const char* check, const options& chosen) {
  std::printf("check=%s map=%s seed=%ju\n", check, chosen.map.c_str(), std::uintmax_t{chosen.seed});
  std::fflush(stdout);
}

void end(const char* check, const options& chosen, const char* result, std::uint64_t histories,
         std::uint64_t operations) {
  std::printf("check=%s map=%s seed=%ju histories=%ju operations=%ju result=%s\n", check,
              chosen.map.c_str(), std::uintmax_t{chosen.seed}, std::uintmax_t{histories},
              std::uintmax_t{operations}, result);
}

int end(const char* check, const options& chosen, bool passed, std::uint64_t histories,
        std::uint64_t operations) {
  end(check, chosen, passed ? "passed" : "failed", histories, operations);
  return passed ? 0 : 1;
}

// The same, of a check in which there was no time for something, unless that is empty or a mistake
// was found without it.
int end(const char* check, const options& chosen, bool passed, const std::string& no_time_for,
        std::uint64_t histories, std::uint64_t operations) {
  if (!passed || no_time_for.empty()) return end(check, chosen, passed, histories, operations);
  std::printf("no time for %s\n", no_time_for.c_str());
  end(check, chosen, "incomplete", histories, operations);
  return 2;
}

// "100 histories: 7", if there were fewer than that.
std::string missing(std::uint64_t enough, std::uint64_t done, const char* what) {
  if (done >= enough) return "";
  return std::to_string(enough) + ' ' + what + ": there were " + std::to_string(done);
}

// Makes a check once or, if it was given seconds, again and again until they are over: first with
// the seed that was chosen, then with others that follow from it. `passes` says whether one passed.
template <class Passes>
bool repeat(const options& chosen, Passes passes) {
  const auto begin = steady_clock::now();
  if (!passes(chosen.seed)) return false;
  for (std::uint64_t n = 1; chosen.seconds && steady_clock::now() - begin < *chosen.seconds; ++n) {
    if (!passes(assay::random::derive_seed(chosen.seed, n))) return false;
  }
  return true;
}

// The subject, if it is one that can be checked.
const subject_entry& map_of(const options& chosen) {
  const auto& subject = assay::subject::find_subject(chosen.map);
  if (subject.holds_nothing) throw assay::bad_request(chosen.map + " holds nothing");
  if (subject.structure != assay::subject::structure::map) {
    throw assay::bad_request(chosen.map + " is a " + to_string(subject.structure) +
                             ": these checks are for maps");
  }
  return subject;
}

// The subject, if threads can be run on it together.
const subject_entry& concurrent(const options& chosen) {
  const auto& subject = map_of(chosen);
  if (subject.max_threads.value_or(2) < 2) {
    throw assay::bad_request(chosen.map + " is not a map for several threads");
  }
  return subject;
}

int list() {
  for (const auto& subject : assay::subject::registry()) {
    if (subject.holds_nothing || subject.structure != assay::subject::structure::map) continue;
    const bool one = subject.max_threads.value_or(2) < 2;
    std::printf("map=%s threads=%s lock_free=%s checks=model%s%s%s\n", subject.name.c_str(),
                one ? "one" : "many", subject.lock_free ? "yes" : "no",
                !one && subject.linearizable ? ",linearizability" : "",
                one ? "" : ",owners,progress,stress", subject.leaks ? "" : ",memory");
  }
  return 0;
}

int model(const options& chosen) {
  const auto& subject = map_of(chosen);
  begin("model", chosen);
  const auto begin_time = steady_clock::now();
  std::uint64_t operations = 0;
  int ended_by = 0;
  const bool passed = repeat(chosen, [&](std::uint64_t seed) {
    assay::rig::modelling asked{.seed = seed, .operations = chosen.operations, .keys = chosen.keys};
    if (chosen.seconds) asked.duration = *chosen.seconds - (steady_clock::now() - begin_time);
    const auto seen = assay::rig::check_model_apart(subject, asked);
    operations += seen.operations;
    ended_by = seen.ended_by;
    std::printf("%s", seen.problem.c_str());
    return seen.problem.empty() && ended_by == 0;
  });
  const std::string no_time_for =
      chosen.seconds
          ? missing(assay::rig::modelled::enough * subject.types.size(), operations, "operations")
          : "";
  const int status = end("model", chosen, passed, no_time_for, 0, operations);
  if (ended_by != 0) {
    // Who called this program learns of the crash, too.
    std::fflush(nullptr);
    std::signal(ended_by, SIG_DFL);
    std::raise(ended_by);
  }
  return status;
}

int histories(const options& chosen) {
  assay::rig::record(concurrent(chosen), {.seed = chosen.seed, .histories = chosen.histories},
                     [](const auto& one) { write(std::cout, one); });
  return 0;
}

int linearizability(const options& chosen) {
  using assay::rig::judgement;
  const auto& subject = concurrent(chosen);
  begin("linearizability", chosen);
  assay::rig::recorded counts;
  const judgement found = assay::rig::check_linearizability(
      subject, {.seed = chosen.seed, .histories = chosen.histories, .duration = chosen.seconds},
      counts);
  if (found == judgement::unreadable) return 2;
  std::printf("threads overlapped in %ju of %ju histories\n", std::uintmax_t{counts.overlapping},
              std::uintmax_t{counts.histories});
  const std::string no_time_for =
      chosen.seconds ? missing(counts.enough, counts.histories, "histories") : "";
  return end("linearizability", chosen, found == judgement::linearizable, no_time_for,
             counts.histories, counts.operations);
}

int owners(const options& chosen) {
  const auto& subject = concurrent(chosen);
  begin("owners", chosen);
  assay::rig::owning asked{.seed = chosen.seed};
  if (chosen.seconds) asked.duration = *chosen.seconds;
  const auto seen = assay::rig::check_owners(subject, asked);
  std::printf("%s", seen.problem.c_str());
  std::printf("%ju rounds; %ju answers were about other threads' keys", std::uintmax_t{seen.rounds},
              std::uintmax_t{seen.observations});
  if (seen.undisturbed > 0) {
    std::printf("; %.2g million operations a second undisturbed",
                static_cast<double>(seen.undisturbed) / seen.undisturbed_seconds / 1e6);
  }
  std::printf("\n");
  return end("owners", chosen, seen.problem.empty(),
             missing(seen.enough_rounds, seen.rounds, "rounds"), 0, seen.operations);
}

int progress(const options& chosen) {
  const auto& subject = concurrent(chosen);
  begin("progress", chosen);
  const auto found = assay::rig::check_progress(subject, chosen.seed, chosen.seconds);
  for (const auto& line : found.lines) std::printf("%s\n", line.c_str());
  if (found.any_suspended) {
    return end("progress", chosen, found.passed, found.no_time_for, 0, found.operations);
  }
  std::printf("no operation passes a marked point (ASSAY_POINT)\n");
  end("progress", chosen, "nothing_to_check", 0, 0);
  return subject.lock_free ? 2 : 0;  // who claims something has to let it be checked
}

int stress(const options& chosen) {
  const auto& subject = concurrent(chosen);
  begin("stress", chosen);
  std::uint64_t operations = 0;
  std::string unclear;
  const bool passed = repeat(chosen, [&](std::uint64_t seed) {
    const auto seen = assay::rig::stress(
        subject, {.seed = seed, .duration = std::chrono::milliseconds(chosen.milliseconds)});
    operations += seen.operations;
    if (unclear.empty()) unclear = seen.unclear;
    for (const auto& problem : seen.problems) std::printf("%s\n", problem.c_str());
    return seen.problems.empty();
  });
  if (unclear.empty()) unclear = missing(assay::rig::stressed::enough, operations, "operations");
  return end("stress", chosen, passed, unclear, 0, operations);
}

int memory(const options& chosen) {
  const auto& subject = map_of(chosen);
  begin("memory", chosen);
  if (subject.leaks) {
    std::printf("the map says that it leaks\n");
    end("memory", chosen, "nothing_to_check", 0, 0);
    return 0;
  }
  std::uint64_t operations = 0;
  std::string no_time_for;
  const bool passed = repeat(chosen, [&](std::uint64_t seed) {
    assay::rig::remembering asked{.seed = seed};
    if (chosen.seconds) asked.patience = std::max(asked.patience, *chosen.seconds);
    const auto seen = assay::rig::memory_kept(subject, asked);
    operations += seen.operations;
    if (!seen.no_time_for.empty()) no_time_for = seen.no_time_for;
    if (!seen.problem.empty()) std::printf("%s\n", seen.problem.c_str());
    return seen.problem.empty();
  });
  return end("memory", chosen, passed, no_time_for, 0, operations);
}

// What a check comes to. An operation that threw is a failure of the map.
int exit_status(const std::string& name, const options& chosen, int (*run)(const options&)) {
  try {
    assay::rig::set_randomness(chosen.randomness);
    return run(chosen);
  } catch (const assay::rig::operation_failed& error) {
    std::fflush(stdout);
    assay::input::print_error(error.what());
    return name == "histories" ? 1 : end(name.c_str(), chosen, false, 0, 0);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  assay::host::obey_transactions_setting();
  CLI::App app("Checks concurrent maps: model, linearizability, owners, progress, stress, memory.");
  app.require_subcommand(1);
  app.footer(
      "A map that does nothing for ASSAY_RIG_PATIENCE=10 seconds ends the program with status 3.");
  options chosen;
  int status = 0;
  const auto check = [&](const std::string& name, const std::string& description, auto run) {
    auto* const command = app.add_subcommand(name, description);
    command->add_option("map", chosen.map, "one of `assay-rig list`")->required();
    command->add_option("--seed", chosen.seed, "the seed; a new one if it is not given");
    if (name != "histories") {
      command
          ->add_option_function<double>(
              "--seconds", [&chosen](double length) { chosen.seconds.emplace(length); },
              "take this long: with further seeds, or with less if a map or the machine is slow")
          ->check(CLI::PositiveNumber);
    }
    if (name == "linearizability" || name == "histories" || name == "owners" || name == "stress") {
      command->add_option(
          "--randomness", chosen.randomness,
          "stop threads at random by e^(C Z): 5 is very high; 0, the default, delays "
          "them a little at many moments");
    }
    command->callback([&status, &chosen, name, run] { status = exit_status(name, chosen, run); });
    return command;
  };
  app.add_subcommand("list", "Print the maps of this program.")->callback([&] { status = list(); });
  auto* const modelled =
      check("model", "Compare the answers to one thread with std::map's.", model);
  modelled->add_option("--operations", chosen.operations);
  modelled->add_option("--keys", chosen.keys);
  for (auto* const command :
       {check("histories", "Print recorded histories, one JSON object a line.", histories),
        check("linearizability", "Record histories and judge them.", linearizability)}) {
    command->add_option("--histories", chosen.histories);
  }
  check("owners", "Let each thread own keys, so that every answer is known.", owners);
  check("memory", "Check that destroyed maps give their memory back.", memory);
  check("progress", "Suspend a thread at each marked point.", progress);
  check("stress", "Run eight threads and validate what they leave.", stress)
      ->add_option("--milliseconds", chosen.milliseconds, "length of each of two trials");
  const int code = assay::input::parse(app, argc, argv).value_or(status);
  assay::input::require_printed();
  return code;
} catch (const std::exception& error) {
  assay::input::print_error(error.what(), {argv, static_cast<std::size_t>(argc)});
  return 2;
}
