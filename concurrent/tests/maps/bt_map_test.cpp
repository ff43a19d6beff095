// bt_map as a map, by one thread: every variant against std::map, and what is special about keys.

#include "assay/maps/bt_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/maps/concept.h"
#include "tests/maps/bt_map_test_fixture.h"
#include "tests/maps/bt_map_test_subject.h"
#include "tests/maps/trees_test_fixture.h"

namespace assay {
namespace {

using bt_test::element;
using bt_test::elements;
using bt_test::number;
using bt_test::variant;
using trees_test::slowdown;

static_assert(concurrent_map<bt_map<int, std::string>, int, std::string>);
static_assert(concurrent_map<bt_map<std::string, int>, std::string, int>);
static_assert(offers_range<bt_map<int, int>::handle, int, int>);
static_assert(offers_iterate<bt_map<int, int>::handle, int, int>);
static_assert(offers_snapshot<bt_map<int, int>::handle, int, int>);
static_assert(offers_size<bt_map<int, int>::handle>);

class bt_map_variant : public bt_test::fixture {};
INSTANTIATE_TEST_SUITE_P(words, bt_map_variant, testing::ValuesIn(bt_test::variants_of_words()),
                         bt_test::name_of);
INSTANTIATE_TEST_SUITE_P(records, bt_map_variant, testing::ValuesIn(bt_test::variants_of_records()),
                         bt_test::name_of);
INSTANTIATE_TEST_SUITE_P(digits, bt_map_variant, testing::ValuesIn(bt_test::variants_of_digits()),
                         bt_test::name_of);
INSTANTIATE_TEST_SUITE_P(capacities, bt_map_variant,
                         testing::ValuesIn(bt_test::variants_of_capacities()), bt_test::name_of);

using model_map = std::map<number, number>;

std::optional<number> value_in(const model_map& model, number key) {
  const auto found = model.find(key);
  return found == model.end() ? std::nullopt : std::optional(found->second);
}
std::optional<element> element_at(const model_map& model, model_map::const_iterator at) {
  return at == model.end() ? std::nullopt : std::optional<element>(*at);
}

// What a walk visits.
template <class Walk>
elements visited(const Walk& walk) {
  elements met;
  walk([&met](number key, number value) { met.emplace_back(key, value); });
  return met;
}

// All that is asked of an ordered map and changes nothing.
void expect_same_answers(bt_test::handle& handle, const model_map& model, number keys,
                         std::mt19937_64& draw) {
  for (const std::size_t sought : {0U, 1U, 15U, 16U, 17U, 100U}) {
    std::vector<number> many;
    std::vector<std::optional<number>> expected;
    for (std::size_t i = 0; i < sought; ++i) {
      many.push_back(draw() % (keys + 2));
      expected.push_back(value_in(model, many.back()));
    }
    ASSERT_EQ(handle.find_many(many), expected);
  }
  const elements all(model.begin(), model.end());
  ASSERT_EQ(handle.size(), all.size());
  ASSERT_EQ(visited([&](const auto& visit) { handle.iterate(visit); }), all);
  ASSERT_EQ(visited([&](const auto& visit) { handle.snapshot(visit); }), all);
  ASSERT_EQ(visited([&](const auto& visit) { handle.clone(visit); }), all);
  ASSERT_EQ(handle.minimum(), element_at(model, model.begin()));
  ASSERT_EQ(handle.maximum(), all.empty() ? std::nullopt : std::optional(all.back()));
  for (int i = 0; i < 10; ++i) {
    const number first = draw() % (keys + 2);
    const number last = draw() % (keys + 2);
    elements within;
    for (const element& each : all) {
      if (first <= each.first && each.first <= last) within.push_back(each);
    }
    ASSERT_EQ(visited([&](const auto& visit) { handle.range(first, last, visit); }), within);
    ASSERT_EQ(visited([&](const auto& visit) { handle.range_snapshot(first, last, visit); }),
              within);
    ASSERT_EQ(handle.lower_bound(first), element_at(model, model.lower_bound(first)));
    ASSERT_EQ(handle.upper_bound(first), element_at(model, model.upper_bound(first)));
    ASSERT_EQ(handle.find(first), value_in(model, first));
    ASSERT_EQ(handle.contains(last), model.contains(last));
  }
}

// One update of the map and the model, of which `erases` in 8 erase.
void update_both(bt_test::handle& handle, model_map& model, number key, number value,
                 number most_value, unsigned erases, std::mt19937_64& draw) {
  const unsigned kind = draw() % 8;
  if (kind < erases) {
    ASSERT_EQ(handle.erase(key), model.erase(key) == 1);
    return;
  }
  switch (draw() % 3) {
    case 0:
      ASSERT_EQ(handle.insert(key, value), model.emplace(key, value).second);
      break;
    case 1:
      ASSERT_EQ(handle.insert_or_assign(key, value), model.insert_or_assign(key, value).second);
      break;
    default: {
      unsigned calls = 0;
      const bool is_there = model.contains(key);
      ASSERT_EQ(handle.update(key,
                              [&](number held) {
                                ++calls;
                                EXPECT_EQ(held, value_in(model, key));
                                return (held + value) & most_value;
                              }),
                is_there);
      ASSERT_EQ(calls, is_there ? 1U : 0U);
      if (is_there) model[key] = (model[key] + value) & most_value;
    }
  }
}

// The same of several at once, which may be the same key.
void update_both_many(bt_test::handle& handle, model_map& model, number keys, bool erases,
                      std::mt19937_64& draw) {
  const std::array<std::size_t, 6> sizes{0, 1, 15, 16, 17, 50};
  elements many;
  std::vector<std::optional<number>> expected;
  for (std::size_t left = sizes.at(draw() % sizes.size()); left > 0; --left) {
    const auto& [key, value] = many.emplace_back(draw() % keys, draw() % 200);
    const bool changes = erases ? model.erase(key) == 1 : model.emplace(key, value).second;
    expected.push_back(changes ? std::optional<number>(1) : std::nullopt);
  }
  ASSERT_EQ(erases ? handle.erase_many(many) : handle.insert_many(many), expected);
}

TEST_P(bt_map_variant, does_what_std_map_does) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 draw(seed);
  const number many = trees_test::is_emulated ? 200 : 2500;
  for (const number keys : {number{1}, number{3}, number{8}, number{100}, many}) {
    const auto map = GetParam().make();
    const auto handle = map->attach();
    model_map model;
    // Mostly growing, as many of either, mostly shrinking, and down to nothing.
    for (const unsigned erases : {1U, 4U, 7U, 8U}) {
      const number operations = keys < 1000 ? 300 : (erases == 8 ? 8000 : 4000);
      for (number i = 0; i < operations; ++i) {
        if (draw() % 16 == 0) {
          update_both_many(*handle, model, keys, draw() % 8 < erases, draw);
        } else {
          update_both(*handle, model, draw() % keys, draw() % 200, GetParam().most_value, erases,
                      draw);
        }
        if (HasFatalFailure()) return;
        if (i % (operations / 4) == 0) {
          expect_same_answers(*handle, model, keys, draw);
          if (HasFatalFailure()) return;
          expect_sound(*map, model);
        }
      }
      expect_same_answers(*handle, model, keys, draw);
      if (HasFatalFailure()) return;
      expect_sound(*map, model);
    }
    for (number key = 0; key < keys; ++key) handle->erase(key);
    expect_sound(*map, {});
    EXPECT_TRUE(handle->insert(keys, 5));
    map->clear();
    expect_sound(*map, {});
    expect_nothing_waits(*map);
    EXPECT_TRUE(handle->insert(1, 2));
    expect_sound(*map, {{1, 2}});
  }
}

// Nodes are split at one end again and again, and joined from one end.
TEST_P(bt_map_variant, grows_and_shrinks_in_order) {
  const number keys = 3000 / static_cast<number>(slowdown);
  for (const bool ascending : {true, false}) {
    for (const bool first_in_first_out : {true, false}) {
      const auto map = GetParam().make();
      const auto handle = map->attach();
      const auto key = [&](number i, bool up) { return up ? i : keys - 1 - i; };
      for (number i = 0; i < keys; ++i) ASSERT_TRUE(handle->insert(key(i, ascending), i % 200));
      EXPECT_EQ(map->broken_invariant(), std::nullopt);
      EXPECT_EQ(handle->size(), keys);
      for (number i = 0; i < keys; ++i) {
        ASSERT_TRUE(handle->erase(key(i, ascending == first_in_first_out)));
        if (i % (keys / 8) == 0) {
          EXPECT_EQ(map->broken_invariant(), std::nullopt);
        }
      }
      expect_sound(*map, {});
      // It is a single leaf again.
      map->load_sorted({{1, 2}});
      expect_sound(*map, {{1, 2}});
    }
  }
}

TEST_P(bt_map_variant, loads_what_is_sorted) {
  const std::size_t leaf = GetParam().leaf_capacity;
  const std::size_t internal = GetParam().internal_capacity;
  std::vector<std::size_t> sizes{0, 1, 2, 3};
  for (const std::size_t about : {leaf, 2 * leaf, leaf * internal, leaf * internal * 2}) {
    for (const std::size_t less : {2U, 1U, 0U}) sizes.push_back(about - less);
    sizes.push_back(about + 1);
  }
  std::mt19937_64 draw(1);
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(size);
    elements sorted;
    for (number i = 0; i < size; ++i) sorted.emplace_back(2 * i + 1, i % 200);
    const auto map = GetParam().make();
    map->load_sorted(sorted);
    model_map model(sorted.begin(), sorted.end());
    expect_sound(*map, model);
    const auto handle = map->attach();
    expect_same_answers(*handle, model, 2 * size, draw);
    if (HasFatalFailure()) return;
    if (size > 0) {
      EXPECT_THROW(map->load_sorted(sorted), std::logic_error);
      EXPECT_THROW(map->load_sorted({}), std::logic_error);
    }
    for (int i = 0; i < 200; ++i) {
      update_both(*handle, model, draw() % (2 * size + 2), draw() % 200, GetParam().most_value, 4,
                  draw);
      if (HasFatalFailure()) return;
    }
    expect_sound(*map, model);
  }
}

