#include "assay/trial/program.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "assay/host/environment.h"
#include "assay/host/usage.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"
#include "assay/random/engine.h"
#include "assay/subject/subject.h"

namespace assay::trial {
namespace {

nlohmann::json list_of_subjects() {
  using assay::to_string;
  auto list = nlohmann::json::array();
  for (const auto& subject : assay::registry()) {
    list.push_back({{"name", subject.name},
                    {"description", subject.description},
                    {"structure", to_string(subject.structure)},
                    {"max_threads", nullptr},
                    {"holds_nothing", subject.holds_nothing},
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

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<void()>& run_one_trial) {
  bool list = false;
  app.add_flag("--list", list, "Print the subjects of this program as JSON and exit");
  bool events = false;
  app.add_flag("--events", events, "Print the events that libpfm knows here and exit");
  bool engines = false;
  app.add_flag("--engines", engines, "Print the engines that can draw its operations and exit");
  app.set_version_flag("--version", host::version_of(app.get_name()));
  return input::run(app, argc, argv, [&] {
    if (list) {
      input::print(list_of_subjects());
    } else if (events) {
      input::print(host::known_events());
    } else if (engines) {
      input::print(list_of_engines());
    } else {
      run_one_trial();
    }
  });
}

}  // namespace assay::trial
