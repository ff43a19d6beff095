#include "assay/trial/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/trial/weights_file.h"

namespace assay::trial {
namespace {

using nlohmann::json;
using subject::type_spec;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

json good() {
  return json::parse(R"({"protocol": 1, "subject": "noop", "seed": 9007199254740991, "threads": 4,
    "pinning": [1, 0], "key_range": 20000, "keys": "sparse",
    "mix": {"insert": 20.5, "erase": 9.5, "find": 70}, "duration_ms": 200, "interval_ms": 10})");
}

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(parse_request(text));
  } catch (const bad_request& error) {
    return error.what();
  }
  return "";
}

TEST(parse_request, reads_every_key) {
  const request request = parse_request(good().dump());
  EXPECT_EQ(request.subject, "noop");
  EXPECT_EQ(request.seed, 9007199254740991U);
  EXPECT_EQ(request.roles[0].threads, 4U);
  EXPECT_EQ(request.pinning.kind, host::pinning::policy::list);
  EXPECT_EQ(request.pinning.processors, (std::vector<unsigned>{1, 0}));
  EXPECT_EQ(request.key_range, 20'000U);
  EXPECT_EQ(request.keys, workload::key_layout::sparse);
  EXPECT_EQ(request.roles[0].work.mix.insert, 20.5);
  EXPECT_EQ(request.roles[0].work.mix.erase, 9.5);
  EXPECT_EQ(request.roles[0].work.mix.find, 70);
  EXPECT_EQ(request.warm_up.count(), 0);
  EXPECT_EQ(request.duration.count(), 200);
  EXPECT_EQ(request.interval.count(), 10);
}

TEST(parse_request, without_optional_keys_asks_for_the_plain_trial) {
  const request request = parse_request(good().dump());
  ASSERT_EQ(request.roles.size(), 1U);
  const role& all = request.roles[0];
  EXPECT_EQ(all.name, "all");
  EXPECT_EQ(all.work.engine, random::engine_choice());
  EXPECT_EQ(all.work.draws, workload::draws::one);
  EXPECT_EQ(all.work.bounding, workload::bounding::multiply);
  EXPECT_EQ(all.work.keys, workload::distribution());
  EXPECT_EQ(all.work.lengths, workload::range_lengths());
  EXPECT_EQ(all.fold, workload::fold::count);
  EXPECT_FALSE(all.arrivals);
  EXPECT_EQ(request.key.type, type_spec::kind::uint64);
  EXPECT_EQ(request.value.type, type_spec::kind::uint64);
  EXPECT_EQ(request.latency, 0U);
  EXPECT_FALSE(request.batch);
  EXPECT_TRUE(request.probes);
  EXPECT_EQ(request.allocator, "");
  EXPECT_EQ(request.memory_policy, "");
  EXPECT_EQ(request.perturbation.stack_bytes, 0U);
  EXPECT_EQ(request.perturbation.heap_bytes, 0U);
  EXPECT_FALSE(request.perturbation.thread_order);
  EXPECT_FALSE(request.perturbation.placement);
  EXPECT_TRUE(request.operations.empty());
}

// The request with one more key.
request parsed_with(const char* key, const char* value) {
  json request = good();
  request[key] = json::parse(value);
  return parse_request(request.dump());
}

TEST(parse_request, takes_an_engine_and_how_it_is_used) {
  const auto engine_of = [](const char* value) {
    return parsed_with("engine", value).roles[0].work.engine;
  };
  EXPECT_EQ(engine_of(R"({"name": "xoshiro256pp"})"), random::engine_choice());
  EXPECT_EQ(engine_of(R"({"name": "xoshiro256pp", "array": 10, "reseed_every": 3})"),
            (random::engine_choice{"xoshiro256pp", 10, 3}));
  EXPECT_EQ(parsed_with("draws", "\"two\"").roles[0].work.draws, workload::draws::two);
  EXPECT_EQ(parsed_with("draws", "\"one\"").roles[0].work.draws, workload::draws::one);
  EXPECT_EQ(parsed_with("bounding", "\"modulo\"").roles[0].work.bounding,
            workload::bounding::modulo);
  EXPECT_EQ(parsed_with("bounding", "\"multiply\"").roles[0].work.bounding,
            workload::bounding::multiply);
}

TEST(parse_request, takes_every_distribution) {
  using workload::distribution_kind;
  const auto keys_of = [](const char* value) {
    return parsed_with("distribution", value).roles[0].work.keys;
  };
  const auto expect_order = [&](const std::string& value, bool scrambled) {
    EXPECT_EQ(keys_of(value.c_str()).scrambled, scrambled) << value;
    for (const bool other : {false, true}) {
      const std::string order = other ? "scrambled" : "ordered";
      std::string ordered = value;
      ordered.insert(1, "\"order\": \"" + order + "\", ");
      EXPECT_EQ(keys_of(ordered.c_str()).scrambled, other) << ordered;
    }
  };
  EXPECT_EQ(keys_of(R"({"kind": "uniform"})"), workload::distribution());

  const auto zipf = keys_of(R"({"kind": "zipf", "exponent": 1.25})");
  EXPECT_EQ(zipf.kind, distribution_kind::zipf);
  EXPECT_EQ(zipf.exponent, 1.25);
  expect_order(R"({"kind": "zipf", "exponent": 0})", true);

  const auto hot = keys_of(R"({"kind": "hot_set", "operations_percent": 80, "keys_percent": 5})");
  EXPECT_EQ(hot.kind, distribution_kind::hot_set);
  EXPECT_EQ(hot.operations_percent, 80);
  EXPECT_EQ(hot.keys_percent, 5);
  expect_order(R"({"kind": "hot_set", "operations_percent": 90, "keys_percent": 1})", true);

  const auto binomial = keys_of(R"({"kind": "binomial", "p": 0.25})");
  EXPECT_EQ(binomial.kind, distribution_kind::binomial);
  EXPECT_EQ(binomial.p, 0.25);
  expect_order(R"({"kind": "binomial", "p": 0.5})", false);

  const auto exponential = keys_of(R"({"kind": "exponential", "mean_percent": 7})");
  EXPECT_EQ(exponential.kind, distribution_kind::exponential);
  EXPECT_EQ(exponential.mean_percent, 7);
  expect_order(R"({"kind": "exponential", "mean_percent": 7})", false);

  const auto normal = keys_of(R"({"kind": "normal", "mean_percent": 40, "deviation_percent": 3})");
  EXPECT_EQ(normal.kind, distribution_kind::normal);
  EXPECT_EQ(normal.mean_percent, 40);
  EXPECT_EQ(normal.deviation_percent, 3);
  expect_order(R"({"kind": "normal", "mean_percent": 40, "deviation_percent": 3})", false);

  EXPECT_EQ(keys_of(R"({"kind": "sequential"})").kind, distribution_kind::sequential);
  const auto latest = keys_of(R"({"kind": "latest", "exponent": 0.5})");
  EXPECT_EQ(latest.kind, distribution_kind::latest);
  EXPECT_EQ(latest.exponent, 0.5);
}

// A file of weights that goes with the test that wrote it.
class file_of_weights {
 public:
  explicit file_of_weights(const std::string& text)
      : path_(::testing::TempDir() + "assay_request_test_" + std::to_string(::getpid())) {
    std::ofstream(path_) << text;
  }
  ~file_of_weights() { std::remove(path_.c_str()); }
  file_of_weights(const file_of_weights&) = delete;
  file_of_weights& operator=(const file_of_weights&) = delete;

  [[nodiscard]] json distribution(const std::string& digest) const {
    return {{"kind", "empirical"}, {"file", path_}, {"digest", digest}};
  }

 private:
  std::string path_;
};

TEST(parse_request, reads_the_file_of_an_empirical_distribution_with_the_right_digest) {
  const std::string text = "# weights\n1\n\n2.5\n0\n";
  const file_of_weights file(text);
  json request = good();
  request["distribution"] = file.distribution(digest_of(text));
  const auto keys = parse_request(request.dump()).roles[0].work.keys;
  EXPECT_EQ(keys.kind, workload::distribution_kind::empirical);
  EXPECT_EQ(keys.weights, (std::vector<double>{1, 2.5, 0}));
  EXPECT_FALSE(keys.scrambled);

  request["distribution"]["digest"] = digest_of("other");
  EXPECT_THAT(refusal_of(request.dump()),
              AllOf(StartsWith("distribution.file: "), HasSubstr("has the digest 0x"),
                    HasSubstr(digest_of("other"))));
  request["distribution"]["digest"] = "0x12";
  EXPECT_THAT(refusal_of(request.dump()), StartsWith("distribution.digest: "));
  request["distribution"] = file.distribution(digest_of(text));
  request["distribution"]["file"] = "/nowhere/at/all";
  EXPECT_THAT(refusal_of(request.dump()),
              AllOf(StartsWith("distribution.file: "), HasSubstr("cannot be read")));
  request["distribution"]["file"] = "/";
  EXPECT_THAT(refusal_of(request.dump()),
              AllOf(StartsWith("distribution.file: "), HasSubstr("cannot be read")));
}

TEST(parse_request, refuses_a_file_without_weights_or_with_negative_ones) {
  for (const std::string text : {"", "# nothing\n", "1\n-2\n", "0\n0\n", "1\nx\n"}) {
    const file_of_weights file(text);
    json request = good();
    request["distribution"] = file.distribution(digest_of(text));
    EXPECT_THAT(refusal_of(request.dump()), StartsWith("distribution.file: ")) << text;
  }
}

TEST(parse_request, takes_types_of_keys_and_values) {
  const auto key = [](const char* value) { return parsed_with("key_type", value).key; };
  EXPECT_EQ(key("\"uint32\"").type, type_spec::kind::uint32);
  EXPECT_EQ(key("\"uint64\"").type, type_spec::kind::uint64);
  EXPECT_EQ(key(R"({"bytes": 16})").type, type_spec::kind::bytes);
  EXPECT_EQ(key(R"({"bytes": 16})").least, 16U);
  EXPECT_EQ(key(R"({"bytes": 16})").most, 16U);
  EXPECT_EQ(key(R"({"bytes": {"from": 8, "to": 4096}})").least, 8U);
  EXPECT_EQ(key(R"({"bytes": {"from": 8, "to": 4096}})").most, 4096U);
  EXPECT_EQ(key(R"({"bytes": 16})").prefix, 0U);
  EXPECT_EQ(key(R"({"bytes": {"from": 30, "to": 40}, "prefix": 22})").prefix, 22U);
  const type_spec value = parsed_with("value_type", R"({"bytes": {"from": 0, "to": 4096}})").value;
  EXPECT_EQ(value.type, type_spec::kind::bytes);
  EXPECT_EQ(value.least, 0U);
  EXPECT_EQ(value.most, 4096U);
  EXPECT_EQ(parsed_with("value_type", "\"uint32\"").value.type, type_spec::kind::uint32);
}

TEST(parse_request, takes_distributions_of_lengths_and_of_values) {
  const auto lengths = parsed_with("key_type", R"({"bytes": {"from": 8, "to": 64,
                      "distribution": {"kind": "zipf", "exponent": 1.5}}})");
  EXPECT_EQ(lengths.key.least, 8U);
  EXPECT_EQ(lengths.key.most, 64U);
  EXPECT_EQ(lengths.key_lengths->from, 8U);
  EXPECT_EQ(lengths.key_lengths->to, 64U);
  EXPECT_EQ(lengths.key_lengths->by.exponent, 1.5);
  EXPECT_FALSE(lengths.key_lengths->by.scrambled);
  const auto numbers = parsed_with("value_type", R"({"uint32": {"from": 3, "to": 4294967295}})");
  EXPECT_EQ(numbers.value.type, type_spec::kind::uint32);
  EXPECT_EQ(numbers.values->to, 4'294'967'295U);
  EXPECT_EQ(numbers.values->by.kind, workload::distribution_kind::uniform);
  EXPECT_FALSE(parsed_with("value_type", R"({"bytes": {"from": 0, "to": 9}})").values);
}

