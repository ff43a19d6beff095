// JSON from outside: what a program reads as its request.

#ifndef ASSAY_HOST_JSON_INPUT_H_
#define ASSAY_HOST_JSON_INPUT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::host {

// A value as a message shows it: on one line, in printable ASCII, and short whatever it is.
[[nodiscard]] inline std::string shown(const nlohmann::json& value) {
  constexpr std::size_t most = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > most) text.replace(most, std::string::npos, "...");
  return text;
}

// Reads one object. Unlike JSON, it may give no key twice, as readers differ in which of the values
// they take, and may not be nested more than 16 deep, as functions on the value call themselves for
// each level. Throws std::invalid_argument with a message that begins with "request: ".
[[nodiscard]] inline nlohmann::json parse_object(std::string_view text) {
  using nlohmann::json;
  constexpr int deepest = 16;
  std::vector<std::set<std::string>> keys;  // of the objects around the present place
  const auto check = [&](int depth, json::parse_event_t event, const json& value) {
    if (depth > deepest) {
      throw std::invalid_argument("request: is nested more than " + std::to_string(deepest) +
                                  " deep");
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      throw std::invalid_argument("request: gives the key " + shown(value) + " twice");
    }
    return true;
  };
  try {
    json object = json::parse(text, check);
    if (object.is_object()) return object;
    throw std::invalid_argument("request: must be an object, not " + shown(object));
  } catch (const json::parse_error& error) {
    throw std::invalid_argument("request: is not JSON, at byte " + std::to_string(error.byte));
  } catch (const json::out_of_range&) {
    throw std::invalid_argument("request: has a number that is too large");
  }
}

}  // namespace assay::host

#endif  // ASSAY_HOST_JSON_INPUT_H_
