// Keys of a radix_map.h as digits: what leads the way to a leaf, from the first digit to the last.
//
//     keys                             digits
//     integers of 64, 32, 16, 8 bits   bytes, from the highest on; the last digit has 10 bits, and
//                                      no node looks at the last 6 bits: up to 64 neighbouring
//                                      integers are in one leaf
//     byte strings                     their bytes
//     pairs and tuples of integers     the bytes of all, one after the other
//
// In all three the order of the digits is that of the keys. A key that has ended comes before all
// that go on. Each kind of key says
//
//     sought        a key as nodes are searched for it
//     label         what the keys below a node begin with; it never changes
//     label::digit  which digit a key has after that; before_all and after_all for keys that begin
//                   otherwise, and are before or after all that do not
//
// Digits have depths: a node with the label of depth d looks at the digit at d. They are numbers up
// to 1,028. A byte is four times as large as it is, so that its digit and one of 10 bits are of one
// size; of a byte string, it is greater by one, and 0 is the digit of a string that has ended.

#ifndef ASSAY_MAPS_RADIX_KEY_H_
#define ASSAY_MAPS_RADIX_KEY_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "assay/base/abi.h"

namespace assay::radix::inline ASSAY_ABI {

inline constexpr int of_a_byte = 4;  // digits
inline constexpr int before_all = -1;
inline constexpr int after_all = 2000;

// Integers.
template <class K>
class integer_keys {
  using number = std::uint64_t;
  static constexpr unsigned bits = std::is_same_v<K, bool> ? 8 : sizeof(K) * 8;

 public:
  // That no node looks at.
  static constexpr unsigned last_bits = 6;
  static constexpr unsigned most_depth = bits < 16 ? 0 : (bits - 16) / 8;
  static constexpr int most_digit = 1023;

  using sought = number;
  // What a search has learnt on its way down.
  struct progress {};

  // Ascends as the key does.
  [[nodiscard]] static sought seek(K key) {
    if constexpr (std::is_same_v<K, bool>) {
      return key ? 1 : 0;
    } else {
      using unsigned_key = std::make_unsigned_t<K>;
      auto whole = static_cast<unsigned_key>(key);
      if constexpr (std::is_signed_v<K>)
        whole ^= static_cast<unsigned_key>(unsigned_key{1} << (bits - 1));
      return whole;
    }
  }
  [[nodiscard]] static bool less(sought one, sought other) { return one < other; }
  [[nodiscard]] static K key(number sought) {
    if constexpr (std::is_same_v<K, bool>) {
      return sought != 0;
    } else {
      using unsigned_key = std::make_unsigned_t<K>;
      auto whole = static_cast<unsigned_key>(sought);
      if constexpr (std::is_signed_v<K>)
        whole ^= static_cast<unsigned_key>(unsigned_key{1} << (bits - 1));
      return static_cast<K>(whole);
    }
  }
  [[nodiscard]] static constexpr unsigned shift(unsigned depth) {
    return last_bits + 8 * (most_depth - depth);  // of the digit's last bit
  }
  // At which depth two keys differ first: beyond the greatest if they differ in the last bits
  // alone.
  [[nodiscard]] static unsigned depth_of_difference(number one, number other) {
    const number differs = one ^ other;
    if ((differs >> last_bits) == 0) return most_depth + 1;
    const auto highest = 63U - static_cast<unsigned>(std::countl_zero(differs));
    return std::min((bits - 1 - highest) / 8, most_depth);
  }
  [[nodiscard]] static int digit_at(number sought, unsigned depth) {
    const auto digit = static_cast<int>((sought >> shift(depth)) & most_digit);
    return depth == most_depth ? digit : digit / of_a_byte * of_a_byte;
  }

  // An edge has the last 3 bits of its node's depth, which are all there are.
  static constexpr bool has_depth_in_edges = true;
  // The digit at that depth, not rounded.
  [[nodiscard]] static int digit_below(number sought, unsigned depth) {
    return static_cast<int>((sought >> shift(depth)) & most_digit);
  }

  // Between two keys: the least one after it.
  using bound = number;
  [[nodiscard]] static bool is_before(number sought, bound between) { return sought < between; }
  [[nodiscard]] static bool ascend(bound one, bound other) { return one < other; }
  [[nodiscard]] static sought seek_after(bound between) { return between; }
  [[nodiscard]] static sought seek_before(bound between) { return between - 1; }

  class label {
   public:
    label() = default;
    label(number sought, unsigned depth)
        : first_((sought >> shift(depth)) & ~number{most_digit}), shift_(shift(depth)) {}