TEST(parse_request, refuses_distributions_that_follow_the_operations_or_do_not_fit) {
  json request = good();
  const auto refusal = [&](const char* value) {
    request["value_type"] = json::parse(value);
    return refusal_of(request.dump());
  };
  for (const auto* kind : {R"({"kind": "sequential"})", R"({"kind": "latest", "exponent": 1})"}) {
    const std::string type =
        R"({"uint64": {"from": 1, "to": 9, "distribution": )" + std::string(kind) + "}}";
    EXPECT_THAT(
        refusal(type.c_str()),
        StartsWith("value_type.uint64.distribution.kind: must be one that does not follow"));
  }
  EXPECT_THAT(refusal(R"({"uint32": {"from": 1, "to": 4294967296}})"),
              StartsWith("value_type.uint32.to: "));
  EXPECT_THAT(refusal(R"({"uint64": {"from": 9, "to": 8}})"), StartsWith("value_type.uint64.to: "));
  EXPECT_THAT(refusal(R"({"uint64": 8})"), StartsWith("value_type.uint64: "));
}

TEST(parse_request, reads_how_the_map_is_filled) {
  json request = good();
  EXPECT_FALSE(parse_request(request.dump()).prefill.filled_by);
  request["prefill"] = {{"method", "sorted"}, {"percent", 25}, {"threads", 3}};
  const filling filling = parse_request(request.dump()).prefill;
  EXPECT_EQ(filling.filled_by, filling::method::sorted);
  EXPECT_EQ(filling.size, 5000U);
  EXPECT_EQ(filling.threads, 3U);
  request["prefill"] = {{"size", 20000}};
  EXPECT_EQ(parse_request(request.dump()).prefill.size, 20'000U);

  const auto refusal = [&](const json& value) {
    request["prefill"] = value;
    return refusal_of(request.dump());
  };
  EXPECT_THAT(refusal({{"size", 20001}}), StartsWith("prefill.size: "));
  EXPECT_THAT(refusal({{"percent", 101}}), StartsWith("prefill.percent: "));
  EXPECT_THAT(refusal({{"threads", 5}}), StartsWith("prefill.threads: "));
  EXPECT_THAT(refusal({{"size", 1}, {"percent", 1}}), HasSubstr("both size and percent"));
  EXPECT_THAT(refusal({{"method", "none"}, {"size", 1}}), StartsWith("prefill: "));
  EXPECT_THAT(refusal({{"method", "all"}}), StartsWith("prefill.method: "));
  request["distribution"] = {{"kind", "latest"}, {"exponent", 1}};
  EXPECT_THAT(refusal({{"size", 1}}), HasSubstr("latest keys"));
}

TEST(parse_request, reads_a_phase_in_place_of_a_mix) {
  json request = good();
  request.erase("mix");
  request["phase"] = {{"kind", "load"}, {"percent", 50}, {"order", "sorted"}};
  const auto load = parse_request(request.dump());
  EXPECT_EQ(load.phase->size, 10'000U);
  EXPECT_TRUE(load.phase->sorted);
  EXPECT_EQ(load.prefill.filled_by, filling::method::none);
  EXPECT_EQ(load.roles[0].work.mix.insert, 100);
  request["phase"] = {{"kind", "drain"}};
  EXPECT_EQ(parse_request(request.dump()).roles[0].work.mix.erase, 100);
  EXPECT_FALSE(parse_request(request.dump()).phase->sorted);

  const auto refusal = [&](const json& value) {
    request["phase"] = value;
    return refusal_of(request.dump());
  };
  EXPECT_THAT(refusal({{"kind", "shrink"}}), StartsWith("phase.kind: "));
  EXPECT_THAT(refusal({{"kind", "load"}, {"size", 0}}), StartsWith("phase: "));
  EXPECT_THAT(refusal({{"kind", "drain"}, {"size", 5}}), StartsWith("phase: "));
  request["prefill"] = {{"size", 5}};
  EXPECT_THAT(refusal({{"kind", "load"}}), StartsWith("prefill: "));
  EXPECT_EQ(refusal({{"kind", "grow"}}), "");
  request["warm_up_ms"] = 5;
  EXPECT_THAT(refusal({{"kind", "grow"}}), StartsWith("warm_up_ms: "));
}

TEST(parse_request, refuses_more_keys_than_their_type_has) {
  json request = good();
  for (const auto* layout : {"dense", "sparse"}) {
    request["keys"] = layout;
    request["key_type"] = "uint32";
    request["key_range"] = 2'147'483'647U;
    EXPECT_EQ(refusal_of(request.dump()), "");
    request["key_range"] = 2'147'483'648U;
    EXPECT_EQ(refusal_of(request.dump()),
              "key_type: uint32 has 2147483647 keys, fewer than the key range of 2147483648");
    request["key_type"] = "uint64";
    EXPECT_EQ(refusal_of(request.dump()), "");
  }
}

TEST(parse_request, takes_ranges_and_the_operations_that_some_maps_offer) {
  const auto mix = parsed_with("mix", R"({"insert": 10, "erase": 20, "find": 30, "range": 4,
    "size": 5, "snapshot": 6, "iterate": 25})")
                       .roles[0]
                       .work.mix;
  EXPECT_EQ(mix.range, 4);
  EXPECT_EQ(mix.size, 5);
  EXPECT_EQ(mix.snapshot, 6);
  EXPECT_EQ(mix.iterate, 25);
  const auto lengths = [](const char* value) {
    return parsed_with("range", value).roles[0].work.lengths;
  };
  EXPECT_EQ(lengths(R"({"length": 7})"), (workload::range_lengths{7, 7}));
  EXPECT_EQ(lengths(R"({"length": {"from": 1, "to": 1000}})"), (workload::range_lengths{1, 1000}));
  EXPECT_EQ(lengths(R"({"length": "all"})"), (workload::range_lengths{20'000, 20'000}));
  EXPECT_EQ(parsed_with("range", R"({"length": 7, "fold": "sum"})").roles[0].fold,
            workload::fold::sum);
  EXPECT_EQ(parsed_with("range", R"({"length": 7})").roles[0].fold, workload::fold::count);
}

TEST(parse_request, takes_arrivals) {
  const auto poisson = parsed_with("arrivals", R"({"rate": 0.5, "spacing": "poisson"})");
  ASSERT_TRUE(poisson.roles[0].arrivals);
  EXPECT_EQ(poisson.roles[0].arrivals->rate, 0.5);
  EXPECT_EQ(poisson.roles[0].arrivals->spacing, spacing::poisson);
  const auto even = parsed_with("arrivals", R"({"rate": 1000000, "spacing": "even"})");
  EXPECT_EQ(even.roles[0].arrivals->spacing, spacing::even);
}

TEST(parse_request, takes_what_is_recorded_and_around_it) {
  EXPECT_EQ(parsed_with("latency", "\"none\"").latency, 0U);
  EXPECT_EQ(parsed_with("latency", "\"all\"").latency, 1U);
  EXPECT_EQ(parsed_with("latency", "2").latency, 2U);
  EXPECT_EQ(parsed_with("latency", "64").latency, 64U);
  EXPECT_EQ(parsed_with("batch", "1").batch, 1U);
  EXPECT_EQ(parsed_with("batch", "512").batch, 512U);
  EXPECT_FALSE(parsed_with("probes", "false").probes);
  EXPECT_THAT(parsed_with("events", R"(["dTLB-load-misses", "cycles:k"])").events,
              ElementsAre("dTLB-load-misses", "cycles:k"));
  for (const std::string name : {"glibc", "jemalloc", "mimalloc"}) {
    EXPECT_EQ(parsed_with("allocator", json(name).dump().c_str()).allocator, name);
  }
  for (const std::string name : {"none", "rtm"}) {
    EXPECT_EQ(parsed_with("transactions", json(name).dump().c_str()).transactions, name);
  }
  EXPECT_EQ(parsed_with("memory_policy", "\"local\"").memory_policy, "local");
  EXPECT_EQ(parsed_with("memory_policy", "\"interleave\"").memory_policy, "interleave");
}

json with_roles() {
  json request = good();
  request["distribution"] = {{"kind", "zipf"}, {"exponent", 0.5}};
  request["draws"] = "two";
  request["roles"] = json::parse(R"([
    {"name": "updaters", "threads": 3},
    {"name": "walkers_2", "threads": 1, "mix": {"insert": 0, "erase": 0, "find": 0, "range": 100},
     "distribution": {"kind": "uniform"}, "range": {"length": "all", "fold": "sum"},
     "arrivals": {"rate": 10, "spacing": "even"}}])");
  return request;
}

