// assay-engines: reads on standard input which engine to examine, draws from it, and prints what it
// counted. `assay lab engines` asks it and judges.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/host/environment.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"
#include "assay/judge/bits.h"
#include "assay/judge/keys.h"
#include "assay/judge/speed.h"
#include "assay/judge/streams.h"
#include "assay/random/engine.h"
#include "assay/random/registered_engine.h"

namespace {

namespace host = assay::host;
namespace input = assay::input;
namespace judge = assay::judge;
using nlohmann::json;

constexpr std::uint64_t fewest = 1000;
constexpr std::uint64_t most = 1'000'000'000;

struct request {
  assay::random::engine_choice engine;
  bool from_file = false;
  std::uint64_t seed = 0;
  std::uint64_t numbers = 0;
  std::set<std::string> parts;
};

// Numbers of a file, from the first on for every seed.
class from_file final : public assay::random::number_source {
 public:
  from_file(std::shared_ptr<const std::vector<std::uint64_t>> numbers, int bits)
      : numbers_(std::move(numbers)), bits_(bits) {}

  void fill(std::span<std::uint64_t> block) override {
    for (auto& number : block) number = (*numbers_)[next_++ % numbers_->size()];
  }
  [[nodiscard]] int bits() const override { return bits_; }

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> numbers_;
  std::size_t next_ = 0;
  int bits_;
};

// Makes an engine of a file of numbers of `bits` bits, the lowest byte first, and returns its name.
std::string register_file(const std::string& path, int bits) {
  static_assert(std::endian::native == std::endian::little);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::invalid_argument("cannot be read");
  std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  const auto count = bytes.size() / (static_cast<std::size_t>(bits) / 8);
  if (count < fewest) throw std::invalid_argument("has fewer than 1000 numbers");
  std::vector<std::uint64_t> narrow(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&narrow[i], &bytes[i * static_cast<std::size_t>(bits) / 8],
                static_cast<std::size_t>(bits) / 8);
  }
  std::vector<std::uint64_t> wide = narrow;
  if (bits == 32) {
    wide.resize(count / 2);
    for (std::size_t i = 0; i < wide.size(); ++i)
      wide[i] = narrow[2 * i] | narrow[2 * i + 1] << 32U;
  }
  const auto maker = [](std::vector<std::uint64_t> numbers, int width) {
    return [width, shared = std::make_shared<const std::vector<std::uint64_t>>(std::move(numbers))](
               const assay::random::engine_choice&, std::uint64_t,
               const std::shared_ptr<assay::random::entropy>&) {
      return std::make_unique<from_file>(shared, width);
    };
  };
  assay::random::register_engine({.name = "file",
                                  .description = "numbers of a file",
                                  .source = "",
                                  .state_bits = bits,
                                  .bits = bits,
                                  .available = true,
                                  .replayable = true,
                                  .shared = false},
                                 maker(std::move(narrow), bits), maker(std::move(wide), 64));
  return "file";
}

request parse(const json& object) {
  const input::json_node node(object, "");
  node.require_keys({"protocol", "engine", "seed", "numbers", "parts"});
  node.at("protocol").require(1);
  const input::json_node engine = node.at("engine");
  request found;
  if (engine.has("file")) {
    engine.require_keys({"file", "bits"});
    const auto width = engine.at("bits").whole_number(32, 64);
    if (width != 32 && width != 64) engine.at("bits").refuse("must be 32 or 64");
    found.from_file = true;
    try {
      found.engine.name = register_file(engine.at("file").text(), static_cast<int>(width));
    } catch (const std::invalid_argument& error) {
      engine.at("file").refuse(error.what());
    }
  } else {
    engine.require_keys({"name"}, {"reseed_every"});
    found.engine.name = engine.at("name").text();
  }
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
    found.parts.insert(parts.at(i).one_of<const char*>({{"bits", "bits"},
                                                        {"keys", "keys"},
                                                        {"streams", "streams"},
                                                        {"seeds", "seeds"},
                                                        {"speed", "speed"}}));
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
  // An operation takes up to two numbers of 64 bits, and a file has no more than it has.
  const std::uint64_t available = asked.from_file ? asked.numbers / 4 : asked.numbers;
  const std::uint64_t operations = std::min(available, judge::most_thorough);
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

json seeds_of(const request& asked) {
  const judge::seed_statistics found = judge::examine_seeds(
      [&](std::uint64_t seed) { return assay::random::make_number_source(asked.engine, seed); },
      asked.seed);
  return {{"alike", found.alike}, {"zero_is_one", found.zero_is_one}, {"repeats", found.repeats}};
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
  if (asked.parts.contains("seeds")) result["seeds"] = seeds_of(asked);
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
      "Draws from a random number engine and counts what it draws, for `assay lab engines`.\nReads "
      "a "
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
