// The JSON that a program reads as its request and prints as its result.
//
//     const nlohmann::json object = input::parse_object(input::standard_input());
//     const input::json_node request(object, "");
//     request.require_keys({"protocol", "threads"}, {"pinning"});
//     const auto threads = request.at("threads").whole_number(1, 4096);
//     ...
//     input::print(result);
//
// Whatever is wrong with a request is thrown as a bad_request and said of its place:
// "roles[1].arrivals.rate: must be a number above 0, not 0".

#ifndef ASSAY_INPUT_JSON_H_
#define ASSAY_INPUT_JSON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace assay::input {

// The highest whole number that every reader of JSON keeps as it is.
constexpr std::uint64_t most_exact = (std::uint64_t{1} << 53) - 1;

// A value as a message shows it: on one line, in printable ASCII, and short whatever it is.
[[nodiscard]] std::string shown(const nlohmann::json& value);

// Reads one object. Unlike JSON, it may give no key twice, as readers differ in which of the values
// they take, and may not be nested more than 16 deep, as functions on the value call themselves for
// each level. Throws bad_request.
[[nodiscard]] nlohmann::json parse_object(std::string_view text);

// All of it, until it ends.
[[nodiscard]] std::string standard_input();

// Prints all of it as one line of standard output or throws std::runtime_error: a result cut short
// by a full disk must not look like success. Bytes that are not UTF-8 are replaced.
void print(const nlohmann::json& message);

// A value of the request together with its place in it. The value must outlive it.
class json_node {
 public:
  // `place` is empty for the request as a whole.
  json_node(const nlohmann::json& value, std::string place)
      : value_(&value), place_(std::move(place)) {}

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }

  [[noreturn]] void refuse(const std::string& mistake) const;

  // Refuses anything but an object with exactly the keys `required`, and perhaps some of
  // `optional`.
  void require_keys(std::initializer_list<const char*> required,
                    std::initializer_list<const char*> optional = {}) const;

  [[nodiscard]] bool has(const char* key) const;

  // The object must have this key; the list must be long enough.
  [[nodiscard]] json_node at(const char* key) const;
  [[nodiscard]] json_node at(std::size_t index) const;

  // A place for messages about a key that is not there.
  [[nodiscard]] json_node named(const char* key) const { return {*value_, place_of(key)}; }

  void require(std::uint64_t number) const;  // nothing else
  [[nodiscard]] std::uint64_t whole_number(std::uint64_t least, std::uint64_t most) const;
  [[nodiscard]] double number(double least, double most) const;
  [[nodiscard]] double number() const;  // any; JSON has none that is not finite
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] const std::string& text() const;

  [[nodiscard]] std::size_t length_of_list() const;

  // What the name that stands here means; `rest` ends the message about any other.
  template <class Meaning, std::size_t n>  // NOLINTNEXTLINE(modernize-avoid-c-arrays): for its n
  [[nodiscard]] Meaning one_of(const std::pair<const char*, Meaning> (&names)[n],
                               const std::string& rest = {}) const {
    std::array<const char*, n> all{};
    for (std::size_t i = 0; i < n; ++i) all[i] = names[i].first;
    return names[index_among(all, rest)].second;
  }

 private:
  [[nodiscard]] std::string place_of(const char* key) const;
  [[nodiscard]] std::size_t index_among(std::span<const char* const> names,
                                        const std::string& rest) const;

  const nlohmann::json* value_;
  std::string place_;
};

}  // namespace assay::input

#endif  // ASSAY_INPUT_JSON_H_
