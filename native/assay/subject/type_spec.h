// What the keys and values of a trial are.
//
// Operations are drawn as numbers: keys are numbers below 2^63, and values are numbers that say for
// which key they were drawn (witness.h). A map of another type of key or value gets them
// translated. What it returns is compared with the number that it should represent:
//
//     codec<std::string> keys({.type = type_spec::kind::bytes, .least = 8, .most = 64});
//     map.find(keys.encode(42));       // a string of 8 to 64 bytes, the same for 42 every time
//     keys.equals(found, 42);          // length and contents
//     keys.decode(found);              // 42, or 0 if no number is written like that
//
// A codec of numbers is nothing at run time, but for a look at a pointer where they are values, and
// one of strings allocates when it is built only, unless they are bare. Other types can be held as
// soon as there is a codec of theirs.

#ifndef ASSAY_SUBJECT_TYPE_SPEC_H_
#define ASSAY_SUBJECT_TYPE_SPEC_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "assay/random/splitmix64.h"
#include "assay/subject/tally.h"

namespace assay::subject {

// Numbers that were drawn before the trial: values follow any distribution, and the same number
// always gives the same value. There are 4096: 32 KiB, which fit in a first-level cache.
class drawn_numbers {
 public:
  static constexpr unsigned bits = 12;

  explicit drawn_numbers(const std::array<std::uint64_t, 1U << bits>& numbers)
      : numbers_(numbers) {}

  // The one that `number` leads to: Fibonacci hashing, which takes neighbours far apart.
  std::uint64_t operator()(std::uint64_t number) const {
    return numbers_[number * random::golden_gamma >> (64 - bits)];
  }

 private:
  std::array<std::uint64_t, 1U << bits> numbers_;
};

// What keys or values are: numbers, or byte strings of `least` to `most` bytes.
struct type_spec {
  enum class kind { uint64, uint32, bytes };
  type_spec::kind type = kind::uint64;
  std::uint32_t least = 8;
  std::uint32_t most = 8;
  std::uint32_t prefix = 0;  // of these, the first bytes, which are the same in all; keys alone
  bool bare = false;         // byte strings of the number alone, see codec<std::string>
  // Lengths of strings, or values that are numbers. None: lengths are uniform, values any numbers.
  std::shared_ptr<const drawn_numbers> drawn{};
  unsigned bits = 64;  // of values that are numbers of 64 bits: a map may take fewer

  friend bool operator==(const type_spec&, const type_spec&) = default;
};

inline constexpr std::array<std::string_view, 3> type_kind_names{"uint64", "uint32", "bytes"};

// How a map holds data of each kind.
template <class T>
inline constexpr type_spec::kind kind_of = type_spec::kind::bytes;
template <>
inline constexpr type_spec::kind kind_of<std::uint64_t> = type_spec::kind::uint64;
template <>
inline constexpr type_spec::kind kind_of<std::uint32_t> = type_spec::kind::uint32;

// Between numbers and data of type T. Each has:
//
//     encode(number)        the datum; a reference to it is good until the next call
//     kept(number)          what its datum shows of `number`: short ones do not hold all of it
//     decode(datum)         the kept number, or 0 if `datum` is not an encoded one
//     equals(datum, number) whether `datum` is the encoded `number`, all of it
//     rank(datum)           for keys: a number in the order of the keys, from a few bytes alone
template <class T>
class codec;

// The low bits. Keys have no others: their key space is made of as many.
template <std::unsigned_integral T>
class codec<T> {
 public:
  explicit codec(const type_spec& = {}) {}
  static T encode(std::uint64_t number) { return static_cast<T>(number); }
  static std::uint64_t kept(std::uint64_t number) { return encode(number); }
  static std::uint64_t decode(T datum) { return datum; }
  static bool equals(T datum, std::uint64_t number) { return datum == encode(number); }
  static std::uint64_t rank(T datum) { return datum; }
};

// Byte strings: the number with its highest byte first, so that strings are ordered as their
// numbers are, and then words that depend on the number and on their place, so that a string put
// together from two, or cut short, is not one. The length, too, depends on the number alone. A
// string shorter than 8 bytes holds the low bytes of its number. Before all that stands a prefix
// that is the same in all strings: none, or one that leaves 8 bytes of the shortest at least.
//
// Bare ones, which checkers ask for, are the bytes of the number alone, the highest first, without
// zeros at the end: 0 is the empty string, and some strings are the beginning of others. Odd
// numbers go on for so long that the string has to be allocated; that leaves the order as it is, as
// no string without zeros at its end begins another.
template <>
class codec<std::string> {
 public:
  explicit codec(const type_spec& type)
      : least_(type.least),
        lengths_(type.most - type.least + std::uint64_t{1}),
        prefix_(type.prefix, '/'),
        bare_(type.bare),
        drawn_(type.drawn),
        text_(prefix_) {
    text_.reserve(type.most);
  }

  const std::string& encode(std::uint64_t number) {
    if (bare_) return text_ = bare(number);
    const std::uint64_t hash = random::mix64(number);
    text_.resize(length(hash));
    char* const rest = text_.data() + prefix_.size();  // which never was shorter
    const std::size_t size = text_.size() - prefix_.size();
    const std::size_t head = std::min(size, word);
    const std::uint64_t first = big_endian(number);
    std::memcpy(rest, reinterpret_cast<const char*>(&first) + (word - head), head);
    for (std::size_t at = word; at < size; at += word) {
      const std::uint64_t next = hash + at * random::golden_gamma;
      std::memcpy(rest + at, &next, std::min(word, size - at));
    }
    return text_;
  }