TEST_P(bt_map_variant, loads_nothing_that_is_not_sorted) {
  const auto map = GetParam().make();
  const std::size_t size = 3 * GetParam().leaf_capacity;
  elements sorted;
  for (number i = 0; i < size; ++i) sorted.emplace_back(i, i);
  for (std::size_t i = 1; i < size; ++i) {
    elements equal = sorted;
    equal[i].first = i - 1;
    EXPECT_THROW(map->load_sorted(equal), std::invalid_argument) << i;
    elements swapped = sorted;
    std::swap(swapped[i - 1], swapped[i]);
    EXPECT_THROW(map->load_sorted(swapped), std::invalid_argument) << i;
  }
  expect_sound(*map, {});
  map->load_sorted(sorted);
  expect_sound(*map, model_map(sorted.begin(), sorted.end()));
}

TEST_P(bt_map_variant, knows_about_how_large_it_is) {
  for (const number size : {0U, 1U, 5U, 100U, 3000U}) {
    const auto map = GetParam().make();
    const auto handle = map->attach();
    // In an order that is neither ascending nor random: 3001 is prime.
    for (number i = 0; i < size; ++i) handle->insert(i * 1000 % 3001, 1);
    const std::uint64_t guess = handle->approximate_size();
    if (size < GetParam().leaf_capacity) {
      EXPECT_EQ(guess, size);
    } else {
      // Each of the 64 guesses is off by less than a half of it in standard deviation.
      EXPECT_GT(guess, size / 2);
      EXPECT_LT(guess, size * 2);
    }
  }
}

