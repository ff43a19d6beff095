// assay-calibrate: reads one calibration request on standard input, measures the host, and prints
// one calibration result. Both are described by the JSON Schemas in docs/reference.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "assay/host/calibration.h"
#include "assay/host/clock.h"
#include "assay/host/environment.h"
#include "assay/host/placement.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"

namespace {

namespace host = assay::host;
namespace input = assay::input;
using nlohmann::json;

host::placement parse(const json& object) {
  const input::json_node request(object, "");
  request.require_keys({"protocol", "threads", "pinning"}, {"placement"});
  request.at("protocol").require(1);
  const auto threads = static_cast<unsigned>(request.at("threads").whole_number(1, 4096));
  std::optional<std::uint64_t> exchange;
  if (request.has("placement"))
    exchange = request.at("placement").whole_number(0, input::most_exact);
  return {host::parse_pinning(request.at("pinning").value()), threads, exchange};
}

json result_of(const host::calibration& found, std::uint64_t began) {
  json pairs = json::array();
  for (const auto& [a, b, one_way_ns] : found.pairs) {
    pairs.push_back({{"a", a}, {"b", b}, {"one_way_ns", one_way_ns}});
  }
  return {{"protocol", 1},
          {"cpus", found.processors},
          {"metrics", found.metrics},
          {"pairs", pairs},
          {"unavailable", found.unavailable},
          {"elapsed_ms", static_cast<double>(host::now_ns() - began) / 1e6}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t began = host::now_ns();
  CLI::App app(
      "Measures this host for about 13 ms: latency between the processors in use, of memory, and "
      "of "
      "arithmetic.\nReads a calibration request as JSON on standard input, for example\n"
      R"(  {"protocol": 1, "threads": 2, "pinning": "compact"})"
      "\nand prints a calibration result as JSON.");
  app.set_version_flag("--version", host::version_of("assay-calibrate"));
  return input::run(app, argc, argv, [&] {
    const host::placement place = parse(input::parse_object(input::standard_input()));
    input::print(result_of(host::calibrate(place), began));
  });
}
