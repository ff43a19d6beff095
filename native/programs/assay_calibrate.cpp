// assay-calibrate: reads one calibration request on standard input, measures the host, and prints
// one calibration result. Both are described by the JSON Schemas in docs/reference.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "assay/host/build_info.h"
#include "assay/host/calibration.h"
#include "assay/host/clock.h"
#include "assay/host/placement.h"

namespace {

namespace host = assay::host;
using nlohmann::json;

host::placement parse(std::istream& in) {
  const json request = json::parse(in);
  if (!request.is_object()) {
    throw std::invalid_argument("the request is not a JSON object");
  }
  std::set<std::string> missing = {"protocol", "threads", "pinning"};
  for (const auto& [key, value] : request.items()) {
    if (missing.erase(key) == 0) {
      throw std::invalid_argument("unknown key \"" + key + "\"");
    }
  }
  if (!missing.empty()) {
    throw std::invalid_argument("missing key \"" + *missing.begin() + "\"");
  }
  if (request["protocol"] != 1) {
    throw std::invalid_argument("protocol: this program speaks 1, not " +
                                request["protocol"].dump());
  }
  const json& threads = request["threads"];
  if (!threads.is_number_integer() || threads < 1 || threads > 4096) {
    throw std::invalid_argument("threads: " + threads.dump() +
                                " is not a whole number from 1 to 4096");
  }
  return {host::parse_pinning(request["pinning"]), threads.get<unsigned>()};
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
      "Measures this host for about 15 ms: latency between the processors in use, of memory, and "
      "of "
      "arithmetic.\nReads a calibration request as JSON on standard input, for example\n"
      R"(  {"protocol": 1, "threads": 2, "pinning": "compact"})"
      "\nand prints a calibration result as JSON.");
  app.set_version_flag("--version", "assay-calibrate " + std::string(ASSAY_VERSION) + " (" +
                                        std::string(host::build_info::commit) + ")");
  CLI11_PARSE(app, argc, argv);
  try {
    const host::placement place = parse(std::cin);
    std::cout << result_of(host::calibrate(place), began) << '\n' << std::flush;
    if (!std::cout) {
      throw std::runtime_error("the result cannot be written to standard output");
    }
    return 0;
  } catch (const json::exception& e) {
    std::cerr << "error: " << e.what() << '\n';
    return 2;
  } catch (const std::invalid_argument& e) {
    std::cerr << "error: " << e.what() << '\n';
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << '\n';
    return 1;
  }
}
