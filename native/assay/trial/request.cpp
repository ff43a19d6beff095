#include "assay/trial/request.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "assay/input/json.h"
#include "assay/random/engine.h"
#include "assay/trial/weights_file.h"
#include "assay/workload/check.h"
#include "assay/workload/operations.h"

namespace assay::trial {
namespace {

using input::json_node;
using nlohmann::json;
using subject::type_spec;
using workload::distribution;
using workload::distribution_kind;

constexpr std::uint64_t longest_array = 1'000'000'000;  // 8 GB for each thread
constexpr std::size_t most_roles = 32;
constexpr std::uint64_t most_keys = std::uint64_t{1} << 40;
// 0 is not a key. Sparse ones are spread over 31 bits; of dense ones, a structure that keeps a key
// and a value in one word, and a queue, whose keys grow, could not hold more.
constexpr std::uint64_t most_keys_of_32_bits = INT32_MAX;

workload::mix parse_mix(const json_node& node) {
  if (!node.value().is_object()) node.require_keys({});
  workload::mix mix{0, 0, 0};
  for (const auto* name : {"insert", "erase", "find"}) {
    if (!node.has(name)) node.named(name).refuse("is missing");
  }
  double sum = 0;
  for (const auto& [name, value] : node.value().items()) {
    const auto kind = workload::operation_named(name);
    if (!kind) node.refuse("no subject here offers " + input::shown(name));
    sum += mix.share(*kind) = node.at(name.c_str()).number(0, 100);
  }
  if (std::abs(sum - 100) > 1e-7) {
    node.refuse("the percentages must add to 100, not to " + json(sum).dump());
  }
  return mix;
}

random::engine_choice parse_engine(const json_node& node) {
  node.require_keys({"name"}, {"array", "reseed_every", "reseed_from"});
  random::engine_choice choice{.name = node.at("name").text()};
  const random::engine_facts* engine = nullptr;
  try {
    engine = &random::find_engine(choice.name);
  } catch (const random::unknown_engine& error) {
    node.at("name").refuse(error.what());
  }
  if (!engine->available) {
    node.at("name").refuse("this processor does not have " + input::shown(choice.name));
  }
  if (node.has("array")) choice.array = node.at("array").whole_number(1, longest_array);
  if (node.has("reseed_every")) {
    choice.reseed_every = node.at("reseed_every").whole_number(1, input::most_exact);
    if (engine->state_bits == 0) {
      node.at("reseed_every")
          .refuse(choice.name + " has no state of its own that could be reseeded");
    }
    if (engine->shared) {
      node.at("reseed_every")
          .refuse("all threads draw from the one state of " + choice.name +
                  ", which none of them can seed anew");
    }
  }
  if (node.has("reseed_from")) {
    choice.reseed_from = node.at("reseed_from").text();
    try {
      check(choice, *engine);
    } catch (const std::invalid_argument& error) {
      node.refuse(error.what());
    }
  }
  return choice;
}

std::vector<double> parse_file(const json_node& node) {
  const std::string& digest = node.at("digest").text();
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digest.size() != 18 || !digest.starts_with("0x") ||
      !std::ranges::all_of(digest.begin() + 2, digest.end(), is_digit)) {
    node.at("digest").refuse("must be 0x and 16 hexadecimal digits, not " + input::shown(digest));
  }
  const json_node file = node.at("file");
  try {
    return read_weights(file.text(), digest);
  } catch (const std::invalid_argument& error) {
    file.refuse(input::shown(file.text()) + ": " + error.what());
  }
}

distribution parse_distribution(const json_node& node) {
  if (!node.value().is_object()) node.require_keys({});
  if (!node.has("kind")) node.named("kind").refuse("is missing");
  distribution keys;
  keys.kind = node.at("kind").one_of<distribution_kind>({
      {"uniform", distribution_kind::uniform},
      {"zipf", distribution_kind::zipf},
      {"hot_set", distribution_kind::hot_set},
      {"binomial", distribution_kind::binomial},
      {"exponential", distribution_kind::exponential},
      {"normal", distribution_kind::normal},
      {"empirical", distribution_kind::empirical},
      {"sequential", distribution_kind::sequential},
      {"latest", distribution_kind::latest},
  });
  switch (keys.kind) {
    case distribution_kind::uniform:
    case distribution_kind::sequential:
      node.require_keys({"kind"});
      return keys;
    case distribution_kind::latest:
      node.require_keys({"kind", "exponent"});
      keys.exponent = node.at("exponent").number();
      return keys;
    case distribution_kind::zipf:
      node.require_keys({"kind", "exponent"}, {"order"});
      keys.exponent = node.at("exponent").number();
      keys.scrambled = true;
      break;
    case distribution_kind::hot_set:
      node.require_keys({"kind", "operations_percent", "keys_percent"}, {"order"});
      keys.operations_percent = node.at("operations_percent").number();
      keys.keys_percent = node.at("keys_percent").number();
      keys.scrambled = true;
      break;
    case distribution_kind::binomial:
      node.require_keys({"kind", "p"}, {"order"});
      keys.p = node.at("p").number();
      break;
    case distribution_kind::exponential:
      node.require_keys({"kind", "mean_percent"}, {"order"});
      keys.mean_percent = node.at("mean_percent").number();
      break;
    case distribution_kind::normal:
      node.require_keys({"kind", "mean_percent", "deviation_percent"}, {"order"});
      keys.mean_percent = node.at("mean_percent").number();
      keys.deviation_percent = node.at("deviation_percent").number();
      break;
    case distribution_kind::empirical:
      node.require_keys({"kind", "file", "digest"}, {"order"});
      keys.weights = parse_file(node);
      break;
  }
  if (node.has("order")) {
    keys.scrambled = node.at("order").one_of<bool>({{"scrambled", true}, {"ordered", false}});
  }
  return keys;
}

// A fixed number, or one drawn between two: 16, or {"from": 8, "to": 64}.
std::pair<std::uint64_t, std::uint64_t> parse_span(const json_node& node, std::uint64_t least,
                                                   std::uint64_t most) {
  if (!node.value().is_object()) {
    const std::uint64_t number = node.whole_number(least, most);
    return {number, number};
  }
  node.require_keys({"from", "to"});
  const std::uint64_t from = node.at("from").whole_number(least, most);
  return {from, node.at("to").whole_number(from, most)};
}

// A distribution of what has nothing to do with the order of operations.
distribution parse_drawn(const json_node& node, std::uint64_t numbers) {
  distribution by = parse_distribution(node);
  if (by.kind == distribution_kind::sequential || by.kind == distribution_kind::latest) {
    node.at("kind").refuse(
        "must be one that does not follow the operations, such as \"zipf\", not " +
        input::shown(node.at("kind").value()));
  }
  // What is drawn most often is what is least, unless it is to be scrambled.
  if (!node.has("order")) by.scrambled = false;
  try {
    workload::check(by, numbers);
  } catch (const std::invalid_argument& error) {
    node.refuse(error.what());
  }
  return by;
}

// {"from": 8, "to": 64}, each as likely or by a "distribution".
std::optional<drawing> parse_drawing(const json_node& node, std::uint64_t least,
                                     std::uint64_t most) {
  node.require_keys({"from", "to"}, {"distribution"});
  const std::uint64_t from = node.at("from").whole_number(least, most);
  drawing drawn{.from = from, .to = node.at("to").whole_number(from, most)};
  if (node.has("distribution")) {
    drawn.by = parse_drawn(node.at("distribution"), drawn.to - from + 1);
  }
  return drawn;
}

struct described {
  type_spec type;
  std::optional<drawing> drawn{};
};

// Keys have 8 bytes at least, which tell them apart, and may begin alike; values that are numbers
// may be drawn.
described parse_datum(const json_node& node, bool for_keys) {
  using enum type_spec::kind;
  const std::uint64_t fewest_bytes = for_keys ? 8 : 0;
  constexpr std::uint64_t most_bytes = 4096;
  if (!node.value().is_object()) {
    return {{.type = node.one_of<type_spec::kind>({{"uint64", uint64}, {"uint32", uint32}},
                                                  R"( or {"bytes": ...})")}};
  }
  for (const auto& [name, kind, most] : {std::tuple("uint64", uint64, most_keys - 1),
                                         std::tuple("uint32", uint32, UINT64_C(0xffffffff))}) {
    if (for_keys || !node.has(name)) continue;
    node.require_keys({name});
    return {{.type = kind}, parse_drawing(node.at(name), 0, most)};
  }
  if (for_keys) {
    node.require_keys({"bytes"}, {"prefix"});
  } else {
    node.require_keys({"bytes"});
  }
  const json_node lengths = node.at("bytes");
  std::optional<drawing> drawn;
  if (lengths.value().is_object() && lengths.has("distribution")) {
    drawn = parse_drawing(lengths, fewest_bytes, most_bytes);
  }
  const auto [least, most] =
      drawn ? std::pair(drawn->from, drawn->to) : parse_span(lengths, fewest_bytes, most_bytes);
  const std::uint64_t prefix =
      node.has("prefix") ? node.at("prefix").whole_number(0, least - fewest_bytes) : 0;
  return {{.type = bytes,
           .least = static_cast<std::uint32_t>(least),
           .most = static_cast<std::uint32_t>(most),
           .prefix = static_cast<std::uint32_t>(prefix)},
          drawn};
}

struct ranges {
  workload::range_lengths lengths;
  workload::fold fold = workload::fold::count;
};

workload::range_lengths parse_lengths(const json_node& node, std::uint64_t key_range) {
  if (node.value() == "all") return {key_range, key_range};
  if (node.value().is_string()) {
    node.refuse(R"(must be a number of keys, {"from": ..., "to": ...} or "all", not )" +
                input::shown(node.value()));
  }
  const auto [least, most] = parse_span(node, 1, most_keys);
  return {least, most};
}

ranges parse_ranges(const json_node& node, std::uint64_t key_range) {
  node.require_keys({"length"}, {"fold"});
  ranges ranges;
  ranges.lengths = parse_lengths(node.at("length"), key_range);
  if (node.has("fold")) {
    ranges.fold = node.at("fold").one_of<workload::fold>(
        {{"count", workload::fold::count}, {"sum", workload::fold::sum}});
  }
  return ranges;
}

arrivals parse_arrivals(const json_node& node) {
  constexpr double highest_rate = 1e12;
  node.require_keys({"rate", "spacing"});
  arrivals arrivals{.rate = node.at("rate").number()};
  if (!(arrivals.rate > 0 && arrivals.rate <= highest_rate)) {
    node.at("rate").refuse(
        "must be a number of operations a second above 0 and at most 1e12, not " +
        input::shown(node.at("rate").value()));
  }
  arrivals.spacing =
      node.at("spacing").one_of<spacing>({{"poisson", spacing::poisson}, {"even", spacing::even}});
  return arrivals;
}

latency_sampling parse_latency(const json_node& node) {
  if (node.value() == "none") return 0;
  if (node.value() == "all") return 1;
  if (!node.value().is_number()) {
    node.refuse(R"(must be "none", "all" or a number N for one operation in N, not )" +
                input::shown(node.value()));
  }
  if (node.value() == 1) node.refuse(R"(must be "all", not 1, to take that of every operation)");
  return static_cast<latency_sampling>(node.whole_number(2, 1'000'000'000));
}

// A role's name becomes part of the names of metrics, which have at most 64 characters.
std::string parse_role_name(const json_node& node) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const std::string& name = node.text();
  const bool good = !name.empty() && name.size() <= 32 && lower(name[0]) &&
                    std::ranges::all_of(name, [&](char c) {
                      return lower(c) || (c >= '0' && c <= '9') || c == '_';
                    });
  if (!good) {
    node.refuse("must be at most 32 lower-case letters, digits and _, a letter first, not " +
                input::shown(node.value()));
  }
  return name;
}

// What the request and its roles may both say of threads; `role` holds what was said so far.
void parse_work(const json_node& node, std::uint64_t key_range, role& role) {
  if (node.has("mix")) role.work.mix = parse_mix(node.at("mix"));
  if (node.has("distribution")) {
    role.work.keys = parse_distribution(node.at("distribution"));
    try {
      workload::check(role.work.keys, key_range);
    } catch (const std::invalid_argument& error) {
      node.at("distribution").refuse(error.what());
    }
  }
  if (node.has("range")) {
    const ranges ranges = parse_ranges(node.at("range"), key_range);
    role.work.lengths = ranges.lengths;
    role.fold = ranges.fold;
  }
  if (node.has("arrivals")) role.arrivals = parse_arrivals(node.at("arrivals"));
}

// Threads of a role assume that the others insert and erase as they do, and do not know other
// roles' threads: two roles would insert the same keys, and one that inserts nothing would search
// for what was there at first.
void check_latest(const json_node& list, std::span<const role> roles) {
  const auto draws_latest = [](const role& role) {
    return role.work.keys.kind == distribution_kind::latest;
  };
  const auto by = std::ranges::find_if(roles, draws_latest);
  if (by == roles.end() || roles.size() == 1) return;
  const auto node_of = [&](auto role) {
    return list.at(static_cast<std::size_t>(role - roles.begin()));
  };
  if (by->work.mix.insert == 0) {
    node_of(by).refuse(
        "draws the latest keys and inserts none; give it inserts, or another distribution");
  }
  for (auto other = roles.begin(); other != roles.end(); ++other) {
    if (other == by) continue;
    if (draws_latest(*other)) {
      node_of(other).refuse("draws the latest keys, as " + input::shown(by->name) +
                            " does, and neither would know of the other's; give one of them "
                            "another distribution, or make them one role");
    }
    if (other->work.mix.insert > 0 || other->work.mix.erase > 0) {
      node_of(other).refuse("inserts or erases, but " + input::shown(by->name) +
                            " draws the latest keys and would not know of it; leave updates to " +
                            input::shown(by->name) + ", or give that another distribution");
    }
  }
}

// A number of keys, `size` or `percent` of all, if it is given.
std::optional<std::uint64_t> parse_size(const json_node& node, std::uint64_t key_range) {
  if (node.has("size") && node.has("percent")) node.refuse("has both size and percent; give one");
  if (node.has("size")) return node.at("size").whole_number(0, key_range);
  if (!node.has("percent")) return std::nullopt;
  const double percent = node.at("percent").number(0, 100);
  return std::llround(static_cast<double>(key_range) * percent / 100);
}

filling parse_prefill(const json_node& node, std::uint64_t key_range, std::span<const role> roles) {
  using method = filling::method;
  node.require_keys({}, {"method", "size", "percent", "threads"});
  filling filling{.size = parse_size(node, key_range)};
  if (node.has("method")) {
    filling.filled_by = node.at("method").one_of<method>({{"updates", method::updates},
                                                          {"inserts", method::inserts},
                                                          {"sorted", method::sorted},
                                                          {"none", method::none}});
  }
  unsigned threads = 0;
  for (const auto& role : roles) threads += role.threads;
  if (node.has("threads")) {
    filling.threads = static_cast<unsigned>(node.at("threads").whole_number(1, threads));
  }
  if (filling.filled_by == method::none && (filling.size || filling.threads)) {
    node.refuse(R"(has the method "none" and says more; leave that out)");
  }
  const auto draws_latest = [](const role& role) {
    return role.work.keys.kind == distribution_kind::latest;
  };
  if ((filling.filled_by || filling.size) && std::ranges::any_of(roles, draws_latest)) {
    node.refuse(
        "must leave method and size out where the latest keys are drawn, as these say which keys "
        "are held at first");
  }
  return filling;
}

phase parse_phase(const json_node& node, std::uint64_t key_range) {
  using kind = phase::kind;
  node.require_keys({"kind"}, {"size", "percent", "order"});
  phase phase{.what = node.at("kind").one_of<kind>(
                  {{"load", kind::load}, {"grow", kind::grow}, {"drain", kind::drain}}),
              .size = parse_size(node, key_range)};
  if (phase.size && phase.what == kind::drain) {
    node.refuse("drains all that is held; leave size and percent out");
  }
  if (phase.size == 0) node.refuse("is about no key at all; give it a larger size or percent");
  phase.sorted =
      node.has("order") && node.at("order").one_of<bool>({{"random", false}, {"sorted", true}});
  return phase;
}

std::vector<role> parse_roles(const json_node& request, std::uint64_t key_range) {
  const auto threads = static_cast<unsigned>(request.at("threads").whole_number(1, 4096));
  role common{.threads = threads};
  if (request.has("engine")) common.work.engine = parse_engine(request.at("engine"));
  if (request.has("draws")) {
    common.work.draws = request.at("draws").one_of<workload::draws>(
        {{"one", workload::draws::one}, {"two", workload::draws::two}});
  }
  if (request.has("bounding")) {
    common.work.bounding =
        request.at("bounding")
            .one_of<workload::bounding>({{"multiply", workload::bounding::multiply},
                                         {"modulo", workload::bounding::modulo}});
  }
  parse_work(request, key_range, common);
  if (!request.has("roles")) {
    if (!request.has("mix") && !request.has("phase")) request.named("mix").refuse("is missing");
    return {common};
  }

  const json_node list = request.at("roles");
  const std::size_t length = list.length_of_list();
  if (length == 0) list.refuse("is empty; name a role, or leave the key out");
  if (length > most_roles) {
    list.refuse("must be at most " + std::to_string(most_roles) + ", not " +
                std::to_string(length));
  }
  std::vector<role> roles;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const json_node node = list.at(i);
    node.require_keys({"name", "threads"}, {"mix", "distribution", "range", "arrivals"});
    role role = common;
    role.name = parse_role_name(node.at("name"));
    if (std::ranges::find(roles, role.name, &role::name) != roles.end()) {
      node.at("name").refuse(input::shown(role.name) + " is the name of an earlier role too");
    }
    role.threads = static_cast<unsigned>(node.at("threads").whole_number(1, 4096));
    sum += role.threads;
    if (!request.has("mix") && !node.has("mix")) {
      node.named("mix").refuse("is missing, and the request has none for all roles");
    }
    parse_work(node, key_range, role);
    roles.push_back(std::move(role));
  }
  if (sum != threads) {
    request.at("threads").refuse("must be the sum of all roles' threads, " + std::to_string(sum) +
                                 ", not " + std::to_string(threads));
  }
  check_latest(list, roles);
  return roles;
}

std::vector<operation_counts> parse_operations(const json_node& node, unsigned threads) {
  const std::size_t length = node.length_of_list();
  if (length != threads) {
    node.refuse("must be one pair for each of " + std::to_string(threads) + " threads, not " +
                std::to_string(length));
  }
  std::vector<operation_counts> counts;
  for (std::size_t i = 0; i < length; ++i) {
    const json_node pair = node.at(i);
    if (pair.length_of_list() != 2) {
      pair.refuse("must be [operations in the warm-up, measured operations], not " +
                  std::to_string(pair.length_of_list()) + " numbers");
    }
    counts.push_back({.warm_up = pair.at(std::size_t{0}).whole_number(0, input::most_exact),
                      .measured = pair.at(1).whole_number(0, input::most_exact)});
  }
  return counts;
}

std::chrono::milliseconds milliseconds(const json_node& node, std::uint64_t least,
                                       std::uint64_t most) {
  return std::chrono::milliseconds(node.whole_number(least, most));
}

}  // namespace