TEST(parse_request, gives_roles_what_they_name_and_else_what_the_request_names) {
  const request request = parse_request(with_roles().dump());
  ASSERT_EQ(request.roles.size(), 2U);
  EXPECT_EQ(request.threads(), 4U);
  const role& updaters = request.roles[0];
  EXPECT_EQ(updaters.name, "updaters");
  EXPECT_EQ(updaters.threads, 3U);
  EXPECT_EQ(updaters.work.mix.insert, 20.5);
  EXPECT_EQ(updaters.work.keys.exponent, 0.5);
  EXPECT_FALSE(updaters.arrivals);
  const role& walkers = request.roles[1];
  EXPECT_EQ(walkers.name, "walkers_2");
  EXPECT_EQ(walkers.threads, 1U);
  EXPECT_EQ(walkers.work.mix.insert, 0);
  EXPECT_EQ(walkers.work.mix.range, 100);
  EXPECT_EQ(walkers.work.keys.kind, workload::distribution_kind::uniform);
  EXPECT_EQ(walkers.work.lengths, (workload::range_lengths{20'000, 20'000}));
  EXPECT_EQ(walkers.fold, workload::fold::sum);
  EXPECT_EQ(walkers.arrivals->rate, 10);
  for (const auto& role : request.roles) EXPECT_EQ(role.work.draws, workload::draws::two);
}

