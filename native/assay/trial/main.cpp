// The program of every map: reads one request from standard input, runs it, and prints one result.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "assay/host/environment.h"
#include "assay/input/json.h"
#include "assay/subject/subject.h"
#include "assay/trial/program.h"
#include "assay/trial/request.h"
#include "assay/trial/result.h"
#include "assay/trial/run.h"

namespace {

namespace input = assay::input;

void run_one_trial() {
  const auto request = assay::trial::parse_request(input::standard_input());
  const auto& subject = assay::subject::find_subject(request.subject);
  auto environment = assay::host::environment(subject.compiled);
  input::print(to_json(assay::trial::run(request, subject), std::move(environment)));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs one trial of a map: reads a request as JSON from standard input and prints the result "
      "as JSON.\n"
      "docs/reference/protocol.md describes both.",
      "assay-trial"};
  app.footer(R"(Example:
  echo '{"protocol": 1, "subject": "noop", "seed": 1, "threads": 1, "pinning": "none", "key_range": 1000,
    "keys": "dense", "mix": {"insert": 20, "erase": 10, "find": 70}, "duration_ms": 100,
    "interval_ms": 10}' | assay-trial)");
  return assay::trial::run_program(app, argc, argv, run_one_trial);
}
