// assay-energy: reads a request on standard input, runs programs on a simulated machine
// (energy/simulated_machine.h), each at one frequency, and prints how long they took and with how
// much energy. `assay lab energy` asks it where a frequency cannot be set.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "assay/energy/simulated_machine.h"
#include "assay/host/environment.h"
#include "assay/input/bad_request.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"

namespace {

namespace energy = assay::energy;
namespace host = assay::host;
namespace input = assay::input;
using nlohmann::json;

constexpr double longest_run = 1e6;  // simulated seconds

energy::phase phase_of(const input::json_node& run) {
  energy::phase phase{};
  phase.instructions = run.at("instructions").number(1, 1e18);
  phase.threads = static_cast<unsigned>(run.at("threads").whole_number(1, 4096));
  phase.cycles = run.at("cycles").number(0, 1e6);
  phase.misses = run.at("misses").number(0, 1e6);
  phase.parallel_misses = run.at("parallel_misses").number(1, 1e6);
  phase.activity = run.at("activity").number(0, 100);
  return phase;
}

json ran(const energy::simulated_hardware& hardware, const input::json_node& run,
         std::uint64_t seed) {
  run.require_keys(
      {"khz", "instructions", "threads", "cycles", "misses", "parallel_misses", "activity"}, {});
  energy::simulated_machine machine(hardware, seed);
  const auto khz = static_cast<energy::kilohertz>(run.at("khz").whole_number(1, 1'000'000'000));
  for (std::size_t domain = 0; domain < machine.domains().size(); ++domain) {
    machine.set(domain, khz);
  }
  machine.wait(1);  // until the frequency is in force
  machine.run({.name = "asked", .suite = "", .phases = {phase_of(run)}});
  while (!machine.idle() && machine.seconds() < longest_run) machine.wait(1);
  if (!machine.idle()) throw assay::bad_request("runs: one takes more than a million seconds");
  // The machine makes phases longer or shorter: what was asked for, as it went on average.
  const double share = run.at("instructions").number() / machine.instructions();
  return {{"seconds", machine.seconds() * share}, {"joules", machine.joules() * share}};
}

json answer_to(const json& object) {
  const input::json_node request(object, "");
  request.require_keys({"machine", "seed", "runs"}, {});
  const auto hardware = energy::simulated_hardware_named(request.at("machine").text());
  const std::uint64_t seed = request.at("seed").whole_number(0, input::most_exact);
  json frequencies = json::array();
  for (const energy::voltage_step& step : hardware.steps) frequencies.push_back(step.frequency);
  json runs = json::array();
  const input::json_node asked = request.at("runs");
  for (std::size_t i = 0; i < asked.length_of_list(); ++i) {
    runs.push_back(ran(hardware, asked.at(i), seed));
  }
  return {
      {"machine", hardware.name},        {"frequencies_khz", frequencies},
      {"cores", hardware.cores},         {"processors", hardware.cores * hardware.threads_per_core},
      {"memory_ns", hardware.memory_ns}, {"runs", runs}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs programs on a simulated machine, each at one frequency.\nReads a request as JSON on "
      "standard input, for "
      "example\n"
      R"(  {"machine": "xeon", "seed": 1, "runs": []})"
      "\nand prints the machine and the seconds and joules of each run as JSON.");
  app.set_version_flag("--version", host::version_of("assay-energy"));
  return input::run(app, argc, argv, [] {
    try {
      input::print(answer_to(input::parse_object(input::standard_input())));
    } catch (const energy::platform_error& error) {
      throw assay::bad_request(error.what());
    }
  });
}