TEST_P(bt_map_variant, lets_a_visit_end_by_an_exception) {
  const auto map = GetParam().make();
  const auto handle = map->attach();
  for (number key = 0; key < 100; ++key) handle->insert(key, key);
  const auto expect_passes = [&](const auto& walk) {
    number seen = 0;
    EXPECT_THROW(walk([&](number, number) {
                   if (++seen == 40) throw std::out_of_range("enough");
                 }),
                 std::out_of_range);
    EXPECT_EQ(seen, 40U);
  };
  expect_passes([&](const auto& visit) { handle->range(1, 90, visit); });
  expect_passes([&](const auto& visit) { handle->iterate(visit); });
  expect_passes([&](const auto& visit) { handle->range_snapshot(1, 90, visit); });
  expect_passes([&](const auto& visit) { handle->snapshot(visit); });
  EXPECT_THROW(
      handle->update(7, [](number) -> number { throw std::out_of_range("no such number"); }),
      std::out_of_range);
  EXPECT_EQ(handle->find(7), 7U);
  EXPECT_EQ(handle->size(), 100U);
  EXPECT_EQ(map->broken_invariant(), std::nullopt);
}

TEST_P(bt_map_variant, asks_for_a_new_value_again_only_when_the_old_one_was_changed) {
  const auto map = GetParam().make();
  const auto handle = map->attach();
  const auto other = map->attach();
  for (number key = 0; key < 10; ++key) handle->insert(key, key);
  unsigned calls = 0;
  EXPECT_TRUE(handle->update(1, [&](number value) {
    ++calls;
    other->insert_or_assign(2, 20 + calls);  // each is in the same leaf
    other->erase(3);
    return value + 5;
  }));
  EXPECT_EQ(calls, 1U);
  EXPECT_TRUE(handle->update(1, [&](number value) {
    if (++calls == 2) other->insert_or_assign(1, 40);
    return value + 1;
  }));
  EXPECT_EQ(calls, 3U);
  EXPECT_FALSE(handle->update(4, [&](number value) {
    other->erase(4);
    return value;
  }));
  expect_sound(*map, {{0, 0}, {1, 41}, {2, 21}, {5, 5}, {6, 6}, {7, 7}, {8, 8}, {9, 9}});
}

