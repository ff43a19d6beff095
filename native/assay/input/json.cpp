#include "assay/input/json.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "assay/input/bad_request.h"

namespace assay::input {

using nlohmann::json;

std::string shown(const json& value) {
  constexpr std::size_t most = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > most) text.replace(most, std::string::npos, "...");
  return text;
}

json parse_object(std::string_view text) {
  constexpr int deepest = 16;
  std::vector<std::set<std::string>> keys;  // of the objects around the present place
  const auto check = [&](int depth, json::parse_event_t event, const json& value) {
    if (depth > deepest) {
      throw bad_request("request: is nested more than " + std::to_string(deepest) + " deep");
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      throw bad_request("request: gives the key " + shown(value) + " twice");
    }
    return true;
  };
  try {
    json object = json::parse(text, check);
    if (object.is_object()) return object;
    throw bad_request("request: must be an object, not " + shown(object));
  } catch (const json::parse_error& error) {
    throw bad_request("request: is not JSON, at byte " + std::to_string(error.byte));
  } catch (const json::out_of_range&) {
    throw bad_request("request: has a number that is too large");
  }
}

std::string standard_input() {
  std::ostringstream text;
  text << std::cin.rdbuf();
  return text.str();
}

void print(const json& message) {
  std::cout << message.dump(-1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
  if (!std::cout) throw std::runtime_error("cannot write to standard output");
}

void json_node::refuse(const std::string& mistake) const {
  throw bad_request((place_.empty() ? "request" : place_) + ": " + mistake);
}

void json_node::require_keys(std::initializer_list<const char*> required,
                             std::initializer_list<const char*> optional) const {
  if (!value_->is_object()) refuse("must be an object, not " + shown(*value_));
  for (const auto* key : required) {
    if (!has(key)) named(key).refuse("is missing");
  }
  for (const auto& item : value_->items()) {
    const auto is_key = [&](const char* key) { return item.key() == key; };
    if (!std::ranges::any_of(required, is_key) && !std::ranges::any_of(optional, is_key)) {
      refuse("has no key " + shown(item.key()));
    }
  }
}

bool json_node::has(const char* key) const { return value_->contains(key); }

json_node json_node::at(const char* key) const { return {value_->at(key), place_of(key)}; }

json_node json_node::at(std::size_t index) const {
  return {value_->at(index), place_ + "[" + std::to_string(index) + "]"};
}

void json_node::require(std::uint64_t number) const {
  if (!value_->is_number_unsigned() || *value_ != number) {
    refuse("must be " + std::to_string(number) + ", not " + shown(*value_));
  }
}

std::uint64_t json_node::whole_number(std::uint64_t least, std::uint64_t most) const {
  const std::string bounds =
      "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!value_->is_number_unsigned()) refuse(bounds + ", not " + shown(*value_));
  const auto number = value_->get<std::uint64_t>();
  if (number < least || number > most) refuse(bounds + ", not " + shown(*value_));
  return number;
}

double json_node::number(double least, double most) const {
  const std::string mistake = "must be a number from " + json(least).dump() + " to " +
                              json(most).dump() + ", not " + shown(*value_);
  if (!value_->is_number()) refuse(mistake);
  const auto number = value_->get<double>();
  if (!(number >= least && number <= most)) refuse(mistake);
  return number;
}

double json_node::number() const {
  if (!value_->is_number()) refuse("must be a number, not " + shown(*value_));
  return value_->get<double>();
}

bool json_node::boolean() const {
  if (!value_->is_boolean()) refuse("must be true or false, not " + shown(*value_));
  return value_->get<bool>();
}

const std::string& json_node::text() const {
  if (!value_->is_string()) refuse("must be a string, not " + shown(*value_));
  return value_->get_ref<const std::string&>();
}

std::size_t json_node::length_of_list() const {
  if (!value_->is_array()) refuse("must be a list, not " + shown(*value_));
  return value_->size();
}

std::string json_node::place_of(const char* key) const {
  return place_.empty() ? key : place_ + "." + key;
}

std::size_t json_node::index_among(std::span<const char* const> names,
                                   const std::string& rest) const {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (value_->is_string() && *value_ == names[i]) return i;
    list += std::string(i == 0                                  ? ""
                        : i + 1 == names.size() && rest.empty() ? " or "
                                                                : ", ") +
            "\"" + names[i] + "\"";
  }
  refuse("must be " + list + rest + ", not " + shown(*value_));
}

}  // namespace assay::input
