// What the tests of bt_map share: every variant of it behind one interface, in which keys and
// values are numbers, so that each test is compiled once and each variant too.

#ifndef ASSAY_MAPS_BT_MAP_TEST_SUBJECT_H_
#define ASSAY_MAPS_BT_MAP_TEST_SUBJECT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/host/instruction_set.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/trees_test_types.h"
#include "assay/reclaim/none.h"

namespace assay::bt_test {

// --- keys and values ----------------------------------------------------------------------------

// A key of 8 bytes that has nothing but an order.
struct place {
  std::int32_t row;
  std::int32_t column;
  friend bool operator<(const place& a, const place& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  }
};
// A key of any size that has nothing but an order, and cannot be assigned.
struct title {
  explicit title(std::string text_) : text(std::move(text_)) {}
  const std::string text;
  friend bool operator<(const title& a, const title& b) { return a.text < b.text; }
};
// A value of 8 bytes of which some have no meaning.
struct padded {
  char low;
  std::int32_t high;
};
// A value that does not fit into a word.
struct wide {
  std::array<std::uint64_t, 8> words;
};

// How a number is made into a T, in the same order, and back. Numbers are below 2^31; a value may
// keep only the lowest bits of one.
template <class T>
struct numbered {
  static T made(std::uint64_t number) {
    if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(number);
    else
      return trees_test::made_of<T>(number);
  }
  static std::uint64_t number(const T& made) {
    if constexpr (std::is_unsigned_v<T>)
      return made;
    else
      return trees_test::number_of(made);
  }
};
template <>
struct numbered<std::int64_t> {  // half of the tests' are negative
  static std::int64_t made(std::uint64_t number) { return static_cast<std::int64_t>(number) - 150; }
  static std::uint64_t number(std::int64_t made) { return static_cast<std::uint64_t>(made + 150); }
};
template <>
struct numbered<std::int32_t> {  // for std::greater
  static std::int32_t made(std::uint64_t number) { return 150 - static_cast<std::int32_t>(number); }
  static std::uint64_t number(std::int32_t made) {
    return static_cast<std::uint64_t>(150 - std::int64_t{made});
  }
};
template <>
struct numbered<double> {
  static double made(std::uint64_t number) { return static_cast<double>(number) / 8 - 20; }
  static std::uint64_t number(double made) { return static_cast<std::uint64_t>((made + 20) * 8); }
};
template <>
struct numbered<place> {
  static place made(std::uint64_t number) {
    return {static_cast<std::int32_t>(number / 10), -9 + static_cast<std::int32_t>(number % 10)};
  }
  static std::uint64_t number(const place& made) {
    return static_cast<std::uint64_t>(made.row * std::int64_t{10} + made.column + 9);
  }
};
template <>
struct numbered<title> {
  static title made(std::uint64_t number) {
    return title(trees_test::made_of<std::string>(number));
  }
  static std::uint64_t number(const title& made) { return trees_test::number_of(made.text); }
};
template <>
struct numbered<padded> {
  static padded made(std::uint64_t number) {
    return {static_cast<char>(number % 16), static_cast<std::int32_t>(number / 16)};
  }
  static std::uint64_t number(const padded& made) {
    return static_cast<std::uint64_t>(made.high) * 16 + static_cast<std::uint64_t>(made.low);
  }
};
template <>
struct numbered<wide> {
  static wide made(std::uint64_t number) {
    wide all{};
    for (std::uint64_t& each : all.words) each = number;
    return all;
  }
  static std::uint64_t number(const wide& made) {
    for (const std::uint64_t each : made.words) {
      if (each != made.words[0]) return std::numeric_limits<std::uint64_t>::max();
    }
    return made.words[0];
  }
};

// --- maps ---------------------------------------------------------------------------------------

using element = std::pair<std::uint64_t, std::uint64_t>;
using elements = std::vector<element>;
using visitor = std::function<void(std::uint64_t, std::uint64_t)>;
using number = std::uint64_t;

class handle {
 public:
  handle() = default;
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  virtual ~handle() = default;
  virtual bool insert(number key, number value) = 0;
  virtual bool insert_or_assign(number key, number value) = 0;
  virtual bool update(number key, const std::function<number(number)>& f) = 0;
  virtual bool erase(number key) = 0;
  virtual std::optional<number> find(number key) = 0;
  virtual bool contains(number key) = 0;
  virtual std::vector<std::optional<number>> find_many(const std::vector<number>& keys) = 0;
  virtual void range(number first, number last, const visitor& visit) = 0;
  virtual void iterate(const visitor& visit) = 0;
  virtual void range_snapshot(number first, number last, const visitor& visit) = 0;
  virtual void snapshot(const visitor& visit) = 0;
  virtual std::optional<element> lower_bound(number key) = 0;
  virtual std::optional<element> next(number key) = 0;
  virtual std::optional<element> minimum() = 0;
  virtual std::optional<element> maximum() = 0;
  virtual std::uint64_t size() = 0;
  virtual std::uint64_t approximate_size() = 0;
};

class subject {
 public:
  subject() = default;
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;
  virtual ~subject() = default;
  virtual std::unique_ptr<handle> attach() = 0;
  [[nodiscard]] virtual elements contents() const = 0;  // by for_each
  virtual void clear() = 0;
  virtual void load_sorted(const elements& sorted) = 0;
  [[nodiscard]] virtual std::optional<std::string> broken_invariant() const = 0;
  [[nodiscard]] virtual std::uint64_t unfreed() const = 0;
};

template <class Map, class K, class V>
class handle_of final : public handle {
  using key_of = numbered<K>;
  using value_of = numbered<V>;

 public:
  explicit handle_of(Map& map) : handle_(map.attach()) {}

