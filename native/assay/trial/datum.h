// What the keys and values of a trial are.
//
// Operations are drawn as numbers: keys are numbers below 2^63, and the value of a key is the
// number value_of(key, salt). A map of another type of key or value gets them translated, and what
// it gives back is compared with the number that it should stand for:
//
//     codec<std::string> keys({.type = datum::kind::bytes, .least = 8, .most = 64});
//     map.find(keys.encode(42));       // a string of 8 to 64 bytes, the same for 42 every time
//     keys.equals(found, 42);          // length and contents
//     keys.decode(found);              // 42, or 0 if no number is written like that
//
// A codec of numbers is nothing at run time, and one of strings allocates when it is built only.

#ifndef ASSAY_TRIAL_DATUM_H_
#define ASSAY_TRIAL_DATUM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "assay/random/splitmix64.h"

namespace assay::trial {

// What keys or values are: numbers, or byte strings of `least` to `most` bytes.
struct datum {
  enum class kind { uint64, uint32, bytes };
  datum::kind type = kind::uint64;
  std::uint32_t least = 8;
  std::uint32_t most = 8;

  friend bool operator==(const datum&, const datum&) = default;
};

inline constexpr std::array<std::string_view, 3> datum_kind_names{"uint64", "uint32", "bytes"};

// How a map holds data of each kind.
template <class T>
inline constexpr datum::kind kind_of = datum::kind::bytes;
template <>
inline constexpr datum::kind kind_of<std::uint64_t> = datum::kind::uint64;
template <>
inline constexpr datum::kind kind_of<std::uint32_t> = datum::kind::uint32;

// Between numbers and data of type T. Each has:
//
//     encode(number)        the datum; a reference to it is good until the next call
//     kept(number)          what can be told of `number` from its datum
//     decode(datum)         that, or 0 if `datum` is not one
//     equals(datum, number) whether `datum` is that of `number`, all of it
//     rank(datum)           of keys: a number in the order of the keys, without a look at the rest
template <class T>
class codec;

template <>
class codec<std::uint64_t> {
 public:
  explicit codec(const datum& = {}) {}
  static std::uint64_t encode(std::uint64_t number) { return number; }
  static std::uint64_t kept(std::uint64_t number) { return number; }
  static std::uint64_t decode(std::uint64_t datum) { return datum; }
  static bool equals(std::uint64_t datum, std::uint64_t number) { return datum == number; }
  static std::uint64_t rank(std::uint64_t datum) { return datum; }
};

// The low 32 bits. Keys have no others: their key space is made of 32 bits.
template <>
class codec<std::uint32_t> {
 public:
  explicit codec(const datum& = {}) {}
  static std::uint32_t encode(std::uint64_t number) { return static_cast<std::uint32_t>(number); }
  static std::uint64_t kept(std::uint64_t number) { return encode(number); }
  static std::uint64_t decode(std::uint32_t datum) { return datum; }
  static bool equals(std::uint32_t datum, std::uint64_t number) { return datum == encode(number); }
  static std::uint64_t rank(std::uint32_t datum) { return datum; }
};

// Byte strings: the number with its highest byte first, so that strings are ordered as their
// numbers are, and then words that depend on the number and on their place, so that a string put
// together from two, or cut short, is not one. The length, too, depends on the number alone. A
// string shorter than 8 bytes holds the low bytes of its number.
template <>
class codec<std::string> {
 public:
  explicit codec(const datum& datum)
      : least_(datum.least), lengths_(datum.most - datum.least + std::uint64_t{1}) {
    text_.reserve(datum.most);
  }

  const std::string& encode(std::uint64_t number) {
    const std::uint64_t hash = random::mix64(number);
    text_.resize(length(hash));
    const std::size_t head = std::min(text_.size(), word);
    const std::uint64_t first = big_endian(number);
    std::memcpy(text_.data(), reinterpret_cast<const char*>(&first) + (word - head), head);
    for (std::size_t at = word; at < text_.size(); at += word) {
      const std::uint64_t next = hash + at * random::golden_gamma;
      std::memcpy(text_.data() + at, &next, std::min(word, text_.size() - at));
    }
    return text_;
  }

  [[nodiscard]] std::uint64_t kept(std::uint64_t number) const {
    return kept(number, length(random::mix64(number)));
  }

  [[nodiscard]] std::uint64_t decode(std::string_view text) const {
    if (text.size() < least_ || text.size() - least_ >= lengths_) return 0;
    const std::uint64_t number = head(text);
    if (text.size() < word) return kept(number, text.size());
    return equals(text, number) ? number : 0;
  }

  [[nodiscard]] bool equals(std::string_view text, std::uint64_t number) const {
    const std::uint64_t hash = random::mix64(number);
    if (text.size() != length(hash)) return false;
    if (kept(head(text), text.size()) != kept(number, text.size())) return false;
    for (std::size_t at = word; at < text.size(); at += word) {
      const std::uint64_t next = hash + at * random::golden_gamma;
      if (std::memcmp(text.data() + at, &next, std::min(word, text.size() - at)) != 0) return false;
    }
    return true;
  }

  [[nodiscard]] static std::uint64_t rank(std::string_view text) {
    return text.size() < word ? 0 : head(text);
  }

 private:
  static constexpr std::size_t word = sizeof(std::uint64_t);

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

  // Of a number in so few bytes: these and how many they are, which take 7 bytes and one.
  static std::uint64_t kept(std::uint64_t number, std::size_t length) {
    if (length >= word) return number;
    return (number & ((std::uint64_t{1} << (8 * length)) - 1)) | std::uint64_t{length} << 56;
  }

  [[nodiscard]] std::size_t length(std::uint64_t hash) const {
    return least_ + ((hash >> 32) * lengths_ >> 32);
  }

  std::size_t least_;
  std::uint64_t lengths_;  // how many different ones
  std::string text_;
};

}  // namespace assay::trial

#endif  // ASSAY_TRIAL_DATUM_H_
