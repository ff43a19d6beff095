#include "assay/trial/program.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "assay/host/environment.h"
#include "assay/host/transactions.h"
#include "assay/host/usage.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"
#include "assay/random/engine.h"
#include "assay/random/entropy.h"
#include "assay/subject/subject.h"

namespace assay::trial {
namespace {

nlohmann::json list_of_subjects() {
  using subject::to_string;
  auto list = nlohmann::json::array();
  for (const auto& subject : subject::registry()) {
    list.push_back({{"name", subject.name},
                    {"description", subject.description},
                    {"structure", to_string(subject.structure)},
                    {"max_threads", nullptr},
                    {"holds_nothing", subject.holds_nothing},
                    {"reclaims", subject.reclaims},
                    {"operations", nlohmann::json::array()},
                    {"types", nlohmann::json::array()}});
    auto& entry = list.back();
    if (subject.max_threads) entry["max_threads"] = *subject.max_threads;
    for (const auto kind : subject.operations) entry["operations"].push_back(to_string(kind));
    for (const auto& types : subject.types) {
      entry["types"].push_back({to_string(types.key), to_string(types.value)});
    }
  }
  return list;
}

nlohmann::json list_of_engines() {
  auto list = nlohmann::json::array();
  for (const auto& engine : assay::random::engines()) {
    list.push_back({{"name", engine.name},
                    {"description", engine.description},
                    {"state_bits", engine.state_bits},
                    {"bits", engine.bits},
                    {"available", engine.available},
                    {"shared", engine.shared}});
  }
  return list;
}

nlohmann::json list_of_entropy() {
  auto list = nlohmann::json::array();
  for (const char* name : {"rdseed", "rdrand", "kernel"}) {
    if (random::entropy_named(name) != nullptr) list.push_back(name);
  }
  return list;
}

// Numbers of an engine as trials draw them, of 64 bits even where its own have fewer, 8 bytes each,
// the lowest first, until nobody reads on.
void write_numbers(const std::string& engine, std::uint64_t seed) {
  const auto numbers = random::make_wide_number_source({.name = engine}, seed);
  std::array<std::uint64_t, 4096> block{};
  do {
    numbers->fill(block);
  } while (std::fwrite(block.data(), sizeof block[0], block.size(), stdout) == block.size());
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<void()>& run_one_trial) {
  host::obey_transactions_setting();
  bool list = false;
  app.add_flag("--list", list, "Print the subjects of this program as JSON and exit");
  bool events = false;
  app.add_flag("--events", events, "Print the events that libpfm knows here and exit");
  bool engines = false;
  app.add_flag("--engines", engines, "Print the engines that can draw its operations and exit");
  bool entropy = false;
  app.add_flag("--entropy", entropy, "Print where new seeds can come from here and exit");
  bool transactions = false;
  app.add_flag("--transactions", transactions, "Print which transactions there are here and exit");
  std::string draw;
  app.add_option("--draw", draw, "Write numbers of this engine, 8 bytes each, until nobody reads");
  std::uint64_t seed = 1;
  app.add_option("--seed", seed, "Seed of the engine of --draw");
  app.set_version_flag("--version", host::version_of(app.get_name()));
  return input::run(app, argc, argv, [&] {
    if (list) {
      input::print(list_of_subjects());
    } else if (events) {
      input::print(host::known_events());
    } else if (engines) {
      input::print(list_of_engines());
    } else if (entropy) {
      input::print(list_of_entropy());
    } else if (transactions) {
      input::print(host::transactions());
    } else if (!draw.empty()) {
      write_numbers(draw, seed);
    } else {
      run_one_trial();
    }
  });
}

}  // namespace assay::trial
