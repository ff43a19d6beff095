// assay-layouts: what an execution costs in caches of instructions under layouts of its program. It
// reads one request and prints one result, as `assay layout` asks it. `assay-layouts replay` takes
// the request from its command line, for experiments, and `assay-layouts record` makes the trace.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/input/bad_request.h"
#include "assay/input/command_line.h"
#include "assay/input/json.h"
#include "assay/layout/lines.h"
#include "assay/layout/order.h"
#include "assay/layout/profile.h"
#include "assay/layout/recorder.h"
#include "assay/layout/replay.h"
#include "assay/layout/trace.h"
#include "assay/measure/quantile.h"
#include "assay/random/decision.h"
#include "assay/random/splitmix64.h"

namespace {

namespace input = assay::input;
namespace layout = assay::layout;
namespace measure = assay::measure;
using assay::random::decisions;
using input::json_node;
using nlohmann::json;

enum class scheme : std::uint8_t {
  linked,
  permuted,
  scattered,
  pettis_hansen,
  without_conflicts,
  lines,
  placed
};

struct request {
  std::string trace;  // empty: there are `procedures` and `weights` alone, and nothing is counted
  layout::trace unrecorded;
  std::vector<layout::edge> weights;
  std::string profiled;  // another trace of the same program, from which the profile comes
  scheme how = scheme::scattered;
  layout::history history;
  double noise = 0;
  double expansion = 1;
  bool expands = false;  // the layouts have factors of expansion from 0.5 to 1.5
  layout::hierarchy caches;
  std::uint64_t layouts = 1;
  std::uint64_t first = 0;    // the number of the first one
  std::uint64_t best_of = 1;  // each layout is the best of so many
  std::uint64_t seed = 0;
  bool draws = true;
  std::uint64_t explained = 0;  // how many conflicts are named
  bool addresses = false;       // whether the result has those of the last layout
  bool calls = false;           // whether it has how often procedures called each other, with noise
  std::vector<std::map<std::string, std::uint64_t>>
      places;  // addresses, of each layout of `placed`