  bool insert(number key, number value) override {
    return handle_.insert(key_of::made(key), value_of::made(value));
  }
  bool insert_or_assign(number key, number value) override {
    return handle_.insert_or_assign(key_of::made(key), value_of::made(value));
  }
  bool update(number key, const std::function<number(number)>& f) override {
    return handle_.update(key_of::made(key), [&](const V& value) {
      return value_of::made(f(value_of::number(value)));
    });
  }
  bool erase(number key) override { return handle_.erase(key_of::made(key)); }
  std::optional<number> find(number key) override {
    return number_in(handle_.find(key_of::made(key)));
  }
  bool contains(number key) override { return handle_.contains(key_of::made(key)); }
  std::vector<std::optional<number>> find_many(const std::vector<number>& keys) override {
    std::vector<K> made;
    made.reserve(keys.size());
    for (const number key : keys) made.push_back(key_of::made(key));
    // Something is there already, to be overwritten.
    std::vector<std::optional<V>> found;
    for (std::size_t i = 0; i < keys.size(); ++i) found.emplace_back(value_of::made(77));
    handle_.find_many(made, found);
    std::vector<std::optional<number>> numbers;
    numbers.reserve(found.size());
    for (const auto& each : found) numbers.push_back(number_in(each));
    return numbers;
  }
  void range(number first, number last, const visitor& visit) override {
    handle_.range(key_of::made(first), key_of::made(last), numbers_to(visit));
  }
  void iterate(const visitor& visit) override { handle_.iterate(numbers_to(visit)); }
  void range_snapshot(number first, number last, const visitor& visit) override {
    handle_.range_snapshot(key_of::made(first), key_of::made(last), numbers_to(visit));
  }
  void snapshot(const visitor& visit) override { handle_.snapshot(numbers_to(visit)); }
  std::optional<element> lower_bound(number key) override {
    return element_in(handle_.lower_bound(key_of::made(key)));
  }
  std::optional<element> next(number key) override {
    return element_in(handle_.next(key_of::made(key)));
  }
  std::optional<element> minimum() override { return element_in(handle_.minimum()); }
  std::optional<element> maximum() override { return element_in(handle_.maximum()); }
  std::uint64_t size() override { return handle_.size(); }
  std::uint64_t approximate_size() override { return handle_.approximate_size(); }

 private:
  static auto numbers_to(const visitor& visit) {
    return [&visit](const K& key, const V& value) {
      visit(key_of::number(key), value_of::number(value));
    };
  }
  static std::optional<number> number_in(const std::optional<V>& value) {
    return value ? std::optional(value_of::number(*value)) : std::nullopt;
  }
  static std::optional<element> element_in(const std::optional<std::pair<K, V>>& found) {
    if (!found) return std::nullopt;
    return element(key_of::number(found->first), value_of::number(found->second));
  }

  typename Map::handle handle_;
};

template <class K, class V, class Reclaim, class Compare, class Synchronisation, class Settings>
class subject_of final : public subject {
  using map = bt_map<K, V, Reclaim, Compare, Synchronisation, Settings>;

 public:
  std::unique_ptr<handle> attach() override { return std::make_unique<handle_of<map, K, V>>(map_); }
  [[nodiscard]] elements contents() const override {
    elements met;
    map_.for_each([&](const K& key, const V& value) {
      met.emplace_back(numbered<K>::number(key), numbered<V>::number(value));
    });
    return met;
  }
  void clear() override { map_.clear(); }
  void load_sorted(const elements& sorted) override {
    std::vector<std::pair<K, V>> made;
    made.reserve(sorted.size());
    for (const auto& [key, value] : sorted) {
      made.emplace_back(numbered<K>::made(key), numbered<V>::made(value));
    }
    map_.load_sorted(made.begin(), made.end());
  }
  [[nodiscard]] std::optional<std::string> broken_invariant() const override {
    return map_.broken_invariant();
  }
  [[nodiscard]] std::uint64_t unfreed() const override { return map_.unfreed(); }

 private:
  map map_;
};

// --- variants -----------------------------------------------------------------------------------

struct variant {
  const char* name;
  std::unique_ptr<subject> (*make)();
  bool has_keys_in_words;
  bool is_coarse;
  bool frees_at_clear;
  std::uint64_t most_value;  // of the form 2^n - 1
  std::size_t leaf_capacity;
  std::size_t internal_capacity;
};

template <std::size_t Leaf, std::size_t Internal, host::instruction_set Set>
struct settings : bt_capacities<Leaf, Internal> {
  static constexpr host::instruction_set most_instructions = Set;
};

template <class K, class V, class Synchronisation = bt::optimistic, class Settings = bt_settings,
          class Reclaim = reclaim::epochs, class Compare = std::less<K>>
variant variant_of(const char* name) {
  return {
      .name = name,
      .make = []() -> std::unique_ptr<subject> {
        return std::make_unique<subject_of<K, V, Reclaim, Compare, Synchronisation, Settings>>();
      },
      .has_keys_in_words = bt::is_word<K>,
      .is_coarse = Synchronisation::is_coarse,
      .frees_at_clear = std::is_same_v<Reclaim, reclaim::epochs>,
      .most_value = std::uint64_t{0x7fff'ffff} >> (sizeof(V) < 4 ? 31 - 8 * sizeof(V) : 0),
      .leaf_capacity = Settings::leaf_capacity,
      .internal_capacity = Settings::internal_capacity};
}

// Of keys and values that are words, and of those that are in boxes and records: compiled apart, at
// the same time.
std::vector<variant> variants_of_words();
std::vector<variant> variants_of_records();

}  // namespace assay::bt_test

#endif  // ASSAY_MAPS_BT_MAP_TEST_SUBJECT_H_
