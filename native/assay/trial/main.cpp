// The program of every map: reads one request from standard input, runs it, and prints one result.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "assay/host/build_info.h"
#include "assay/host/environment.h"
#include "assay/random/engine.h"
#include "assay/trial/request.h"
#include "assay/trial/result.h"
#include "assay/trial/run.h"
#include "assay/trial/subject.h"

namespace {

nlohmann::json list_of_subjects() {
  using assay::trial::to_string;
  auto list = nlohmann::json::array();
  for (const auto& subject : assay::trial::registry()) {
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

// Prints all of it or throws: a result cut short by a full disk must not look like success.
void print(const nlohmann::json& message) {
  std::cout << message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n'
            << std::flush;
  if (!std::cout) throw std::runtime_error("cannot write to standard output");
}

void run_one_trial() {
  std::ostringstream text;
  text << std::cin.rdbuf();
  const auto request = assay::trial::parse_request(text.str());
  const auto& subject = assay::trial::find_subject(request.subject);
  auto environment = assay::host::environment(subject.compiled);
  print(to_json(assay::trial::run(request, subject), std::move(environment)));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs one trial of a map: reads a request as JSON from standard input and prints the result "
      "as JSON.\n"
      "docs/reference/protocol.md describes both."};
  app.footer(R"(Example:
  echo '{"protocol": 1, "subject": "noop", "seed": 1, "threads": 1, "pinning": "none", "key_range": 1000,
    "keys": "dense", "mix": {"insert": 20, "erase": 10, "find": 70}, "duration_ms": 100,
    "interval_ms": 10}' | assay-trial)");
  bool list = false;
  app.add_flag("--list", list, "Print the subjects of this program as JSON and exit");
  bool engines = false;
  app.add_flag("--engines", engines, "Print the engines that can draw its operations and exit");
  app.set_version_flag("--version", "assay-trial " + std::string(ASSAY_VERSION) + " (" +
                                        std::string(assay::host::build_info::commit) + ")");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& mistake) {
    std::cerr << "error: " << mistake.what() << '\n';
    return 2;
  }
  try {
    if (list) {
      print(list_of_subjects());
    } else if (engines) {
      print(list_of_engines());
    } else {
      run_one_trial();
    }
    return 0;
  } catch (const assay::trial::bad_request& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
  }
  return 1;
}