    [[nodiscard]] unsigned depth() const { return most_depth - (shift_ - last_bits) / 8; }
    [[nodiscard]] int digit(number sought, progress& /*unused*/) const {
      const number from_first = (sought >> shift_) - first_;
      if (from_first <= most_digit) [[likely]] {
        return static_cast<int>(from_first);
      }
      return (sought >> shift_) < first_ ? before_all : after_all;
    }
    // Whether the key begins so: `depth` is the label's.
    [[nodiscard]] bool begins(number sought, unsigned depth) const {
      return ((sought >> shift(depth)) & ~number{most_digit}) == first_;
    }
    // At which depth the key differs from the label, or its own depth.
    [[nodiscard]] unsigned depth_of_difference(number sought) const {
      return std::min(integer_keys::depth_of_difference(sought, first_ << shift_), depth());
    }
    // The label's digit at a depth above its own.
    [[nodiscard]] int digit_at(unsigned depth) const {
      return integer_keys::digit_at(first_ << shift_, depth);
    }
    // The keys whose digit is `digit` or greater come after it.
    [[nodiscard]] bound before(int digit) const {
      return (first_ + static_cast<unsigned>(digit)) << shift_;
    }
    // The same, in what is above that depth.
    [[nodiscard]] label above(unsigned depth) const { return label(first_ << shift_, depth); }
    static void add_bytes_to(auto& /*sum*/) {}

   private:
    number first_ = 0;  // with the digit 0, without what is after the digit
    unsigned shift_ = 0;
  };
};

// Byte strings: `Text` says which bytes a key has.
template <class Text>
class text_keys {
 public:
  static constexpr int most_digit = 256 * of_a_byte;

  using sought = typename Text::sought;
  // How many bytes of the key are known to be those of the labels on the way.
  struct progress {
    std::size_t same = 0;
  };

  template <class Key>
  [[nodiscard]] static sought seek(const Key& key) {
    return Text::seek(key);
  }
  [[nodiscard]] static bool less(const sought& one, const sought& other) {
    return Text::view(one) < Text::view(other);
  }
  [[nodiscard]] static std::size_t depth_of_difference(const sought& one, const sought& other) {
    return difference(Text::view(one), Text::view(other));
  }
  [[nodiscard]] static int digit_at(const sought& key, std::size_t depth) {
    return digit_of(Text::view(key), depth);
  }

  static constexpr bool has_depth_in_edges = false;

  class label;
  // Between two keys: before those that begin with the label and have this digit or a greater one.
  struct bound {
    const label* of = nullptr;
    int digit = 0;
  };
  [[nodiscard]] static bool is_before(const sought& key, const bound& between) {
    progress begins;
    return between.of->digit(key, begins) < between.digit;
  }
  [[nodiscard]] static bool ascend(const bound& one, const bound& other) {
    const std::string& begins = one.of->text();
    const std::string& others = other.of->text();
    const std::size_t same = difference(begins, others);
    if (same < begins.size() && same < others.size()) return begins < others;
    if (begins.size() < others.size()) return one.digit <= digit_of(others, same);
    if (others.size() < begins.size()) return digit_of(begins, same) < other.digit;
    return one.digit < other.digit;
  }
  struct after {
    bound between;
  };
  struct before {
    bound between;
  };
  [[nodiscard]] static after seek_after(const bound& between) { return {between}; }
  [[nodiscard]] static before seek_before(const bound& between) { return {between}; }

  class label {
   public:
    label() = default;
    label(const sought& key, std::size_t depth) : text_(Text::view(key).substr(0, depth)) {}

    [[nodiscard]] std::size_t depth() const { return text_.size(); }
    [[nodiscard]] int digit(const sought& key, progress& at) const {
      return digit_after(Text::view(key), at.same);
    }
    // That of the least key after a bound, and of the greatest before it.
    [[nodiscard]] int digit(const after& key, progress& at) const {
      return digit_of_bound(key.between, at, 0);
    }
    [[nodiscard]] int digit(const before& key, progress& at) const {
      return digit_of_bound(key.between, at, 1);
    }
    [[nodiscard]] std::size_t depth_of_difference(const sought& key) const {
      return difference(Text::view(key), text_);
    }
    [[nodiscard]] int digit_at(std::size_t depth) const { return digit_of(text_, depth); }
    [[nodiscard]] bound before(int digit) const { return {this, digit}; }
    [[nodiscard]] label above(std::size_t depth) const { return label(text_.substr(0, depth)); }
    [[nodiscard]] const std::string& text() const { return text_; }
    // What it has from the allocator.
    void add_bytes_to(auto& sum) const { sum.add_owned(text_); }