  [[nodiscard]] std::uint64_t kept(std::uint64_t number) const {
    if (bare_) return number;
    return kept(number, length(random::mix64(number)));
  }

  [[nodiscard]] std::uint64_t decode(std::string_view text) const {
    if (bare_) return decode_bare(text);
    if (text.size() < least_ || text.size() - least_ >= lengths_) return 0;
    const std::uint64_t number = head(text.substr(prefix_.size()));
    if (text.size() < word) return kept(number, text.size());
    return equals(text, number) ? number : 0;
  }

  [[nodiscard]] bool equals(std::string_view text, std::uint64_t number) const {
    if (bare_) return text == bare(number);
    const std::uint64_t hash = random::mix64(number);
    if (text.size() != length(hash) || !text.starts_with(prefix_)) return false;
    text.remove_prefix(prefix_.size());
    if (kept(head(text), text.size()) != kept(number, text.size())) return false;
    for (std::size_t at = word; at < text.size(); at += word) {
      const std::uint64_t next = hash + at * random::golden_gamma;
      if (std::memcmp(text.data() + at, &next, std::min(word, text.size() - at)) != 0) return false;
    }
    return true;
  }

  [[nodiscard]] std::uint64_t rank(std::string_view text) const {
    return text.size() < prefix_.size() + word ? 0 : head(text.substr(prefix_.size()));
  }

 private:
  static constexpr std::size_t word = sizeof(std::uint64_t);

  [[gnu::cold]] static std::string bare(std::uint64_t number) {
    std::string bytes;
    for (std::uint64_t left = number; left != 0; left <<= 8U) {
      bytes += static_cast<char>(left >> 56U);
    }
    if (number % 2 == 1) bytes += "and on, for longer than a string has room";
    return bytes;
  }
  [[gnu::cold]] static std::uint64_t decode_bare(std::string_view text) {
    std::string first(text.substr(0, word));
    first.resize(word, '\0');
    const std::uint64_t number = head(first);
    return bare(number) == text ? number : 0;
  }

  static std::uint64_t big_endian(std::uint64_t number) {
    std::array<unsigned char, word> bytes;
    for (std::size_t i = 0; i < word; ++i) {
      bytes[i] = static_cast<unsigned char>(number >> (8 * (word - 1 - i)));
    }
    std::memcpy(&number, bytes.data(), word);
    return number;
  }

  // The number that the first 8 bytes hold, or all of them.
  static std::uint64_t head(std::string_view text) {
    std::uint64_t first = 0;
    const std::size_t size = std::min(text.size(), word);
    std::memcpy(reinterpret_cast<char*>(&first) + (word - size), text.data(), size);
    return big_endian(first);
  }

  // What is left of a number in this many bytes: the bytes and their number, in 7 bytes and one.
  static std::uint64_t kept(std::uint64_t number, std::size_t length) {
    if (length >= word) return number;
    return (number & ((std::uint64_t{1} << (8 * length)) - 1)) | std::uint64_t{length} << 56;
  }

  [[nodiscard]] std::size_t length(std::uint64_t hash) const {
    if (drawn_ != nullptr) return (*drawn_)(hash);
    return least_ + ((hash >> 32) * lengths_ >> 32);
  }

  std::size_t least_;
  std::uint64_t lengths_;  // how many different ones
  std::string prefix_;
  bool bare_;
  std::shared_ptr<const drawn_numbers> drawn_;
  std::string text_;
};

// The codec of values: their type's, except that numbers may be drawn. Each also has
//
//     differs(datum, hash, bits)  whether its number is not checked(hash, ..., bits.check), or the
//                                 rest of it is not that of its number
template <class V>
class value_codec : public codec<V> {
 public:
  using codec<V>::codec;
  [[nodiscard]] bool differs(const V& datum, std::uint64_t hash, const value_layout& bits) const {
    if (bits.rest == 0) return !this->equals(datum, hash);
    const std::uint64_t number = this->decode(datum);
    return number == 0 || !is_checked(number, hash, bits);
  }
};
template <std::unsigned_integral V>
class value_codec<V> {
 public:
  explicit value_codec(const type_spec& type = {}) : drawn_(type.drawn) {}
  [[nodiscard]] V encode(std::uint64_t number) const {
    return static_cast<V>(drawn_ == nullptr ? number : (*drawn_)(number));
  }
  [[nodiscard]] std::uint64_t kept(std::uint64_t number) const { return encode(number); }
  static std::uint64_t decode(V datum) { return datum; }
  [[nodiscard]] bool equals(V datum, std::uint64_t number) const { return datum == encode(number); }
  [[nodiscard]] bool differs(V datum, std::uint64_t hash, const value_layout& bits) const {
    if (sizeof(V) < sizeof(hash) || drawn_ != nullptr) return !equals(datum, hash);
    return !is_checked(datum, hash, bits);
  }

 private:
  std::shared_ptr<const drawn_numbers> drawn_;
};

// Between a thread's numbers and what its map holds.
template <class K, class V>
struct translator {
  explicit translator(const type_spec& key_type = {}, const type_spec& value_type = {})
      : key(key_type), last_key(key_type), value(value_type) {}

  codec<K> key;
  codec<K> last_key;  // of a range, beside its first
  value_codec<V> value;
};

}  // namespace assay::subject

#endif  // ASSAY_SUBJECT_TYPE_SPEC_H_
