// assay-calibrate: reads one calibration request on standard input, measures the host, and prints
// one calibration result. Both are described by the JSON Schemas in docs/reference.

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "assay/host/build_info.h"
#include "assay/host/calibration.h"
#include "assay/host/clock.h"
#include "assay/host/json_input.h"
#include "assay/host/placement.h"

namespace {

namespace host = assay::host;
using nlohmann::json;

host::placement parse(std::istream& in) {
  std::ostringstream text;
  text << in.rdbuf();
  const json request = host::parse_object(text.str());
  std::set<std::string> missing = {"protocol", "threads", "pinning"};
  for (const auto& [key, value] : request.items()) {
    if (missing.erase(key) == 0) {
      throw std::invalid_argument(host::shown(key) + " is not a key of a calibration request");
    }
  }
  if (!missing.empty()) {
    throw std::invalid_argument(*missing.begin() + ": is missing");
  }
  const json& protocol = request["protocol"];
  if (!protocol.is_number_integer() || protocol != 1) {
    throw std::invalid_argument("protocol: must be 1, not " + host::shown(protocol));
  }
  const json& threads = request["threads"];
  if (!threads.is_number_integer() || threads < 1 || threads > 4096) {
    throw std::invalid_argument("threads: must be a whole number from 1 to 4096, not " +
                                host::shown(threads));
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
      "Measures this host for about 13 ms: latency between the processors in use, of memory, and "
      "of "
      "arithmetic.\nReads a calibration request as JSON on standard input, for example\n"
      R"(  {"protocol": 1, "threads": 2, "pinning": "compact"})"
      "\nand prints a calibration result as JSON.");
  app.set_version_flag("--version", "assay-calibrate " + std::string(ASSAY_VERSION) + " (" +
                                        std::string(host::build_info::commit) + ")");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& mistake) {
    std::cerr << "error: " << mistake.what() << '\n';
    return 2;
  }
  try {
    const host::placement place = parse(std::cin);
    std::cout << result_of(host::calibrate(place), began) << '\n' << std::flush;
    if (!std::cout) {
      throw std::runtime_error("the result cannot be written to standard output");
    }
    return 0;
  } catch (const std::invalid_argument& e) {
    std::cerr << "error: " << e.what() << '\n';
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << '\n';
    return 1;
  }
}
