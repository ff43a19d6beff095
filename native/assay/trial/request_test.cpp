#include "assay/trial/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::trial {
namespace {

using nlohmann::json;
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
  more["mix"]["update"] = 2;
  EXPECT_THAT(refusal_of(more.dump()), "mix: has no key \"update\"");
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
    const auto refusal = refusal_of(with('"' + std::string(200'000, 'x') + '"'));
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