request parse_request(std::string_view text) {
  constexpr std::uint64_t hour_ms = 3'600'000;
  const json object = input::parse_object(text);
  const json_node node(object, "");
  node.require_keys(
      {"protocol", "subject", "seed", "threads", "pinning", "key_range", "keys", "duration_ms",
       "interval_ms"},
      {"mix",        "warm_up_ms", "engine",    "draws",         "bounding", "distribution",
       "key_type",   "value_type", "range",     "arrivals",      "latency",  "batch",
       "probes",     "events",     "allocator", "memory_policy", "roles",    "perturbation",
       "operations", "prefill",    "phase",     "transactions"});
  node.at("protocol").require(1);
  const std::uint64_t key_range = node.at("key_range").whole_number(2, most_keys);
  request request{
      .subject = node.at("subject").text(),
      .seed = node.at("seed").whole_number(0, input::most_exact),
      .pinning = host::parse_pinning(object.at("pinning")),
      .key_range = key_range,
      .keys = node.at("keys").one_of<workload::key_layout>(
          {{"dense", workload::key_layout::dense}, {"sparse", workload::key_layout::sparse}}),
      .roles = parse_roles(node, key_range),
      .duration = milliseconds(node.at("duration_ms"), 1, hour_ms),
      .interval = milliseconds(node.at("interval_ms"), 1, 60'000),
  };
  if (node.has("prefill")) {
    request.prefill = parse_prefill(node.at("prefill"), key_range, request.roles);
  }
  if (node.has("phase")) {
    for (const auto* key : {"mix", "distribution", "range", "arrivals", "roles", "warm_up_ms"}) {
      if (node.has(key)) node.at(key).refuse("does not go with a phase; leave one of them out");
    }
    request.phase = parse_phase(node.at("phase"), key_range);
    const bool drains = request.phase->what == phase::kind::drain;
    request.roles[0].work.mix = drains ? workload::mix{0, 100, 0} : workload::mix{100, 0, 0};
    if (request.phase->what == phase::kind::load) {
      if (node.has("prefill") && request.prefill.filled_by != filling::method::none) {
        node.at("prefill").refuse("does not go with a load, which begins empty; leave it out");
      }
      request.prefill.filled_by = filling::method::none;
    }
  }
  if (node.has("warm_up_ms")) request.warm_up = milliseconds(node.at("warm_up_ms"), 0, hour_ms);
  // Keys are numbers of 63 bits, which a string of 8 bytes can tell apart.
  if (node.has("key_type")) {
    const auto [type, drawn] = parse_datum(node.at("key_type"), true);
    request.key = type;
    request.key_lengths = drawn;
  }
  if (node.has("value_type")) {
    const auto [type, drawn] = parse_datum(node.at("value_type"), false);
    request.value = type;
    request.values = drawn;
  }
  if (request.key.type == type_spec::kind::uint32 && request.key_range > most_keys_of_32_bits) {
    node.at("key_type")
        .refuse("uint32 has " + std::to_string(most_keys_of_32_bits) +
                " keys, fewer than the key range of " + std::to_string(request.key_range));
  }
  if (node.has("latency")) request.latency = parse_latency(node.at("latency"));
  if (node.has("batch")) {
    request.batch = node.at("batch").whole_number(1, workload::operation_batch::capacity);
  }
  if (node.has("probes")) request.probes = node.at("probes").boolean();
  if (node.has("events")) request.events = measure::parse_events(node.at("events"));
  if (node.has("allocator")) {
    request.allocator = measure::parse_allocator(node.at("allocator"));
  }
  if (node.has("transactions")) {
    request.transactions = measure::parse_transactions(node.at("transactions"));
  }
  if (node.has("memory_policy")) {
    request.memory_policy = measure::parse_memory_policy(node.at("memory_policy"));
  }
  if (node.has("perturbation")) {
    request.perturbation = measure::parse_perturbation(node.at("perturbation"));
  }
  if (node.has("operations")) {
    request.operations = parse_operations(node.at("operations"), request.threads());
  }
  return request;
}

}  // namespace assay::trial