TEST_P(bt_map_variant, lets_a_visit_call_it_by_another_handle) {
  const auto map = GetParam().make();
  const auto handle = map->attach();
  const auto other = map->attach();
  const auto expect_erases_all = [&](const auto& walk) {
    for (number key = 0; key < 100; ++key) handle->insert(key, key);
    number seen = 0;
    walk([&](number key, number) {
      EXPECT_EQ(key, seen++);
      EXPECT_TRUE(other->erase(key));
    });
    EXPECT_EQ(seen, 100U);
    expect_sound(*map, {});
  };
  expect_erases_all([&](const auto& visit) { handle->range(0, 99, visit); });
  expect_erases_all([&](const auto& visit) { handle->iterate(visit); });
  expect_erases_all([&](const auto& visit) { handle->range_snapshot(0, 99, visit); });
  expect_erases_all([&](const auto& visit) { handle->snapshot(visit); });
}

// What the map holds while it is changed a lot is bounded.
TEST_P(bt_map_variant, gives_back_what_was_replaced) {
  if (!GetParam().frees_at_clear) GTEST_SKIP() << "frees later";
  const auto map = GetParam().make();
  const auto handle = map->attach();
  for (number i = 0; i < 2000; ++i) {
    handle->insert_or_assign(i % 50, i % 200);
    handle->update(i % 50, [](number value) { return value; });
    if (i % 3 == 0) handle->erase(i % 50);
  }
  map->clear();
  expect_nothing_waits(*map);
  expect_sound(*map, {});
}

