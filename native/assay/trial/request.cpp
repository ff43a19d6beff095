#include "assay/trial/request.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "assay/host/json_input.h"

namespace assay::trial {
namespace {

using host::shown;
using nlohmann::json;

[[noreturn]] void refuse(const std::string& key, const std::string& mistake) {
  throw bad_request(key + ": " + mistake);
}

// An object whose keys are exactly `keys`, and perhaps `optional`; `place` is its own key, empty
// for the whole request.
void require_keys(const json& object, const std::string& place,
                  std::initializer_list<const char*> keys, std::string_view optional = {}) {
  const auto named = [&](const std::string& key) {
    return place.empty() ? key : place + "." + key;
  };
  if (!object.is_object()) refuse(place, "must be an object, not " + shown(object));
  for (const auto* key : keys) {
    if (!object.contains(key)) refuse(named(key), "is missing");
  }
  for (const auto& item : object.items()) {
    if (std::ranges::find(keys, item.key()) == keys.end() && item.key() != optional) {
      refuse(place.empty() ? "request" : place, "has no key " + shown(item.key()));
    }
  }
}

std::uint64_t whole_number(const json& object, const std::string& key, std::uint64_t least,
                           std::uint64_t most) {
  const json& value = object.at(key);
  const std::string bounds =
      "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!value.is_number_unsigned()) refuse(key, bounds + ", not " + shown(value));
  const auto number = value.get<std::uint64_t>();
  if (number < least || number > most) refuse(key, bounds + ", not " + shown(value));
  return number;
}

const std::string& text(const json& object, const std::string& key) {
  const json& value = object.at(key);
  if (!value.is_string()) refuse(key, "must be a string, not " + shown(value));
  return value.get_ref<const std::string&>();
}

double percent(const json& mix, const std::string& kind) {
  const json& value = mix.at(kind);
  const std::string mistake = "must be a number from 0 to 100, not " + shown(value);
  if (!value.is_number()) refuse("mix." + kind, mistake);
  const auto number = value.get<double>();
  if (!(number >= 0 && number <= 100)) refuse("mix." + kind, mistake);
  return number;
}

workload::mix parse_mix(const json& value) {
  require_keys(value, "mix", {"insert", "erase", "find"});
  const workload::mix mix{percent(value, "insert"), percent(value, "erase"),
                          percent(value, "find")};
  const double sum = mix.insert + mix.erase + mix.find;
  if (std::abs(sum - 100) > 1e-7) {
    refuse("mix", "the percentages must add to 100, not to " + json(sum).dump());
  }
  return mix;
}

workload::key_layout parse_keys(const std::string& name) {
  if (name == "dense") return workload::key_layout::dense;
  if (name == "sparse") return workload::key_layout::sparse;
  refuse("keys", R"(must be "dense" or "sparse", not )" + shown(name));
}

host::pinning parse_pinning(const json& value) try {
  return host::parse_pinning(value);
} catch (const std::invalid_argument& error) {
  throw bad_request(error.what());
}

json parse(std::string_view text) try {
  return host::parse_object(text);
} catch (const std::invalid_argument& error) {
  throw bad_request(error.what());
}

}  // namespace

request parse_request(std::string_view text_of_request) {
  const json object = parse(text_of_request);
  require_keys(object, "",
               {"protocol", "subject", "seed", "threads", "pinning", "key_range", "keys", "mix",
                "duration_ms", "interval_ms"},
               "warm_up_ms");
  whole_number(object, "protocol", 1, 1);
  return {
      .subject = text(object, "subject"),
      .seed = whole_number(object, "seed", 0, (std::uint64_t{1} << 53) - 1),
      .pinning = parse_pinning(object.at("pinning")),
      .key_range = whole_number(object, "key_range", 2, std::uint64_t{1} << 40),
      .keys = parse_keys(text(object, "keys")),
      .roles = one_role(static_cast<unsigned>(whole_number(object, "threads", 1, 4096)),
                        parse_mix(object.at("mix"))),
      .warm_up = std::chrono::milliseconds(
          object.contains("warm_up_ms") ? whole_number(object, "warm_up_ms", 0, 3'600'000) : 0),
      .duration = std::chrono::milliseconds(whole_number(object, "duration_ms", 1, 3'600'000)),
      .interval = std::chrono::milliseconds(whole_number(object, "interval_ms", 1, 60'000)),
  };
}

}  // namespace assay::trial