TEST(parse_request, needs_no_mix_of_its_own_if_every_role_has_one) {
  json request = with_roles();
  request.erase("mix");
  EXPECT_EQ(refusal_of(request.dump()),
            "roles[0].mix: is missing, and the request has none for all roles");
  request["roles"][0]["mix"] = good()["mix"];
  EXPECT_EQ(refusal_of(request.dump()), "");
}

TEST(parse_request, refuses_the_latest_keys_where_roles_would_not_know_of_each_other) {
  const json latest = {{"kind", "latest"}, {"exponent", 0.5}};
  const auto mix = [](int insert, int erase) {
    return json{{"insert", insert}, {"erase", erase}, {"find", 100 - insert - erase}};
  };
  const auto refusal = [&](const json& first, const json& second, bool second_too) {
    json request = with_roles();
    request["roles"][0]["mix"] = first;
    request["roles"][0]["distribution"] = latest;
    request["roles"][1]["mix"] = second;
    if (second_too) request["roles"][1]["distribution"] = latest;
    return refusal_of(request.dump());
  };
  EXPECT_EQ(refusal(mix(10, 10), mix(0, 0), false), "");
  EXPECT_THAT(refusal(mix(10, 10), mix(0, 0), true),
              StartsWith("roles[1]: draws the latest keys, as \"updaters\" does"));
  EXPECT_THAT(refusal(mix(0, 10), mix(0, 0), false),
              StartsWith("roles[0]: draws the latest keys and inserts none"));
  EXPECT_THAT(refusal(mix(10, 10), mix(0, 1), false),
              StartsWith("roles[1]: inserts or erases, but \"updaters\""));
  json alone = good();
  alone["distribution"] = latest;
  alone["mix"] = mix(0, 0);
  EXPECT_EQ(refusal_of(alone.dump()), "");
  alone["roles"] = json::array({{{"name", "all"}, {"threads", alone["threads"]}}});
  EXPECT_EQ(refusal_of(alone.dump()), "");
}

