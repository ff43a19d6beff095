// assay-rig: checks concurrent maps for what a trial cannot see. docs/guide/rig.md tells of it.
//
// Every check prints one line of key=value at its end, and exits with 0 if the map passed, 1 if it
// did not, 2 if it could not be checked, 3 if it did not end.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <random>
#include <string>

#include "assay/rig/linearizability.h"
#include "assay/rig/model.h"
#include "assay/rig/progress.h"
#include "assay/rig/stress.h"
#include "assay/trial/request.h"
#include "assay/trial/subject.h"

namespace {

using assay::trial::subject_entry;

struct options {
  std::string map;
  std::uint64_t seed = std::random_device()();
  std::uint64_t histories = 5000;
  std::uint64_t operations = 100'000;
  std::uint64_t keys = 64;
  std::uint64_t milliseconds = 500;
};

int end(const char* check, const options& chosen, bool passed, std::uint64_t histories,
        std::uint64_t operations) {
  std::printf("check=%s map=%s seed=%ju histories=%ju operations=%ju result=%s\n", check,
              chosen.map.c_str(), std::uintmax_t{chosen.seed}, std::uintmax_t{histories},
              std::uintmax_t{operations}, passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

// The subject, if threads can be run on it together.
const subject_entry& concurrent(const std::string& name) {
  const auto& subject = assay::trial::find_subject(name);
  if (subject.holds_nothing || subject.max_threads.value_or(2) < 2) {
    throw assay::trial::bad_request(name + " is no map for several threads");
  }
  return subject;
}

int list() {
  for (const auto& subject : assay::trial::registry()) {
    if (subject.holds_nothing) continue;
    std::printf("map=%s threads=%s lock_free=%s\n", subject.name.c_str(),
                subject.max_threads.value_or(2) < 2 ? "one" : "many",
                subject.lock_free ? "yes" : "no");
  }
  return 0;
}

int model(const options& chosen) {
  const auto difference = assay::rig::difference_from_model(
      assay::trial::find_subject(chosen.map),
      {.seed = chosen.seed, .operations = chosen.operations, .keys = chosen.keys});
  if (difference) std::printf("%s\n", difference->c_str());
  return end("model", chosen, !difference, 0, chosen.operations);
}

int histories(const options& chosen) {
  assay::rig::record(concurrent(chosen.map), {.seed = chosen.seed, .histories = chosen.histories},
                     [](const auto& one) { write(std::cout, one); });
  return 0;
}

int linearizability(const options& chosen) {
  using assay::rig::judgement;
  assay::rig::recorded counts;
  const judgement found = assay::rig::check_linearizability(
      concurrent(chosen.map), {.seed = chosen.seed, .histories = chosen.histories}, counts);
  if (found == judgement::unreadable) return 2;
  std::printf("threads overlapped in %ju of %ju histories\n", std::uintmax_t{counts.overlapping},
              std::uintmax_t{counts.histories});
  return end("linearizability", chosen, found == judgement::linearizable, counts.histories,
             counts.operations);
}

int progress(const options& chosen) {
  const auto& subject = concurrent(chosen.map);
  bool passed = true;
  std::uint64_t operations = 0;
  for (const auto& point : assay::rig::points_passed(subject, chosen.seed)) {
    const auto seen = assay::rig::suspend_at(subject, point, {.seed = chosen.seed});
    operations += seen.operations;
    const std::string outcome =
        !seen.reached ? "not reached again"
        : seen.waited ? assay::rig::to_string(*seen.waited) + " waits for the suspended thread"
                      : "all others go on";
    std::printf("%s: %s%s%s\n", point.c_str(), outcome.c_str(), seen.problem.empty() ? "" : "; ",
                seen.problem.c_str());
    passed = passed && seen.problem.empty() && !(subject.lock_free && seen.waited);
  }
  return end("progress", chosen, passed, 0, operations);
}

int stress(const options& chosen) {
  const auto seen = assay::rig::stress(
      concurrent(chosen.map),
      {.seed = chosen.seed, .duration = std::chrono::milliseconds(chosen.milliseconds)});
  for (const auto& problem : seen.problems) std::printf("%s\n", problem.c_str());
  return end("stress", chosen, seen.problems.empty(), 0, seen.operations);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Checks concurrent maps: model, linearizability, progress, stress.");
  app.require_subcommand(1);
  options chosen;
  int status = 0;
  const auto check = [&](const std::string& name, const std::string& description, auto run) {
    auto* const command = app.add_subcommand(name, description);
    command->add_option("map", chosen.map, "one of `assay-rig list`")->required();
    command->add_option("--seed", chosen.seed, "what is drawn; a new one if it is not given");
    command->callback([&status, &chosen, run] { status = run(chosen); });
    return command;
  };
  app.add_subcommand("list", "Print the maps of this program.")->callback([&] { status = list(); });
  auto* const modelled =
      check("model", "Compare the answers to one thread with std::map's.", model);
  modelled->add_option("--operations", chosen.operations);
  modelled->add_option("--keys", chosen.keys);
  for (auto* const command :
       {check("histories", "Print recorded histories, one JSON object a line.", histories),
        check("linearizability", "Record histories and have them judged.", linearizability)}) {
    command->add_option("--histories", chosen.histories);
  }
  check("progress", "Suspend a thread at each marked point.", progress);
  check("stress", "Run eight threads and validate what they leave.", stress)
      ->add_option("--milliseconds", chosen.milliseconds, "of each of two trials");
  CLI11_PARSE(app, argc, argv);
  return status;
} catch (const assay::rig::operation_failed& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
}
