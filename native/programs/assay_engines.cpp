// assay-engines: reads on standard input which engine to examine, draws from it, and prints what it
// counted. `assay engines` asks it and judges.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "assay/host/build_info.h"
#include "assay/host/json_input.h"
#include "assay/judge/bits.h"
#include "assay/judge/keys.h"
#include "assay/judge/speed.h"
#include "assay/judge/streams.h"
#include "assay/random/engine.h"

namespace {

namespace host = assay::host;
namespace judge = assay::judge;
using nlohmann::json;

constexpr std::uint64_t fewest = 1000;
constexpr std::uint64_t most = 1'000'000'000;

struct request {
  assay::random::engine_choice engine;
  std::uint64_t seed = 0;
  std::uint64_t numbers = 0;
  std::set<std::string> parts;
};

std::uint64_t whole(const json& value, const std::string& name, std::uint64_t from,
                    std::uint64_t to) {
  if (!value.is_number_unsigned() || value < from || value > to) {
    throw std::invalid_argument(name + ": must be a whole number from " + std::to_string(from) +
                                " to " + std::to_string(to) + ", not " + host::shown(value));
  }
  return value.get<std::uint64_t>();
}

std::string text(const json& value, const std::string& name) {
  if (!value.is_string()) {
    throw std::invalid_argument(name + ": must be a string, not " + host::shown(value));
  }
  return value.get<std::string>();
}

void require(const json& object, std::set<std::string> keys, const std::set<std::string>& optional,
             const std::string& what) {
  for (const auto& [key, value] : object.items()) {
    if (keys.erase(key) == 0 && !optional.contains(key)) {
      throw std::invalid_argument(host::shown(key) + " is not a key of " + what);
    }
  }
  if (!keys.empty()) throw std::invalid_argument(*keys.begin() + ": is missing");
}

request parse(std::istream& in) {
  std::ostringstream read;
  read << in.rdbuf();
  const json object = host::parse_object(read.str());
  require(object, {"protocol", "engine", "seed", "numbers", "parts"}, {}, "the request");
  whole(object["protocol"], "protocol", 1, 1);
  const json& engine = object["engine"];
  if (!engine.is_object()) {
    throw std::invalid_argument("engine: must be an object, not " + host::shown(engine));
  }
  require(engine, {"name"}, {"reseed_every"}, "engine");
  request found;
  found.engine.name = text(engine["name"], "engine.name");
  if (engine.contains("reseed_every")) {
    found.engine.reseed_every = whole(engine["reseed_every"], "engine.reseed_every", 1, UINT64_MAX);
  }
  found.seed = whole(object["seed"], "seed", 0, UINT64_MAX);
  found.numbers = whole(object["numbers"], "numbers", fewest, most);
  const json& parts = object["parts"];
  if (!parts.is_array()) {
    throw std::invalid_argument("parts: must be a list, not " + host::shown(parts));
  }
  for (const json& each : parts) {
    const std::string part = text(each, "parts");
    if (part != "bits" && part != "keys" && part != "streams" && part != "speed") {
      throw std::invalid_argument("parts: must be among bits, keys, streams and speed, not " +
                                  host::shown(each));
    }
    found.parts.insert(part);
  }
  return found;
}

json bits_of(assay::random::number_source& source, std::uint64_t numbers) {
  const judge::bit_statistics found = judge::examine_bits(source, numbers);
  return {{"bits", source.bits()},
          {"first", found.first},
          {"at", found.at},
          {"ones", found.ones},
          {"changes", found.changes},
          {"thorough", found.thorough},
          {"compared", found.compared},
          {"differing", found.differing},
          {"products", found.products},
          {"low_products", found.low_products},
          {"periods", found.periods}};
}

json cells_of(const judge::cell_counts& found) {
  return {{"with_operation", found.with_operation}, {"with_next", found.with_next}};
}

json keys_of(const request& asked) {
  json list = json::array();
  const std::uint64_t operations = std::min(asked.numbers, judge::most_thorough);
  for (const auto& each : judge::examine_keys(asked.engine, asked.seed, operations)) {
    json entry = {
        {"draws", each.draws == assay::workload::draws::one ? "one" : "two"},
        {"bounding", each.bounding == assay::workload::bounding::multiply ? "multiply" : "modulo"},
        {"range", each.range},
        {"operations", each.operations},
        {"sum_of_squares", each.sum_of_squares},
        {"never_drawn", each.never_drawn}};
    if (!each.by_place.empty()) {
      entry["by_place"] = cells_of(each.by_place.front());
      entry["by_remainder"] = cells_of(each.by_remainder.front());
    }
    list.push_back(std::move(entry));
  }
  return list;
}

json streams_of(const request& asked) {
  const auto make = [&](std::uint64_t seed) {
    return assay::random::make_number_source(asked.engine, seed);
  };
  const judge::stream_statistics found = judge::examine_streams(make, asked.seed);
  return {{"streams", found.streams},
          {"fingerprints", found.fingerprints},
          {"collisions", found.collisions},
          {"compared", found.compared},
          {"differing", found.differing}};
}

json answer(const request& asked) {
  json result = {{"protocol", 1}};
  if (asked.parts.contains("bits")) {
    const auto source = assay::random::make_number_source(asked.engine, asked.seed);
    result["bits"] = bits_of(*source, asked.numbers);
  }
  if (asked.parts.contains("keys")) {
    result["keys"] = keys_of(asked);
    const auto& mix = judge::judged_mix;
    result["mix_percent"] = {mix.insert, mix.erase, mix.find};
  }
  if (asked.parts.contains("streams")) result["streams"] = streams_of(asked);
  if (asked.parts.contains("speed")) {
    const auto source = assay::random::make_number_source(asked.engine, asked.seed);
    const judge::speed_statistics found = judge::measure_speed(*source);
    result["speed"] = {{"source_ns", found.source_ns}, {"floor_ns", found.floor_ns}};
  }
  return result;
}

json listing() {
  json list = json::array();
  for (const assay::random::engine_facts& each : assay::random::engines()) {
    list.push_back({{"name", each.name},
                    {"description", each.description},
                    {"state_bits", each.state_bits},
                    {"bits", each.bits},
                    {"available", each.available},
                    {"replayable", each.replayable},
                    {"shared", each.shared}});
  }
  return list;
}

void print(const json& value) {
  std::cout << value << '\n' << std::flush;
  if (!std::cout) throw std::runtime_error("the result cannot be written to standard output");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Draws from a random number engine and counts what it draws, for `assay engines`.\nReads a "
      "request as JSON on standard input, for example\n"
      R"(  {"protocol": 1, "engine": {"name": "xoshiro256pp"}, "seed": 1, "numbers": 10000000,)"
      "\n"
      R"(   "parts": ["bits", "keys", "streams", "speed"]})"
      "\nand prints the counts as JSON.");
  app.set_version_flag("--version", "assay-engines " + std::string(ASSAY_VERSION) + " (" +
                                        std::string(host::build_info::commit) + ")");
  bool list = false;
  app.add_flag("--list", list, "Print every engine as JSON and exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return app.exit(wanted);
  } catch (const CLI::ParseError& mistake) {
    std::cerr << "error: " << mistake.what() << '\n';
    return 2;
  }
  try {
    print(list ? listing() : answer(parse(std::cin)));
    return 0;
  } catch (const std::invalid_argument& e) {  // an unknown engine is one
    std::cerr << "error: " << e.what() << '\n';
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "error: " << e.what() << '\n';
    return 1;
  }
}