TEST(parse_request, refuses_roles_that_are_none) {
  struct mistake {
    const char* place;
    const char* value;
    const char* refusal;
  };
  for (const auto& [place, value, refusal] : std::initializer_list<mistake>{
           {"/roles", "[]", "roles: is empty; name a role"},
           {"/roles", "{}", "roles: must be a list"},
           {"/roles/0", "1", "roles[0]: must be an object"},
           {"/roles/0/threads", "0", "roles[0].threads: "},
           {"/roles/0/threads", "2", "threads: must be the sum of all roles' threads, 3, not 4"},
           {"/roles/0/threads", "4096", "threads: must be the sum of all roles' threads, 4097"},
           {"/roles/0/name", "\"walkers_2\"", "roles[1].name: \"walkers_2\" is the name of an"},
           {"/roles/0/name", "\"\"", "roles[0].name: "},
           {"/roles/0/name", "\"Up\"", "roles[0].name: "},
           {"/roles/0/name", "\"a_name_that_is_longer_than_metrics\"", "roles[0].name: "},
           {"/roles/0/rate", "1", "roles[0]: has no key \"rate\""},
           {"/roles/1/mix/find", "1", "roles[1].mix: the percentages must add to 100"},
           {"/roles/1/mix/find", "-1", "roles[1].mix.find: "},
           {"/roles/1/arrivals/rate", "0", "roles[1].arrivals.rate: "},
           {"/roles/1/range/length", "0", "roles[1].range.length: "},
           {"/roles/1/distribution/kind", "\"x\"", "roles[1].distribution.kind: "},
       }) {
    json request = with_roles();
    request[json::json_pointer(place)] = json::parse(value);
    EXPECT_THAT(refusal_of(request.dump()), StartsWith(refusal)) << place << ' ' << value;
  }
  for (const auto* key : {"name", "threads"}) {
    json request = with_roles();
    request["roles"][1].erase(key);
    EXPECT_EQ(refusal_of(request.dump()), "roles[1]." + std::string(key) + ": is missing");
  }
}

