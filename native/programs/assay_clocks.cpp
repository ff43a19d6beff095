// assay-clocks: measures the clocks of this machine and prints what it found as one JSON object.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "assay/host/clocks.h"
#include "assay/host/environment.h"
#include "assay/host/time_stamp_counter.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"

namespace {

using nlohmann::json;

json to_json(const assay::host::clock_report& clock) {
  json agreements = nullptr;
  if (clock.agreements) {
    agreements = json::array();
    for (const auto& pair : *clock.agreements) {
      agreements.push_back({{"a", pair.a},
                            {"b", pair.b},
                            {"offset_ns", {pair.least_offset, pair.most_offset}},
                            {"exchanges", pair.exchanges},
                            {"backwards", pair.backwards}});
    }
  }
  json report{{"name", clock.name},
              {"measures", clock.measures},
              {"cost_ns", clock.cost_ns},
              {"resolution_ns", nullptr},
              {"readings", clock.readings},
              {"backwards", clock.backwards},
              {"agreements", std::move(agreements)},
              {"unusable_because", nullptr}};
  if (clock.resolution_ns > 0) report["resolution_ns"] = clock.resolution_ns;
  if (!clock.unusable_because.empty()) report["unusable_because"] = clock.unusable_because;
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures the clocks of this machine for about 0.5 s: the resolution and the cost of each, "
      "whether it goes\nback, and how those of two processors agree. Prints one JSON object; "
      "`assay host clocks` prints a table of it.");
  app.set_version_flag("--version", assay::host::version_of("assay-clocks"));
  return assay::input::run(app, argc, argv, [&] {
    json clocks = json::array();
    for (const auto& clock : assay::host::measure_clocks()) clocks.push_back(to_json(clock));
    const auto& counter = assay::host::time_stamp_counter_facts();
    assay::input::print({{"clocks", std::move(clocks)},
                         {"time_stamp_counter",
                          {{"invariant", counter.invariant},
                           {"ns_per_tick", counter.ns_per_tick},
                           {"calibration_error", counter.calibration_error}}}});
  });
}