// --- keys ---------------------------------------------------------------------------------------

TEST(bt_map, refuses_places_that_are_not_as_many_as_the_keys) {
  bt_map<int, int> map;
  auto handle = map.attach();
  handle.insert(1, 2);
  const std::array<int, 3> keys{1, 2, 3};
  std::array<std::optional<int>, 3> found{7, 7, 7};
  EXPECT_THROW(handle.find_many(keys, std::span(found).first(2)), std::invalid_argument);
  EXPECT_THROW(handle.find_many(std::span(keys).first(2), found), std::invalid_argument);
  EXPECT_THROW(handle.find_many({}, found), std::invalid_argument);
  EXPECT_THAT(found, testing::Each(std::optional(7)));
  handle.find_many(keys, found);
  EXPECT_THAT(found, testing::ElementsAre(std::optional(2), std::nullopt, std::nullopt));
  std::array<bool, 3> answers{};
  const std::span two = std::span(answers).first(2);
  EXPECT_THROW(handle.insert_many(keys, keys, two), std::invalid_argument);
  EXPECT_THROW(handle.insert_many(keys, std::span(keys).first(2), answers), std::invalid_argument);
  EXPECT_THROW(handle.erase_many(keys, two), std::invalid_argument);
  EXPECT_EQ(handle.size(), 1U);
}

// Needs no key for itself, also where vector instructions take the greatest for unused places.
template <class K, class Compare = std::less<K>, host::instruction_set Set>
void expect_holds_all(const std::vector<K>& extremes, const std::vector<K>& others) {
  std::vector<K> all = extremes;
  all.insert(all.end(), others.begin(), others.end());
  std::sort(all.begin(), all.end(), Compare());
  for (const bool extremes_first : {true, false}) {
    bt_map<K, int,
           bt_test::policies<K, bt::optimistic, bt_test::capacities<6, 6, Set>, reclaim::epochs,
                             Compare>>
        map;
    auto handle = map.attach();
    for (const bool first : {true, false}) {
      for (const K& key : first == extremes_first ? extremes : others) {
        EXPECT_TRUE(handle.insert(key, 1));
        EXPECT_FALSE(handle.insert(key, 2));
      }
    }
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
    std::vector<K> walked;
    map.for_each([&](const K& key, int) { walked.push_back(key); });
    EXPECT_EQ(walked, all);
    walked.clear();
    handle.range(all.front(), all.back(), [&](const K& key, int) { walked.push_back(key); });
    EXPECT_EQ(walked, all);
    walked.clear();
    for (auto at = handle.minimum(); at; at = handle.upper_bound(at->first))
      walked.push_back(at->first);
    EXPECT_EQ(walked, all);
    EXPECT_EQ(handle.maximum()->first, all.back());
    EXPECT_EQ(handle.upper_bound(all.back()), std::nullopt);
    for (const K& key : all) {
      EXPECT_EQ(handle.find(key), 1);
      EXPECT_EQ(handle.lower_bound(key)->first, key);
    }
    std::vector<std::optional<int>> found(all.size());
    handle.find_many(all, found);
    EXPECT_THAT(found, testing::Each(std::optional(1)));
    for (const K& key : others) EXPECT_TRUE(handle.erase(key));
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
    for (const K& key : extremes) EXPECT_TRUE(handle.contains(key));
    for (const K& key : extremes) EXPECT_TRUE(handle.erase(key));
    EXPECT_EQ(handle.size(), 0U);
    std::vector<std::pair<K, int>> sorted;
    for (const K& key : all) sorted.emplace_back(key, 1);
    map.load_sorted(sorted.begin(), sorted.end());
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
    for (const K& key : all) EXPECT_TRUE(handle.erase(key));
    EXPECT_EQ(handle.minimum(), std::nullopt);
    EXPECT_EQ(handle.maximum(), std::nullopt);
  }
}
template <class K>
void expect_holds_all_numbers() {
  using limits = std::numeric_limits<K>;
  const std::vector<K> extremes{limits::max(), limits::lowest(), K(limits::max() - 1),
                                K(limits::lowest() + 1)};
  std::vector<K> others;
  for (int i = 2; i < 102; ++i) others.push_back(static_cast<K>(i));
  expect_holds_all<K, std::less<K>, host::instruction_set::scalar>(extremes, others);
  expect_holds_all<K, std::less<K>, host::instruction_set::avx2>(extremes, others);
  expect_holds_all<K, std::less<K>, host::instruction_set::avx512>(extremes, others);
}
TEST(bt_map, needs_no_integer_for_itself) {
  expect_holds_all_numbers<std::uint32_t>();
  expect_holds_all_numbers<std::int64_t>();
  expect_holds_all_numbers<std::uint8_t>();
}
TEST(bt_map, needs_no_other_key_for_itself) {
  std::vector<double> fractions;
  for (int i = 1; i < 100; ++i) fractions.push_back(i / 7.0);
  const double infinity = std::numeric_limits<double>::infinity();
  expect_holds_all<double, std::less<double>, host::instruction_set::avx512>(
      {infinity, -infinity, 0.0, std::numeric_limits<double>::denorm_min(),
       std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()},
      fractions);
  std::vector<std::string> texts;
  for (int i = 1; i < 100; ++i) texts.push_back(std::to_string(i));
  expect_holds_all<std::string, std::greater<std::string>, host::instruction_set::avx512>(
      {"", std::string(1, '\0'), std::string(1000, '\xff'), "a"}, texts);
}

