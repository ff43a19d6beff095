// A program of the same maps as assay-trial that measures them as other harnesses do: wrongly, on
// purpose, and as its request names.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "assay/host/environment.h"
#include "assay/input/json.h"
#include "assay/subject/subject.h"
#include "assay/trial/program.h"
#include "assay/trial/request.h"
#include "assay/trial/result.h"
#include "flawed/modes/flaws.h"
#include "flawed/modes/steps.h"

namespace {

namespace input = assay::input;
namespace flawed = assay::flawed;

nlohmann::json list_of_flaws() {
  auto list = nlohmann::json::array();
  for (const auto& flaw : flawed::flaw_entries) {
    list.push_back(
        {{"name", flaw.name}, {"description", flaw.description}, {"source", flaw.source}});
  }
  return list;
}

// The request is that of assay-trial, with the key `flaws`, which the result has too.
void run_one_trial() {
  nlohmann::json asked = input::parse_object(input::standard_input());
  const input::json_node node(asked, "");
  if (!node.has("flaws")) {
    node.named("flaws").refuse("is missing; name what is to mislead, or ask assay-trial");
  }
  const flawed::flaws chosen = flawed::parse_flaws(node.at("flaws"));
  const nlohmann::json names = asked["flaws"];
  asked.erase("flaws");
  const auto request = assay::trial::parse_request(asked.dump());
  const auto subject = flawed::built(assay::subject::find_subject(request.subject), chosen);
  auto environment = assay::host::environment(subject.compiled);
  auto report = to_json(flawed::run(request, subject, chosen), std::move(environment));
  report["flaws"] = names;
  input::print(report);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs one trial of a map that misleads on purpose: reads a request as JSON, with the key "
      "flaws, from standard input and prints the result as JSON.\n"
      "docs/reference/protocol.md describes both.",
      "assay-pitfalls"};
  app.footer(R"(Example:
  echo '{"protocol": 1, "subject": "std_map_mutex", "seed": 1, "threads": 1, "pinning": "none", "key_range": 1000,
    "keys": "dense", "mix": {"insert": 20, "erase": 10, "find": 70}, "duration_ms": 100,
    "interval_ms": 10, "flaws": ["never_inserts"]}' | assay-pitfalls)");
  bool flaws = false;
  app.add_flag("--flaws", flaws, "Print in which ways it can mislead as JSON and exit");
  return assay::trial::run_program(app, argc, argv, [&] {
    if (flaws) {
      input::print(list_of_flaws());
    } else {
      run_one_trial();
    }
  });
}
