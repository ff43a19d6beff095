// A value of the request together with its place in it, so that whatever is wrong with it is said
// of that place: "roles[1].arrivals.rate: must be a number above 0, not 0".

#ifndef ASSAY_TRIAL_JSON_NODE_H_
#define ASSAY_TRIAL_JSON_NODE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "assay/host/json_input.h"
#include "assay/trial/request.h"

namespace assay::trial {

class json_node {
 public:
  // `place` is empty for the request as a whole.
  json_node(const nlohmann::json& value, std::string place)
      : value_(&value), place_(std::move(place)) {}

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }

  [[noreturn]] void refuse(const std::string& mistake) const {
    throw bad_request((place_.empty() ? "request" : place_) + ": " + mistake);
  }

  // Refuses anything but an object with exactly the keys `required`, and perhaps some of
  // `optional`.
  void require_keys(std::initializer_list<const char*> required,
                    std::initializer_list<const char*> optional = {}) const {
    if (!value_->is_object()) refuse("must be an object, not " + host::shown(*value_));
    for (const auto* key : required) {
      if (!has(key)) named(key).refuse("is missing");
    }
    for (const auto& item : value_->items()) {
      const auto is_key = [&](const char* key) { return item.key() == key; };
      if (!std::ranges::any_of(required, is_key) && !std::ranges::any_of(optional, is_key)) {
        refuse("has no key " + host::shown(item.key()));
      }
    }
  }

  [[nodiscard]] bool has(const char* key) const { return value_->contains(key); }

  [[nodiscard]] json_node at(const char* key) const { return {value_->at(key), place_of(key)}; }
  [[nodiscard]] json_node at(std::size_t index) const {
    return {value_->at(index), place_ + "[" + std::to_string(index) + "]"};
  }
  // A place for messages about a key that is not there.
  [[nodiscard]] json_node named(const char* key) const { return {*value_, place_of(key)}; }

  [[nodiscard]] std::uint64_t whole_number(std::uint64_t least, std::uint64_t most) const {
    const std::string bounds =
        "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!value_->is_number_unsigned()) refuse(bounds + ", not " + host::shown(*value_));
    const auto number = value_->get<std::uint64_t>();
    if (number < least || number > most) refuse(bounds + ", not " + host::shown(*value_));
    return number;
  }

  [[nodiscard]] double number(double least, double most) const {
    const std::string mistake = "must be a number from " + nlohmann::json(least).dump() + " to " +
                                nlohmann::json(most).dump() + ", not " + host::shown(*value_);
    if (!value_->is_number()) refuse(mistake);
    const auto number = value_->get<double>();
    if (!(number >= least && number <= most)) refuse(mistake);
    return number;
  }

  // Any number; JSON has none that is not finite.
  [[nodiscard]] double number() const {
    if (!value_->is_number()) refuse("must be a number, not " + host::shown(*value_));
    return value_->get<double>();
  }

  [[nodiscard]] bool boolean() const {
    if (!value_->is_boolean()) refuse("must be true or false, not " + host::shown(*value_));
    return value_->get<bool>();
  }

  [[nodiscard]] const std::string& text() const {
    if (!value_->is_string()) refuse("must be a string, not " + host::shown(*value_));
    return value_->get_ref<const std::string&>();
  }

  // What the name that stands here means; `rest` ends the message about any other.
  template <class Meaning, std::size_t n>  // NOLINTNEXTLINE(modernize-avoid-c-arrays): for its n
  [[nodiscard]] Meaning one_of(const std::pair<const char*, Meaning> (&names)[n],
                               const std::string& rest = {}) const {
    std::string list;
    for (std::size_t i = 0; i < n; ++i) {
      if (value_->is_string() && *value_ == names[i].first) return names[i].second;
      list += std::string(i == 0                       ? ""
                          : i + 1 == n && rest.empty() ? " or "
                                                       : ", ") +
              "\"" + names[i].first + "\"";
    }
    refuse("must be " + list + rest + ", not " + host::shown(*value_));
  }

 private:
  [[nodiscard]] std::string place_of(const char* key) const {
    return place_.empty() ? key : place_ + "." + key;
  }

  const nlohmann::json* value_;
  std::string place_;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_JSON_NODE_H_