TEST(bt_map, takes_zeros_of_both_signs_for_one_key) {
  bt_map<double, int> map;
  auto handle = map.attach();
  EXPECT_TRUE(handle.insert(0.0, 1));
  EXPECT_FALSE(handle.insert(-0.0, 2));
  EXPECT_FALSE(handle.insert_or_assign(-0.0, 3));
  EXPECT_EQ(handle.find(0.0), 3);
  EXPECT_TRUE(handle.erase(-0.0));
  EXPECT_EQ(handle.size(), 0U);
}

// Keys that are equivalent, but not equal.
struct case_insensitive {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::ranges::lexicographical_compare(a, b, [](unsigned char one, unsigned char other) {
      return std::tolower(one) < std::tolower(other);
    });
  }
};
template <class Synchronisation>
void expect_ignores_case() {
  bt_map<std::string, int,
         bt_test::policies<std::string, Synchronisation, bt_test::capacities<6, 6>, reclaim::epochs,
                           case_insensitive>>
      map;
  auto handle = map.attach();
  for (char c = 'a'; c <= 'z'; ++c) EXPECT_TRUE(handle.insert({c, 'x'}, c));
  for (char c = 'A'; c <= 'Z'; ++c) {
    const auto lower = static_cast<char>(std::tolower(c));
    EXPECT_FALSE(handle.insert({c, 'x'}, 0));
    EXPECT_EQ(handle.find({c, 'X'}), lower);
    EXPECT_FALSE(handle.insert_or_assign({c, 'X'}, lower + 1));
    const std::string assigned = handle.lower_bound({lower, 'x'})->first;
    EXPECT_TRUE(handle.update({lower, 'X'}, [](int value) { return value + 1; }));
    EXPECT_EQ(handle.lower_bound({lower, 'x'})->first, assigned) << "the key stays";
    EXPECT_EQ(handle.find({lower, 'x'}), lower + 2);
  }
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
  std::string first_letters;
  handle.range({"BX"}, {"yx"}, [&](const std::string& key, int) {
    first_letters += static_cast<char>(std::tolower(key[0]));
  });
  EXPECT_EQ(first_letters, "bcdefghijklmnopqrstuvwxy");
  EXPECT_EQ(handle.size(), 26U);
  for (char c = 'a'; c <= 'z'; ++c) EXPECT_TRUE(handle.erase({c, 'X'}));
  EXPECT_EQ(handle.size(), 0U);
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}
TEST(bt_map, takes_equivalent_keys_for_one) {
  expect_ignores_case<bt::optimistic>();
  expect_ignores_case<bt::coarse<std::mutex>>();
}

