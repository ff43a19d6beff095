// assay-engines: reads on standard input which engine to examine, draws from it, and prints what it
// counted. `assay engines` asks it and judges.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "assay/host/environment.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"
#include "assay/judge/bits.h"
#include "assay/judge/keys.h"
#include "assay/judge/speed.h"
#include "assay/judge/streams.h"
#include "assay/random/engine.h"

namespace {

namespace host = assay::host;
namespace input = assay::input;
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

request parse(const json& object) {
  const input::json_node node(object, "");
  node.require_keys({"protocol", "engine", "seed", "numbers", "parts"});
  node.at("protocol").require(1);
  const input::json_node engine = node.at("engine");
  engine.require_keys({"name"}, {"reseed_every"});
  request found;
  found.engine.name = engine.at("name").text();
  if (engine.has("reseed_every")) {
    found.engine.reseed_every = engine.at("reseed_every").whole_number(1, UINT64_MAX);
  }
  try {
    check(found.engine, assay::random::find_engine(found.engine.name));
  } catch (const std::invalid_argument& error) {
    engine.refuse(error.what());
  }
  found.seed = node.at("seed").whole_number(0, UINT64_MAX);
  found.numbers = node.at("numbers").whole_number(fewest, most);
  const input::json_node parts = node.at("parts");
  for (std::size_t i = 0; i < parts.length_of_list(); ++i) {
    found.parts.insert(parts.at(i).one_of<const char*>(
        {{"bits", "bits"}, {"keys", "keys"}, {"streams", "streams"}, {"speed", "speed"}}));
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Draws from a random number engine and counts what it draws, for `assay engines`.\nReads a "
      "request as JSON on standard input, for example\n"
      R"(  {"protocol": 1, "engine": {"name": "xoshiro256pp"}, "seed": 1, "numbers": 10000000,)"
      "\n"
      R"(   "parts": ["bits", "keys", "streams", "speed"]})"
      "\nand prints the counts as JSON.");
  app.set_version_flag("--version", host::version_of("assay-engines"));
  bool list = false;
  app.add_flag("--list", list, "Print every engine as JSON and exit");
  return input::run(app, argc, argv, [&] {
    input::print(list ? listing() : answer(parse(input::parse_object(input::standard_input()))));
  });
}