TEST(parse_request, refuses_what_optional_keys_cannot_be) {
  struct mistake {
    const char* key;
    const char* value;
    const char* refusal;
  };
  for (const auto& [key, value, refusal] : std::initializer_list<mistake>{
           {"engine", "\"xoshiro256pp\"", "engine: must be an object"},
           {"engine", "{}", "engine.name: is missing"},
           {"engine", R"({"name": "xoshiro"})", "engine.name: "},
           {"engine", R"({"name": "xoshiro256pp", "array": 0})", "engine.array: "},
           {"engine", R"({"name": "xoshiro256pp", "reseed_every": 0})", "engine.reseed_every: "},
           {"engine", R"({"name": "rdrand", "reseed_every": 10})", "engine."},
           {"engine", R"({"name": "c_rand", "reseed_every": 10})",
            "engine.reseed_every: all threads"},
           {"engine", R"({"name": "xoshiro256pp", "every": 1})", "engine: has no key \"every\""},
           {"draws", "2", "draws: must be \"one\" or \"two\", not 2"},
           {"bounding", "\"mod\"", "bounding: must be \"multiply\" or \"modulo\", not \"mod\""},
           {"distribution", "\"zipf\"", "distribution: must be an object"},
           {"distribution", R"({"exponent": 1})", "distribution.kind: is missing"},
           {"distribution", R"({"kind": "pareto"})", "distribution.kind: must be \"uniform\", "},
           {"distribution", R"({"kind": "zipf"})", "distribution.exponent: is missing"},
           {"distribution", R"({"kind": "zipf", "exponent": "1"})", "distribution.exponent: "},
           {"distribution", R"({"kind": "zipf", "exponent": -1})",
            "distribution: exponent must be a number of at least 0, not -1"},
           {"distribution", R"({"kind": "hot_set", "operations_percent": 90, "keys_percent": 0})",
            "distribution: keys_percent must be above 0 and at most 100, not 0"},
           {"distribution", R"({"kind": "uniform", "exponent": 1})", "distribution: has no key"},
           {"distribution", R"({"kind": "sequential", "order": "ordered"})",
            "distribution: has no key"},
           {"distribution", R"({"kind": "binomial", "p": 0.5, "order": "up"})",
            "distribution.order: must be \"scrambled\" or \"ordered\""},
           {"distribution", R"({"kind": "empirical", "file": "/x"})",
            "distribution.digest: is missing"},
           {"key_type", "\"uint16\"",
            "key_type: must be \"uint64\", \"uint32\" or {\"bytes\": ...}, not \"uint16\""},
           {"key_type", R"({"bytes": 7})", "key_type.bytes: must be a whole number from 8 to 4096"},
           {"key_type", R"({"bytes": 4097})", "key_type.bytes: "},
           {"key_type", R"({"bytes": {"from": 7, "to": 9}})", "key_type.bytes.from: "},
           {"key_type", R"({"bytes": {"from": 9, "to": 8}})",
            "key_type.bytes.to: must be a whole number from 9 to 4096"},
           {"key_type", R"({"byte": 8})", "key_type.bytes: is missing"},
           {"key_type", R"({"bytes": {"from": 30, "to": 40}, "prefix": 23})",
            "key_type.prefix: must be a whole number from 0 to 22"},
           {"value_type", R"({"bytes": 30, "prefix": 1})", "value_type: has no key \"prefix\""},
           {"value_type", R"({"bytes": -1})", "value_type.bytes: "},
           {"value_type", R"({"bytes": 4097})", "value_type.bytes: "},
           {"mix", R"({"insert": 50, "erase": 50, "find": 0, "range": 1})", "mix: the percentages"},
           {"mix", R"({"insert": 50, "erase": 50, "find": 0, "size": -1})", "mix.size: "},
           {"mix", R"({"insert": 50, "erase": 40, "find": 0, "leap": 10})",
            "mix: no subject here offers \"leap\""},
           {"range", "100", "range: must be an object"},
           {"range", "{}", "range.length: is missing"},
           {"arrivals", R"({"rate": 1})", "arrivals.spacing: is missing"},
           {"range", R"({"length": "some"})", "range.length: must be a number of keys, "},
           {"range", R"({"length": {"from": 5, "to": 4}})", "range.length.to: "},
           {"range", R"({"length": 1, "fold": "max"})", "range.fold: must be \"count\" or \"sum\""},
           {"arrivals", R"({"rate": 0, "spacing": "even"})", "arrivals.rate: must be a number of"},
           {"arrivals", R"({"rate": -1, "spacing": "even"})", "arrivals.rate: "},
           {"arrivals", R"({"rate": 1e13, "spacing": "even"})", "arrivals.rate: "},
           {"arrivals", R"({"rate": "1", "spacing": "even"})", "arrivals.rate: "},
           {"arrivals", R"({"rate": 1, "spacing": "odd"})", "arrivals.spacing: "},
           {"latency", "1", "latency: must be \"all\", not 1"},
           {"latency", "0", "latency: must be a whole number from 2 to "},
           {"latency", "2.5", "latency: must be a whole number from 2 to "},
           {"latency", "\"some\"", "latency: must be \"none\", \"all\" or a number N"},
           {"batch", "0", "batch: must be a whole number from 1 to 512"},
           {"batch", "513", "batch: "},
           {"probes", "1", "probes: must be true or false"},
           {"events", "\"cycles\"", "events: must be a list"},
           {"events", "[]", "events: must be a list of 1 to 16 events, not of 0"},
           {"events", "[1]", "events[0]: "},
           {"events", R"(["cycles", "9lives"])", "events[1]: must be an event of libpfm's"},
           {"events", R"(["cycles,instructions"])", "events[0]: must be an event of libpfm's"},
           {"events", R"(["perf::"])", "events[0]: must be an event of libpfm's"},
           {"events", R"(["LLC-loads", "perf::llc-LOADS"])",
            "events[1]: \"perf::llc-LOADS\" is named before"},
           {"allocator", "\"tcmalloc\"",
            "allocator: must be \"glibc\", \"jemalloc\" or \"mimalloc\", not \"tcmalloc\""},
           {"transactions", "\"htm\"", "transactions: must be \"none\" or \"rtm\", not \"htm\""},
           {"memory_policy", "\"near\"", "memory_policy: must be \"local\" or \"interleave\""},
           {"perturbation", "[]", "perturbation: must be an object"},
           {"perturbation", R"({"heap": 1})", "perturbation: has no key \"heap\""},
           {"perturbation", R"({"stack_bytes": 24})",
            "perturbation.stack_bytes: must be a multiple of 16, not 24"},
           {"perturbation", R"({"stack_bytes": 65536})",
            "perturbation.stack_bytes: must be a whole number from 0 to 65520"},
           {"perturbation", R"({"stack_bytes": -16})", "perturbation.stack_bytes: "},
           {"perturbation", R"({"heap_bytes": 65537})",
            "perturbation.heap_bytes: must be a whole number from 0 to 65536"},
           {"perturbation", R"({"thread_order": 9007199254740992})", "perturbation.thread_order: "},
           {"perturbation", R"({"thread_order": [1, 0]})", "perturbation.thread_order: "},
           {"perturbation", R"({"placement": -1})", "perturbation.placement: "},
           {"operations", "100", "operations: "},
           {"operations", "[]", "operations: must be one pair for each of 4 threads, not 0"},
           {"operations", "[[0, 1]]", "operations: must be one pair for each of 4 threads, not 1"},
           {"operations", "[[0, 1], [0, 1], [1], [0, 1]]",
            "operations[2]: must be [operations in the warm-up, measured operations], not 1 "
            "numbers"},
           {"operations", "[[0, 1], [0, 1], [0, 1], 1]", "operations[3]: "},
           {"operations", "[[0, 1], [0, -1], [0, 1], [0, 1]]", "operations[1][1]: "},
           {"operations", "[[0.5, 1], [0, 1], [0, 1], [0, 1]]", "operations[0][0]: "},
           {"parameters", "{}", "request: has no key \"parameters\""},
       }) {
    json request = good();
    request[key] = json::parse(value);
    EXPECT_THAT(refusal_of(request.dump()), StartsWith(refusal)) << key << ' ' << value;
  }
}