   private:
    explicit label(std::string text) : text_(std::move(text)) {}

    [[nodiscard]] int digit_after(std::string_view key, std::size_t& same) const {
      const std::size_t common = std::min(key.size(), text_.size());
      if (same < common) {
        const int order = std::memcmp(key.data() + same, text_.data() + same, common - same);
        if (order != 0) return order < 0 ? before_all : after_all;
      }
      if (key.size() < text_.size()) return before_all;
      same = text_.size();
      return digit_of(key, same);
    }
    // The digit of the least key after the bound if `earlier` is 0, of the greatest before it if it
    // is 1.
    [[nodiscard]] int digit_of_bound(const bound& key, progress& at, int earlier) const {
      const std::string& begins = key.of->text();
      if (text_.size() <= begins.size()) {
        const int digit = digit_after(begins, at.same);
        return text_.size() == begins.size() && at.same == text_.size() ? key.digit - earlier
                                                                        : digit;
      }
      // This label is longer than the bound's.
      const int order = std::memcmp(begins.data(), text_.data(), begins.size());
      if (order != 0) return order < 0 ? before_all : after_all;
      const int here = digit_of(text_, begins.size());
      return key.digit > here ? after_all : before_all;
    }

    std::string text_;
  };

 private:
  [[nodiscard]] static int digit_of(std::string_view text, std::size_t depth) {
    return depth < text.size() ? (static_cast<unsigned char>(text[depth]) + 1) * of_a_byte : 0;
  }
  [[nodiscard]] static std::size_t difference(std::string_view one, std::string_view other) {
    const std::size_t common = std::min(one.size(), other.size());
    return static_cast<std::size_t>(
        std::mismatch(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(common), other.begin())
            .first -
        one.begin());
  }
};

// Strings of bytes, and whatever is seen as one.
template <class C>
struct string_text {
  using sought = std::string_view;
  template <class Key>
  [[nodiscard]] static sought seek(const Key& key) {
    const std::basic_string_view<C> text(key);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  [[nodiscard]] static std::string_view view(sought key) { return key; }
};

// Pairs and tuples of integers, the highest byte of each first.
template <class K>
struct tuple_text {
  template <class... T>
  static constexpr std::size_t bytes_of(const std::tuple<T...>* /*type*/) {
    return (sizeof(T) + ...);
  }
  template <class A, class B>
  static constexpr std::size_t bytes_of(const std::pair<A, B>* /*type*/) {
    return sizeof(A) + sizeof(B);
  }
  using sought = std::array<char, bytes_of(static_cast<const K*>(nullptr))>;

  [[nodiscard]] static sought seek(const K& key) {
    sought bytes;
    std::size_t at = 0;
    const auto append = [&]<class T>(const T& part) {
      std::uint64_t number = integer_keys<T>::seek(part);
      for (std::size_t i = sizeof(T); i-- > 0; number >>= 8U) {
        bytes[at + i] = static_cast<char>(number & 255U);
      }
      at += sizeof(T);
    };
    std::apply([&](const auto&... parts) { (append(parts), ...); }, key);
    return bytes;
  }
  [[nodiscard]] static std::string_view view(const sought& key) { return {key.data(), key.size()}; }
};

template <class K>
inline constexpr bool is_number = std::is_integral_v<K> && sizeof(K) <= 8;
template <class K>
inline constexpr bool is_bytes = false;
template <class C, class A>
inline constexpr bool is_bytes<std::basic_string<C, std::char_traits<C>, A>> =
    std::is_same_v<C, char> || std::is_same_v<C, char8_t>;
template <class C>
inline constexpr bool is_bytes<std::basic_string_view<C, std::char_traits<C>>> =
    std::is_same_v<C, char> || std::is_same_v<C, char8_t>;
template <class K>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = sizeof...(T) > 0 && (is_number<T> && ...);
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = is_number<A> && is_number<B>;

// What a radix_map can have as keys.
template <class K>
concept key = is_number<K> || is_bytes<K> || is_tuple<K>;

template <class K>
struct keys_of {
  using type = integer_keys<K>;
};
template <class K>
  requires is_bytes<K>
struct keys_of<K> {
  using type = text_keys<string_text<typename K::value_type>>;
};
template <class K>
  requires is_tuple<K>
struct keys_of<K> {
  using type = text_keys<tuple_text<K>>;
};
template <class K>
using digits = typename keys_of<K>::type;

}  // namespace assay::radix::inline ASSAY_ABI

#endif  // ASSAY_MAPS_RADIX_KEY_H_