  // Whether its layouts have gaps.
  [[nodiscard]] bool gaps() const {
    return how == scheme::without_conflicts || how == scheme::lines;
  }
};

layout::cache_shape shape(const json_node& node, const char* bytes, const char* ways,
                          layout::cache_shape found, const json_node& all) {
  const auto power = [](const json_node& at, std::uint64_t least, std::uint64_t most) {
    const std::uint64_t number = at.whole_number(least, most);
    if (!std::has_single_bit(number)) at.refuse("must be a power of two");
    return static_cast<std::uint32_t>(number);
  };
  if (all.has("line_bytes")) found.line = power(all.at("line_bytes"), 16, 4096);
  if (node.has(bytes)) found.bytes = power(node.at(bytes), 64, std::uint64_t{1} << 30U);
  if (node.has(ways)) found.ways = power(node.at(ways), 1, std::uint64_t{1} << 24U);
  if (found.bytes / found.line < found.ways) {
    node.named(ways).refuse("must be at most the lines that the cache has, " +
                            std::to_string(found.bytes / found.line));
  }
  if (all.has("replacement")) {
    found.policy = all.at("replacement")
                       .one_of<layout::replacement>({{"lru", layout::replacement::least_recent},
                                                     {"random", layout::replacement::random}});
  }
  return found;
}

// Lists of name, address, bytes, and 1 if it is movable.
void read_procedures(const json_node& given, layout::trace& to) {
  for (std::size_t i = 0; i < given.length_of_list(); ++i) {
    const json_node each = given.at(i);
    to.procedures.push_back(
        {.name = each.at(std::size_t{0}).text(),
         .address = each.at(1).whole_number(0, input::most_exact),
         .bytes = static_cast<std::uint32_t>(each.at(2).whole_number(0, UINT32_MAX)),
         .movable = each.at(3).whole_number(0, 1) == 1});
  }
}

// Lists of two names and a weight. Those of procedures that are not movable do not count.
void read_weights(const json_node& given, request& to) {
  std::map<std::string, std::uint32_t> numbers;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> weights;  // of both directions
  for (std::uint32_t i = 0; i < to.unrecorded.procedures.size(); ++i) {
    if (to.unrecorded.procedures[i].movable) numbers[to.unrecorded.procedures[i].name] = i;
  }
  for (std::size_t i = 0; i < given.length_of_list(); ++i) {
    const json_node each = given.at(i);
    const auto one = numbers.find(each.at(std::size_t{0}).text());
    const auto other = numbers.find(each.at(1).text());
    if (one == numbers.end() || other == numbers.end() || one == other) continue;
    weights[std::minmax(one->second, other->second)] += each.at(2).number(0, 1e18);
  }
  for (const auto& [pair, weight] : weights) {
    to.weights.push_back({.a = pair.first, .b = pair.second, .weight = weight});
  }
}

request parse(const json& object) {
  const json_node node(object, "");
  node.require_keys({"protocol", "seed", "parameters"});
  node.at("protocol").require(1);
  request found;
  found.seed = node.at("seed").whole_number(0, input::most_exact);
  const json_node given = node.at("parameters");
  given.require_keys({}, {"trace",     "procedures", "weights",  "scheme",     "history",
                          "distinct",  "one_in",     "noise",    "expansion",  "l1_bytes",
                          "l1_ways",   "l2_bytes",   "l2_ways",  "line_bytes", "replacement",
                          "layouts",   "first",      "profiled", "draws",      "explained",
                          "addresses", "places",     "expands",  "calls",      "best_of"});
  if (given.has("procedures")) {
    if (!given.has("weights")) given.named("weights").refuse("is missing");
    read_procedures(given.at("procedures"), found.unrecorded);
    read_weights(given.at("weights"), found);
  } else {
    if (!given.has("trace")) given.named("trace").refuse("is missing");
    found.trace = given.at("trace").text();
  }
  if (given.has("profiled")) found.profiled = given.at("profiled").text();
  if (given.has("scheme")) {
    found.how = given.at("scheme").one_of<scheme>({{"linked", scheme::linked},
                                                   {"permuted", scheme::permuted},
                                                   {"random", scheme::scattered},
                                                   {"pettis_hansen", scheme::pettis_hansen},
                                                   {"conflicts", scheme::without_conflicts},
                                                   {"lines", scheme::lines},
                                                   {"placed", scheme::placed}});
  }
  if (given.has("history")) found.history.a = given.at("history").number(0, 0.99);
  if (given.has("distinct")) found.history.distinct = given.at("distinct").whole_number(0, 1) == 1;
  if (given.has("one_in")) {
    found.history.sampled.one_in =
        static_cast<std::uint32_t>(given.at("one_in").whole_number(1, 1 << 30));
  }
  if (given.has("noise")) found.noise = given.at("noise").number(0, assay::random::most_randomness);
  if (given.has("expansion")) found.expansion = given.at("expansion").number(0.25, 4);
  found.caches.first = shape(given, "l1_bytes", "l1_ways", found.caches.first, given);
  found.caches.second = shape(given, "l2_bytes", "l2_ways", found.caches.second, given);
  if (given.has("layouts")) found.layouts = given.at("layouts").whole_number(1, 1'000'000);
  if (given.has("first")) found.first = given.at("first").whole_number(0, 1'000'000);
  if (given.has("best_of")) found.best_of = given.at("best_of").whole_number(1, 10'000);
  if (given.has("draws")) found.draws = given.at("draws").whole_number(0, 1) == 1;
  if (given.has("explained")) found.explained = given.at("explained").whole_number(0, 1000);
  if (given.has("expands")) found.expands = given.at("expands").whole_number(0, 1) == 1;
  if (given.has("addresses")) found.addresses = given.at("addresses").whole_number(0, 1) == 1;
  if (given.has("calls")) found.calls = given.at("calls").whole_number(0, 1) == 1;
  if (found.caches.second.bytes < found.caches.first.bytes) {
    given.named("l2_bytes").refuse("must not be less than l1_bytes");
  }
  if (found.how == scheme::placed) {
    if (!given.has("places")) given.named("places").refuse("is missing");
    const json_node layouts = given.at("places");
    for (std::size_t i = 0; i < layouts.length_of_list(); ++i) {
      auto& places = found.places.emplace_back();
      for (std::size_t j = 0; j < layouts.at(i).length_of_list(); ++j) {
        const json_node each = layouts.at(i).at(j);
        places[each.at(std::size_t{0}).text()] = each.at(1).whole_number(0, input::most_exact);
      }
    }
    if (found.places.empty()) layouts.refuse("must have a layout");
    found.layouts = found.places.size();
    if (found.best_of != 1) given.named("best_of").refuse("goes without scheme placed");
  }
  return found;
}

// What costs follow from misses (Blackwell 1998, section 4.2).
struct costs {
  double miss_rate = 0;               // of the first cache, for an instruction
  double second_miss_rate = 0;        // of the second, for an instruction
  double memory_cycles = 0;           // for an instruction: 10 and 100 for a miss
  double cycles_per_instruction = 0;  // 0.5, and 5 and 50 for a miss
};

costs cost_of(const layout::misses& counted, std::uint64_t instructions) {
  const auto of = static_cast<double>(std::max<std::uint64_t>(instructions, 1));
  const double first = static_cast<double>(counted.first) / of;
  const double second = static_cast<double>(counted.second) / of;
  return {.miss_rate = first,
          .second_miss_rate = second,
          .memory_cycles = 10 * first + 100 * second,
          .cycles_per_instruction = 0.5 + 5 * first + 50 * second};
}

// Draws layouts by one scheme.
class drawer {
 public:
  drawer(const request& asked, const layout::trace& recorded) : asked_(asked), recorded_(recorded) {
    if (!asked.profiled.empty()) {
      other_ = layout::read_trace(asked.profiled);
      if (other_->build_id != recorded.build_id ||
          other_->procedures.size() != recorded.procedures.size()) {
        throw assay::bad_request(asked.profiled +
                                 ": was recorded from another build of the program than " +
                                 asked.trace + "; record both again");
      }
    }
    if (asked.history.sampled.one_in > 1) return;  // each layout has a profile of its own
    if (asked.how == scheme::lines) lines_ = layout::profile_lines(profiled(), asked.caches.first);
    if (asked.how == scheme::pettis_hansen || asked.how == scheme::without_conflicts) {
      edges_ = asked.trace.empty() ? asked.weights : layout::profile(profiled(), asked.history);
    }
  }

  // A factor of expansion. The range from 0.5 to 1.5 has as many parts as there are layouts, and
  // each layout has a factor within its part: a drawn one, or the middle if nothing is drawn.
  [[nodiscard]] double factor(std::uint64_t number) const {
    constexpr std::size_t steps = std::size_t{1} << 30U;
    const double within =
        asked_.draws ? static_cast<double>(of(number).named("factor of expansion").choose(steps)) /
                           static_cast<double>(steps)
                     : 0.5;
    return 0.5 + (static_cast<double>(number) + within) / static_cast<double>(asked_.layouts);
  }

  // The trace from which the profile comes.
  [[nodiscard]] const layout::trace& profiled() const { return other_ ? *other_ : recorded_; }

  // Draws `best_of` layouts, and returns the one with the least estimated cycles in that trace.
  [[nodiscard]] layout::addresses best(std::uint64_t number) const {
    const std::uint64_t first = asked_.first + number * asked_.best_of;
    layout::addresses found = draw(first);
    if (asked_.best_of == 1) return found;
    double least = std::numeric_limits<double>::infinity();
    for (std::uint64_t i = 0; i < asked_.best_of; ++i) {
      layout::addresses next = draw(first + i);
      const double cycles =
          cost_of(layout::replay(profiled(), next, asked_.caches), profiled().instructions)
              .cycles_per_instruction;
      if (cycles >= least) continue;
      least = cycles;
      found = std::move(next);
    }
    return found;
  }

 private:
  [[nodiscard]] layout::addresses draw(std::uint64_t number) const {
    const decisions drawn = of(number);
    switch (asked_.how) {
      case scheme::linked:
        return layout::as_linked(recorded_);
      case scheme::permuted:
        return layout::in_order(recorded_, layout::permuted(recorded_, drawn));
      case scheme::scattered:
        return layout::scattered(recorded_, asked_.caches, drawn);
      case scheme::placed:
        return placed(asked_.places[number - asked_.first]);
      case scheme::pettis_hansen:
        return layout::in_order(recorded_, layout::pettis_hansen(recorded_, weights(drawn), drawn));
      case scheme::lines:
        return layout::by_lines(recorded_, lines(drawn), asked_.caches.first, asked_.noise, drawn);
      case scheme::without_conflicts:
        break;
    }
    return layout::without_conflicts(recorded_, weights(drawn), asked_.caches.first, drawn);
  }

  // What is drawn for one layout.
  [[nodiscard]] decisions of(std::uint64_t number) const {
    return asked_.draws ? decisions(assay::random::derive_seed(asked_.seed, number))
                        : decisions::none();
  }

  [[nodiscard]] std::vector<layout::edge> weights(const decisions& drawn) const {
    if (asked_.history.sampled.one_in == 1) {
      return layout::noisy(recorded_, edges_, asked_.noise, drawn);
    }
    layout::history how = asked_.history;
    how.sampled = sampled(drawn);
    return layout::noisy(recorded_, layout::profile(profiled(), how), asked_.noise, drawn);
  }

  [[nodiscard]] layout::line_profile lines(const decisions& drawn) const {
    if (asked_.history.sampled.one_in == 1) return lines_;
    return layout::profile_lines(profiled(), asked_.caches.first, sampled(drawn));
  }

  [[nodiscard]] layout::sampling sampled(const decisions& drawn) const {
    layout::sampling how = asked_.history.sampled;
    how.offset = drawn.named("offset of samples").choose(how.one_in);
    return how;
  }

  [[nodiscard]] layout::addresses placed(const std::map<std::string, std::uint64_t>& places) const {
    layout::addresses where;
    for (const layout::procedure& each : recorded_.procedures) {
      const auto found = places.find(each.name);
      if (found == places.end()) {
        throw assay::bad_request("parameters.places: the new link has no " + each.name);
      }
      where.push_back(found->second);
    }
    return where;
  }

  const request& asked_;
  const layout::trace& recorded_;
  std::optional<layout::trace> other_;
  std::vector<layout::edge> edges_;
  layout::line_profile lines_;
};

json explained(const request& asked, const layout::trace& recorded,
               const layout::addresses& where) {
  const auto name = [&](std::uint32_t procedure) { return recorded.procedures[procedure].name; };
  json pairs = json::array();
  for (const layout::conflict& each :
       layout::conflicts(recorded, where, asked.caches, asked.expansion)) {
    if (pairs.size() == asked.explained) break;
    pairs.push_back(
        {{"missed", name(each.missed)}, {"taken_by", name(each.taken_by)}, {"times", each.times}});
  }
  const std::vector<layout::set_use> uses =
      layout::uses_of_sets(recorded, where, asked.caches, asked.expansion);
  std::map<std::uint32_t, std::uint64_t> accesses;  // of each procedure
  for (const layout::set_use& each : uses) accesses[each.procedure] += each.accesses;
  std::vector<std::uint64_t> sorted;
  for (const auto& [procedure, number] : accesses) sorted.push_back(number);
  std::ranges::sort(sorted, std::ranges::greater{});
  constexpr std::size_t shown = 30;  // procedures, as many as a picture has room for
  const std::uint64_t least = sorted.empty() ? 0 : sorted[std::min(shown, sorted.size()) - 1];
  json sets = json::array();
  for (const layout::set_use& each : uses) {
    if (accesses[each.procedure] < least) continue;
    sets.push_back({name(each.procedure), each.set, each.accesses, each.misses});
  }
  return {{"conflicts", pairs}, {"sets", sets}};
}

json answer(const request& asked) {
  const layout::trace recorded =
      asked.trace.empty() ? asked.unrecorded : layout::read_trace(asked.trace);
  const drawer drawn(asked, recorded);
  json layouts = json::array();
  json made_for = json::array();
  json factors = json::array();
  std::vector<double> miss_rates;
  std::vector<double> second_miss_rates;
  std::vector<double> memory;
  std::vector<double> cycles;
  layout::addresses last;
  for (std::uint64_t i = 0; i < asked.layouts; ++i) {
    last = drawn.best(i);
    layout::hierarchy caches = asked.caches;
    caches.seed = assay::random::derive_seed(asked.seed, ~(asked.first + i));
    const double factor = asked.expands ? drawn.factor(i) : asked.expansion;
    factors.push_back(factor);
    const layout::misses counted = layout::replay(recorded, last, caches, factor);
    const costs cost = cost_of(counted, recorded.instructions);
    layouts.push_back({counted.first, counted.second, cost.cycles_per_instruction});
    if (!asked.profiled.empty()) {
      const layout::trace& from = drawn.profiled();
      const layout::misses there = layout::replay(from, last, caches, asked.expansion);
      made_for.push_back(
          {there.first, there.second, cost_of(there, from.instructions).cycles_per_instruction});
    }
    miss_rates.push_back(cost.miss_rate);
    second_miss_rates.push_back(cost.second_miss_rate);
    memory.push_back(cost.memory_cycles);
    cycles.push_back(cost.cycles_per_instruction);
  }
  json details{{"instructions", recorded.instructions},
               {"outside", recorded.outside},
               {"build_id", recorded.build_id},
               {"layouts", layouts},
               {"factors", factors}};
  if (!asked.profiled.empty()) {
    details["made_for"] = {{"instructions", drawn.profiled().instructions}, {"layouts", made_for}};
  }
  if (asked.explained != 0) details.update(explained(asked, recorded, last));
  if (asked.addresses) {
    // Where there are gaps, only what is executed has a place of its own.
    std::vector<char> shown(recorded.procedures.size(), asked.gaps() ? 0 : 1);
    if (asked.gaps()) {
      for (const std::uint32_t each : layout::executed_procedures(drawn.profiled()))
        shown[each] = 1;
    }
    for (const std::uint32_t each : layout::order_of(last)) {
      if (shown[each] == 0) continue;
      details["addresses"].push_back({recorded.procedures[each].name, last[each]});
    }
  }
  if (asked.calls) {
    details["calls"] = json::array();
    const decisions noise(assay::random::derive_seed(asked.seed, asked.first));
    for (const layout::edge& each :
         layout::noisy(recorded, layout::calls(recorded), asked.noise, noise)) {
      details["calls"].push_back({recorded.procedures[each.a].name,
                                  recorded.procedures[each.b].name,
                                  static_cast<std::uint64_t>(each.weight)});
    }
  }
  return {{"protocol", 1},
          {"status", "valid"},
          {"metrics",
           {{"l1_misses_per_instruction", measure::median(miss_rates)},
            {"l2_misses_per_instruction", measure::median(second_miss_rates)},
            {"memory_cycles_per_instruction", measure::median(memory)},
            {"cycles_per_instruction", measure::median(cycles)}}},
          {"details", details}};
}

// The request that the words NAME=VALUE make.
json requested(std::uint64_t seed, const std::vector<std::string>& words) {
  json parameters = json::object();
  for (const std::string& word : words) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) throw assay::bad_request(word + ": must be NAME=VALUE");
    const std::string text = word.substr(sign + 1);
    json value = json::parse(text, nullptr, false);
    constexpr double most_whole = 1e15;
    if (value.is_number_float() && value.get<double>() >= 0 && value.get<double>() < most_whole &&
        value.get<double>() == std::floor(value.get<double>())) {
      value = static_cast<std::uint64_t>(value.get<double>());  // 1.0, as {noise} may be written
    }
    parameters[word.substr(0, sign)] = value.is_number() ? value : json(text);
  }
  return {{"protocol", std::uint64_t{1}}, {"seed", seed}, {"parameters", parameters}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Says what an execution costs in caches of instructions under layouts of its program: reads "
      "one request on standard input, and prints one result.",
      "assay-layouts");
  CLI::App* const record = app.add_subcommand("record", "Make a trace of what the plugin tells.");
  std::string program;
  std::string blocks;
  std::string executed;
  std::string output;
  record->add_option("--program", program, "JSON: its path, build id, procedures and code.")
      ->required();
  record->add_option("--blocks", blocks, "What the plugin writes of blocks.")->required();
  record->add_option("--executed", executed, "What the plugin writes of their execution.")
      ->required();
  record->add_option("--output", output, "The trace.")->required();
  CLI::App* const replay = app.add_subcommand("replay", "Take the request from the command line.");
  std::uint64_t seed = 0;
  std::vector<std::string> words;
  replay->add_option("--seed", seed, "Draw all from it.")->required();
  replay->add_option("PARAMETER", words, "NAME=VALUE, as trace=FILE.")->required();
  return input::run(app, argc, argv, [&] {
    if (replay->parsed()) {
      input::print(answer(parse(requested(seed, words))));
      return;
    }
    if (record->parsed()) {
      std::ifstream in(program);
      layout::record(json::parse(in), {.blocks = blocks, .executed = executed, .output = output});
      return;
    }
    input::print(answer(parse(input::parse_object(input::standard_input()))));
  });
}