// An order that is part of the string's type: std::hash knows nothing of these.
struct traits_that_ignore_case : std::char_traits<char> {
  static char lower(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  static bool eq(char a, char b) { return lower(a) == lower(b); }
  static bool lt(char a, char b) { return lower(a) < lower(b); }
  static int compare(const char* a, const char* b, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (!eq(a[i], b[i])) return lt(a[i], b[i]) ? -1 : 1;
    }
    return 0;
  }
};
TEST(bt_map, takes_strings_of_other_traits) {
  using text = std::basic_string<char, traits_that_ignore_case>;
  bt_map<text, int> map;
  auto handle = map.attach();
  EXPECT_TRUE(handle.insert("one", 1));
  EXPECT_FALSE(handle.insert("ONE", 2));
  EXPECT_EQ(handle.find("oNe"), 1);
  EXPECT_TRUE(handle.erase("One"));
}

// An order with a state.
TEST(bt_map, takes_any_order) {
  struct by_last_digit {
    explicit by_last_digit(int modulus_) : modulus(modulus_) {}
    bool operator()(int a, int b) const { return a % modulus < b % modulus; }
    int modulus;
  };
  struct in_that_order : bt_policies<int> {
    using compare = by_last_digit;
  };
  bt_map<int, int, in_that_order> map(by_last_digit(10));
  auto handle = map.attach();
  EXPECT_TRUE(handle.insert(21, 1));
  EXPECT_TRUE(handle.insert(13, 2));
  EXPECT_FALSE(handle.insert(31, 3));
  EXPECT_EQ(handle.find(11), std::optional(1));
  std::vector<int> walked;
  map.for_each([&](int key, int) { walked.push_back(key); });
  EXPECT_THAT(walked, testing::ElementsAre(21, 13));
}

// Enumerators, pointers, characters and truth values.
TEST(bt_map, takes_other_words) {
  enum class colour : std::uint8_t { red, green };
  bt_map<colour, bool> colours;
  auto of_colours = colours.attach();
  EXPECT_TRUE(of_colours.insert(colour::green, true));
  EXPECT_TRUE(of_colours.insert(colour::red, false));
  EXPECT_EQ(of_colours.minimum(), std::pair(colour::red, false));

  const std::array<int, 100> numbers{};
  bt_map<const int*, int> pointers;
  auto of_pointers = pointers.attach();
  for (const int& each : numbers) EXPECT_TRUE(of_pointers.insert(&each, 1));
  EXPECT_EQ(of_pointers.maximum()->first, &numbers.back());
  for (const int& each : numbers) EXPECT_TRUE(of_pointers.contains(&each));

  bt_map<bool, char> truths;
  auto of_truths = truths.attach();
  EXPECT_TRUE(of_truths.insert(true, 't'));
  EXPECT_TRUE(of_truths.insert(false, 'f'));
  EXPECT_EQ(of_truths.upper_bound(false), std::pair(true, 't'));

  bt_map<char32_t, long double> characters;
  auto of_characters = characters.attach();
  for (char32_t c = 0; c < 200; ++c) EXPECT_TRUE(of_characters.insert(c, c));
  EXPECT_EQ(of_characters.find(U'a'), static_cast<long double>(U'a'));
  EXPECT_EQ(characters.broken_invariant(), std::nullopt);
}

}  // namespace
}  // namespace assay