TEST(parse_request, takes_a_perturbation_in_whole_or_in_part) {
  const measure::perturbation all = parsed_with("perturbation", R"({"stack_bytes": 65520,
      "heap_bytes": 65536, "thread_order": 9007199254740991, "placement": 0})")
                                        .perturbation;
  EXPECT_EQ(all.stack_bytes, 65'520U);
  EXPECT_EQ(all.heap_bytes, 65'536U);
  EXPECT_EQ(all.thread_order, 9007199254740991U);
  EXPECT_EQ(all.placement, 0U);
  const measure::perturbation part =
      parsed_with("perturbation", R"({"heap_bytes": 1})").perturbation;
  EXPECT_EQ(part.heap_bytes, 1U);
  EXPECT_EQ(part.stack_bytes, 0U);
  EXPECT_FALSE(part.thread_order);
  EXPECT_FALSE(part.placement);
}

TEST(parse_request, takes_the_operations_of_each_thread) {
  const auto operations =
      parsed_with("operations", "[[0, 1], [2, 3], [4, 0], [0, 9007199254740991]]").operations;
  ASSERT_EQ(operations.size(), 4U);
  EXPECT_EQ(operations[1].warm_up, 2U);
  EXPECT_EQ(operations[1].measured, 3U);
  EXPECT_EQ(operations[3].measured, 9007199254740991U);
}

TEST(parse_request, refuses_numbers_that_are_not_finite) {
  for (const auto* number : {"NaN", "Infinity", "-Infinity", "1e999"}) {
    json request = good();
    request["arrivals"] = {{"rate", "@"}, {"spacing", "even"}};
    std::string text = request.dump();
    text.replace(text.find("\"@\""), 3, number);
    EXPECT_THAT(refusal_of(text), StartsWith("request: ")) << number;
  }
}

TEST(parse_request, takes_a_warm_up) {
  json request = good();
  for (const int most : {0, 1, 3'600'000}) {
    request["warm_up_ms"] = most;
    EXPECT_EQ(parse_request(request.dump()).warm_up.count(), most);
  }
}

TEST(parse_request, demands_every_key_and_no_other) {
  const json whole = good();
  for (const auto& item : whole.items()) {
    json without = whole;
    without.erase(item.key());
    EXPECT_EQ(refusal_of(without.dump()), item.key() + ": is missing");
  }
  for (const auto* kind : {"insert", "erase", "find"}) {
    json without = good();
    without["mix"].erase(kind);
    EXPECT_EQ(refusal_of(without.dump()), "mix." + std::string(kind) + ": is missing");
  }
  json more = good();
  more["thread"] = 2;
  EXPECT_THAT(refusal_of(more.dump()), "request: has no key \"thread\"");
  more = good();
  more["mix"]["leap"] = 2;
  EXPECT_THAT(refusal_of(more.dump()), "mix: no subject here offers \"leap\"");
}

TEST(parse_request, refuses_what_is_no_object) {
  for (const auto* text : {"", "{", "[]", "1", "null", R"({"protocol": 1} x)"}) {
    EXPECT_THAT(refusal_of(text), StartsWith("request: ")) << text;
  }
}

TEST(parse_request, refuses_keys_given_twice) {
  std::string text = good().dump();
  text.insert(1, R"("seed": 1, )");
  EXPECT_EQ(refusal_of(text), "request: gives the key \"seed\" twice");
  text = good().dump();
  text.insert(text.find("\"erase\""), R"("erase": 1, )");
  EXPECT_EQ(refusal_of(text), "request: gives the key \"erase\" twice");
}

TEST(parse_request, refuses_what_is_nested_deeply_or_long_in_few_words) {
  json request = good();
  for (const auto* key : {"seed", "threads", "pinning", "subject", "keys", "mix", "protocol"}) {
    request = good();
    request[key] = "@";
    const auto with = [&](const std::string& value) {
      std::string text = request.dump();
      return text.replace(text.find("\"@\""), 3, value);
    };
    EXPECT_THAT(refusal_of(with(std::string(200'000, '[') + std::string(200'000, ']'))),
                StartsWith("request: is nested"));
    if (key == std::string("subject")) continue;
    std::string name(200'000, 'x');
    name.front() = name.back() = '"';
    const auto refusal = refusal_of(with(name));
    EXPECT_THAT(refusal, StartsWith(key));
    EXPECT_LT(refusal.size(), 200U);
  }
}

struct bad_value {
  const char* key;
  const char* value;
};

class parse_request_with : public ::testing::TestWithParam<bad_value> {};

TEST_P(parse_request_with, names_the_key_of_a_bad_value) {
  json request = good();
  request[json::json_pointer(GetParam().key)] = json::parse(GetParam().value);
  std::string place = std::string(GetParam().key).substr(1);
  std::ranges::replace(place, '/', '.');
  EXPECT_THAT(refusal_of(request.dump()), StartsWith(place + ": "));
}

INSTANTIATE_TEST_SUITE_P(
    bad_values, parse_request_with,
    ::testing::Values(bad_value{"/protocol", "2"}, bad_value{"/protocol", "\"1\""},
                      bad_value{"/subject", "1"}, bad_value{"/seed", "-1"},
                      bad_value{"/seed", "9007199254740992"}, bad_value{"/seed", "1.5"},
                      bad_value{"/seed", "null"}, bad_value{"/threads", "0"},
                      bad_value{"/threads", "4097"}, bad_value{"/threads", "\"2\""},
                      bad_value{"/threads", "true"}, bad_value{"/pinning", "\"near\""},
                      bad_value{"/pinning", "[]"}, bad_value{"/pinning", "[-1]"},
                      bad_value{"/pinning", "[0.5]"}, bad_value{"/pinning", "3"},
                      bad_value{"/key_range", "1"}, bad_value{"/key_range", "0"},
                      bad_value{"/key_range", "1099511627777"}, bad_value{"/keys", "\"random\""},
                      bad_value{"/keys", "0"}, bad_value{"/mix", "[]"},
                      bad_value{"/mix", R"({"insert": 50, "erase": 40, "find": 0})"},
                      bad_value{"/mix", R"({"insert": 50, "erase": 50.000001, "find": 0})"},
                      bad_value{"/mix/insert", "-1"}, bad_value{"/mix/insert", "101"},
                      bad_value{"/mix/erase", "\"10\""}, bad_value{"/mix/find", "null"},
                      bad_value{"/duration_ms", "0"}, bad_value{"/duration_ms", "3600001"},
                      bad_value{"/warm_up_ms", "-1"}, bad_value{"/warm_up_ms", "3600001"},
                      bad_value{"/warm_up_ms", "0.5"}, bad_value{"/warm_up_ms", "null"},
                      bad_value{"/interval_ms", "0"}, bad_value{"/interval_ms", "60001"}));

TEST(parse_request, takes_percentages_that_add_to_100_but_for_rounding) {
  json request = good();
  request["mix"] = {{"insert", 33.3}, {"erase", 33.3}, {"find", 33.4}};
  EXPECT_EQ(refusal_of(request.dump()), "");
}

}  // namespace
}  // namespace assay::trial
