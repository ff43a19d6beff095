// What the tests of bt_map share: every variant of it behind the one interface of numbers
// (any_map.h), so that each test is compiled once and each variant too.

#ifndef TESTS_MAPS_BT_MAP_TEST_SUBJECT_H_
#define TESTS_MAPS_BT_MAP_TEST_SUBJECT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "assay/base/instruction_set.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/node_allocator.h"
#include "assay/maps/radix_map.h"
#include "assay/reclaim/none.h"
#include "assay/subject/any_map.h"
#include "assay/subject/erased_map.h"
#include "assay/subject/operations.h"
#include "assay/subject/type_spec.h"
#include "tests/maps/trees_test_types.h"

namespace assay::bt_test {

// --- keys and values ----------------------------------------------------------------------------

// A key of 8 bytes that has nothing but an order.
struct grid_point {
  std::int32_t row;
  std::int32_t column;
  friend bool operator<(const grid_point& a, const grid_point& b) {
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
struct numbered;
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
// In the order of numbers, most of which share their first part with others.
using pair_of_numbers = std::pair<std::int32_t, std::uint16_t>;
template <>
struct numbered<pair_of_numbers> {
  static pair_of_numbers made(std::uint64_t number) {
    return {static_cast<std::int32_t>(number / 50) - 3,
            static_cast<std::uint16_t>(number % 50 * 999)};
  }
  static std::uint64_t number(const pair_of_numbers& made) {
    return static_cast<std::uint64_t>(std::int64_t{made.first} + 3) * 50 + made.second / 999U;
  }
};
template <>
struct numbered<double> {
  static double made(std::uint64_t number) { return static_cast<double>(number) / 8 - 20; }
  static std::uint64_t number(double made) { return static_cast<std::uint64_t>((made + 20) * 8); }
};
template <>
struct numbered<grid_point> {
  static grid_point made(std::uint64_t number) {
    return {static_cast<std::int32_t>(number / 10), -9 + static_cast<std::int32_t>(number % 10)};
  }
  static std::uint64_t number(const grid_point& made) {
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

}  // namespace assay::bt_test

namespace assay::subject {

template <class T>
  requires requires { &bt_test::numbered<T>::made; }
class codec<T> {
 public:
  explicit codec(const type_spec& /*all are alike*/) {}
  static T encode(std::uint64_t number) { return bt_test::numbered<T>::made(number); }
  static std::uint64_t decode(const T& made) { return bt_test::numbered<T>::number(made); }
};

}  // namespace assay::subject

namespace assay::bt_test {

namespace extra_operations = assay::subject::extra_operations;
using assay::subject::any_handle;
using assay::subject::any_map;
using assay::subject::element;
using assay::subject::erased_map;
using assay::subject::loops;
using assay::subject::map_hints;
using assay::subject::operation_outcome;
using assay::subject::question;
using assay::subject::registered;
using assay::subject::visitor;
using elements = std::vector<element>;
using number = std::uint64_t;

// --- operations ---------------------------------------------------------------------------------

// What Assay has no name for, of which some questions have more than numbers.
struct question_of_function : question {
  std::function<bt_test::number(bt_test::number)> function;
};
struct question_of_elements : question {
  const elements& sorted;
};
enum class call_of_many : std::uint8_t { find, insert, erase };
// A question about several keys at once. `of` has the keys, and the values for an insert. An answer
// is the value that was found, or 1 for a key that was inserted or erased.
struct question_of_many : question {
  call_of_many call;
  const elements& of;
  std::vector<std::optional<number>>& answers;
};

// Neither trials nor the rig ask for it.
struct for_tests {
  static bool right(const auto& /*held*/, const question& /*asked*/) { return false; }
  static operation_outcome outcome_of(const question& /*asked*/, const auto& /*answered*/) {
    return {};
  }
};
struct update_by : for_tests {
  static constexpr std::string_view name = "test_update_by";
  template <class Map, class V = typename Map::value_type>
  static bool ask(Map& map, const question& asked) {
    const auto& function = static_cast<const question_of_function&>(asked).function;
    return map.handle.update(map.key(asked.key), [&](const V& held) -> V {
      return map.value(function(map.number(held)));
    });
  }
};
struct many_at_once : for_tests {
  static constexpr std::string_view name = "test_many_at_once";
  template <class Map, class K = typename Map::key_type, class V = typename Map::value_type>
  static bool ask(Map& map, const question& asked) {
    const auto& many = static_cast<const question_of_many&>(asked);
    const std::size_t size = many.of.size();
    std::vector<K> keys;
    std::vector<V> values;
    for (const auto& [key, value] : many.of) {
      keys.emplace_back(map.key(key));
      values.emplace_back(map.value(value));
    }
    if (many.call == call_of_many::find) {
      // Something is there already, to be overwritten.
      std::vector<std::optional<V>> found;
      for (std::size_t i = 0; i < size; ++i) found.emplace_back(map.value(77));
      map.handle.find_many(keys, found);
      for (const auto& each : found) many.answers.push_back(map.number(each));
      return true;
    }
    // No std::vector of them is a span.
    const auto done = std::make_unique<bool[]>(size);  // NOLINT(modernize-avoid-c-arrays)
    const std::span places(done.get(), size);
    if (many.call == call_of_many::insert) {
      map.handle.insert_many(keys, values, places);
    } else {
      map.handle.erase_many(keys, places);
    }
    for (const bool is_done : places) {
      many.answers.push_back(is_done ? std::optional<number>(1) : std::nullopt);
    }
    return true;
  }
};
struct load_sorted : for_tests {
  static constexpr std::string_view name = "test_load_sorted";
  template <class Map, class K = typename Map::key_type, class V = typename Map::value_type>
  static bool ask(Map& map, const question& asked) {
    const elements& sorted = static_cast<const question_of_elements&>(asked).sorted;
    std::vector<std::pair<K, V>> made;
    made.reserve(sorted.size());
    for (const auto& [key, value] : sorted) made.emplace_back(map.key(key), map.value(value));
    map.handle.map().load_sorted(made.begin(), made.end());
    return true;
  }
};
struct clear : for_tests {
  static constexpr std::string_view name = "test_clear";
  static bool ask(auto& map, const question& /*asked*/) {
    map.handle.map().clear();
    return true;
  }
};
struct unfreed : for_tests {
  static constexpr std::string_view name = "test_unfreed";
  static number ask(auto& map, const question& /*asked*/) { return map.handle.map().unfreed(); }
};
struct approximate_size : for_tests {
  static constexpr std::string_view name = "test_approximate_size";
  static number ask(auto& map, const question& /*asked*/) { return map.handle.approximate_size(); }
};

// Before main(): threads only read which operations there are.
template <class Operation>
inline const workload::operation kind = registered<Operation>();

// --- maps ---------------------------------------------------------------------------------------

// Single questions to a map, as calls.
class handle {
  using operation = workload::operation;

 public:
  explicit handle(any_map& of) : of_(of.attach()) {}

  bool insert(number key, number value) { return ask<bool>(operation::insert, key, value); }
  bool insert_or_assign(number key, number value) {
    return ask<bool>(kind<extra_operations::insert_or_assign>, key, value);
  }
  bool update(number key, const std::function<number(number)>& function) {
    return ask<bool>(question_of_function{{.kind = kind<update_by>, .key = key}, function});
  }
  bool erase(number key) { return ask<bool>(operation::erase, key); }
  std::optional<number> find(number key) {
    return ask<std::optional<number>>(operation::find, key);
  }
  bool contains(number key) { return ask<bool>(kind<extra_operations::contains>, key); }
  std::vector<std::optional<number>> find_many(const std::vector<number>& keys) {
    elements sought;
    for (const number key : keys) sought.emplace_back(key, 0);
    return ask_many(call_of_many::find, sought);
  }
  // For each, 1 if it was done.
  std::vector<std::optional<number>> insert_many(const elements& added) {
    return ask_many(call_of_many::insert, added);
  }
  std::vector<std::optional<number>> erase_many(const elements& erased) {  // whatever their values
    return ask_many(call_of_many::erase, erased);
  }
  std::optional<element> lower_bound(number key) {
    return ask<std::optional<element>>(kind<extra_operations::lower_bound>, key);
  }
  std::optional<element> upper_bound(number key) {
    return ask<std::optional<element>>(kind<extra_operations::upper_bound>, key);
  }
  std::optional<element> minimum() {
    return ask<std::optional<element>>(kind<extra_operations::minimum>);
  }
  std::optional<element> maximum() {
    return ask<std::optional<element>>(kind<extra_operations::maximum>);
  }
  number size() { return ask<number>(operation::size); }
  number approximate_size() { return ask<number>(kind<bt_test::approximate_size>); }

  void range(number first, number last, const visitor& each) {
    visit({.kind = operation::range, .key = first, .last = last}, each);
  }
  void iterate(const visitor& each) { visit({.kind = operation::iterate}, each); }
  void range_snapshot(number first, number last, const visitor& each) {
    visit({.kind = kind<extra_operations::range_snapshot>, .key = first, .last = last}, each);
  }
  void snapshot(const visitor& each) { visit({.kind = operation::snapshot}, each); }
  void clone(const visitor& each) { visit({.kind = kind<extra_operations::clone>}, each); }

  template <class Answer>
  Answer ask(const question& asked) {
    return std::get<Answer>(of_->ask(asked));
  }

 private:
  std::vector<std::optional<number>> ask_many(call_of_many call, const elements& of) {
    std::vector<std::optional<number>> answers;
    answers.reserve(of.size());  // so that no memory is asked for once the map has changed
    ask<bool>(question_of_many{{.kind = kind<many_at_once>}, call, of, answers});
    return answers;
  }
  template <class Answer>
  Answer ask(operation asked, number key = 0, number value = 0) {
    return ask<Answer>(question{.kind = asked, .key = key, .value = value});
  }
  void visit(const question& asked, const visitor& each) {
    of_->visit(asked, each, [] {});
  }

  std::unique_ptr<any_handle> of_;
};

class subject {
 public:
  explicit subject(std::unique_ptr<any_map> map) : map_(std::move(map)) {}

  [[nodiscard]] std::unique_ptr<handle> attach() const { return std::make_unique<handle>(*map_); }
  [[nodiscard]] elements contents() const { return walk(*map_, SIZE_MAX); }
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return map_->broken_invariant();
  }
  void clear() const { attach()->ask<bool>({.kind = kind<bt_test::clear>}); }
  void load_sorted(const elements& sorted) const {
    attach()->ask<bool>(question_of_elements{{.kind = kind<bt_test::load_sorted>}, sorted});
  }
  [[nodiscard]] number unfreed() const {
    return attach()->ask<number>({.kind = kind<bt_test::unfreed>});
  }

 private:
  std::unique_ptr<any_map> map_;
};

template <std::size_t Leaf, std::size_t Internal,
          host::instruction_set Set = bt::default_layout::most_instructions>
struct capacities : bt::default_layout {
  using index = bt::by_separators;
  using allocator = std::allocator<std::byte>;  // whose memory tests count and let run out
  static constexpr std::size_t leaf = Leaf;
  static constexpr std::size_t internal = Internal;
  static constexpr host::instruction_set most_instructions = Set;
};
// The same for a radix_map.
template <std::size_t Leaf = bt_policies<int>::leaf_capacity,
          host::instruction_set Set = bt::default_layout::most_instructions>
struct by_digits : capacities<Leaf, 6, Set> {
  using index = radix::by_digits;
};
using default_capacities =
    capacities<bt_policies<int>::leaf_capacity, bt_policies<int>::internal_capacity>;
// Nodes, boxes and records from where they come by default.
template <class Capacities>
struct in_arena : Capacities {
  using allocator = node_allocator<std::byte>;
};

// The policies of a map in the order in which tests change them.
template <class K, class Synchronisation = bt::optimistic, class Capacities = default_capacities,
          class Reclaim = reclaim::epochs, class Compare = std::less<K>>
struct policies : bt_policies<K> {
  using allocator = typename Capacities::allocator;
  using compare = Compare;
  using reclaim = Reclaim;
  using synchronisation = Synchronisation;
  using layout = Capacities;
  using index = typename Capacities::index;
  static constexpr std::size_t leaf_capacity = Capacities::leaf;
  static constexpr std::size_t internal_capacity = Capacities::internal;
};

template <class K, class V, class Policies>
struct tested : bt_map<K, V, Policies> {
  using operations = assay::subject::operations<update_by, many_at_once, load_sorted, clear,
                                                unfreed, approximate_size>;
};

// --- variants -----------------------------------------------------------------------------------

struct variant {
  const char* name;
  std::unique_ptr<any_map> (*make_map)();
  bool fails_to_compare;  // now and then, as tests ask for it
  bool is_coarse;
  bool frees_at_clear;
  std::uint64_t most_value;  // of the form 2^n - 1
  std::size_t leaf_capacity;
  std::size_t internal_capacity;

  [[nodiscard]] std::unique_ptr<subject> make() const {
    return std::make_unique<subject>(make_map());
  }
};

template <class K, class V, class Synchronisation = bt::optimistic,
          class Capacities = default_capacities, class Reclaim = reclaim::epochs,
          class Compare = std::less<K>>
variant variant_of(const char* name) {
  return {.name = name,
          .make_map = []() -> std::unique_ptr<any_map> {
            using trees_test::strings;
            using map = tested<K, V, policies<K, Synchronisation, Capacities, Reclaim, Compare>>;
            return std::make_unique<erased_map<map, K, V, loops::none>>(
                map_hints{.key_range = 0, .threads = 0, .key = strings, .value = strings});
          },
          .fails_to_compare = std::is_same_v<K, trees_test::moody>,
          .is_coarse = Synchronisation::is_coarse,
          .frees_at_clear = std::is_same_v<Reclaim, reclaim::epochs>,
          .most_value = std::uint64_t{0x7fff'ffff} >> (sizeof(V) < 4 ? 31 - 8 * sizeof(V) : 0),
          .leaf_capacity = Capacities::leaf,
          .internal_capacity = Capacities::internal};
}

// Variants with keys and values that are words, with those in boxes and records, and those of
// radix_map: compiled in three files, at the same time.
std::vector<variant> variants_of_words();
std::vector<variant> variants_of_records();
std::vector<variant> variants_of_digits();

}  // namespace assay::bt_test

#endif  // TESTS_MAPS_BT_MAP_TEST_SUBJECT_H_
