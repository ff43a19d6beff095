// The loop over one batch: what it counts, of any operation and with any types.

#include "assay/subject/erased_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/subject/operations.h"
#include "assay/subject/witness.h"
#include "assay/workload/key_space.h"
#include "tests/test_maps.h"

namespace assay::subject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using workload::operation;
using workload::operation_batch;

template <class Handle>
progress perform_numbers(Handle& handle, const operation_batch& batch, std::size_t first,
                         std::size_t last, const task& task, tally& sums) {
  translator<std::uint64_t, std::uint64_t> numbers;
  return perform(handle, numbers, batch, first, last, task, sums);
}

operation_batch batch_of(const std::vector<std::pair<operation, std::uint64_t>>& operations) {
  operation_batch batch;
  for (const auto& [kind, key] : operations) {
    batch.kinds[batch.size] = kind;
    batch.keys[batch.size] = key;
    ++batch.size;
  }
  return batch;
}

TEST(perform, counts_what_was_attempted_and_what_succeeded) {
  correct_map map;
  auto handle = map.attach();
  tally sums;
  const auto batch = batch_of({{operation::insert, 1},
                               {operation::insert, 2},
                               {operation::insert, 1},
                               {operation::find, 1},
                               {operation::find, 3},
                               {operation::erase, 2},
                               {operation::erase, 2},
                               {operation::erase, 9},
                               {operation::find, 2}});
  const progress done = perform_numbers(handle, batch, 0, batch.size, {.salt = 77}, sums);
  EXPECT_EQ(done.performed, 9U);
  EXPECT_FALSE(done.gave_up);
  EXPECT_EQ(sums.attempted, (std::array<std::uint64_t, workload::operation_kinds>{3, 3, 3}));
  EXPECT_EQ(sums.succeeded, (std::array<std::uint64_t, workload::operation_kinds>{2, 1, 1}));
  EXPECT_EQ(sums.wrong_values, 0U);
  EXPECT_EQ(sums.implied_contents(), (contents{1, 1, key_term(value_of(1, 77))}));
}

TEST(perform, counts_values_that_are_not_the_keys) {
  correct_map map;
  map.insert(1, value_of(1, 77));
  map.insert(2, value_of(1, 77));
  auto handle = map.attach();
  tally sums;
  perform_numbers(handle, batch_of({{operation::find, 1}, {operation::find, 2}}), 0, 2,
                  {.salt = 77}, sums);
  EXPECT_EQ(sums.succeeded[2], 2U);
  EXPECT_EQ(sums.wrong_values, 1U);
}

template <class Pair>
class measured_types : public ::testing::Test {};
template <class K, class V>
struct types {
  using key = K;
  using value = V;
};
using every_pair =
    ::testing::Types<types<std::uint64_t, std::uint64_t>, types<std::uint64_t, std::uint32_t>,
                     types<std::uint64_t, std::string>, types<std::uint32_t, std::uint64_t>,
                     types<std::uint32_t, std::uint32_t>, types<std::uint32_t, std::string>,
                     types<std::string, std::uint64_t>, types<std::string, std::uint32_t>,
                     types<std::string, std::string>>;
TYPED_TEST_SUITE(measured_types, every_pair);

// Lengths of which keys use all, and values as well.
template <class T>
type_spec typed(std::uint32_t least, std::uint32_t most) {
  return {.type = kind_of<T>, .least = least, .most = most};
}

template <class Pair>
map_hints hints_of() {
  return {.key_range = 1000,
          .threads = 1,
          .key = typed<typename Pair::key>(8, 20),
          .value = typed<typename Pair::value>(0, 20)};
}

const task summing{.salt = 77, .fold = workload::fold::sum, .stop = {}};

template <class Pair>
value_rules rules_of() {
  const workload::key_space space(1000, workload::key_layout::dense, 0);
  return {77, hints_of<Pair>().value, 1, {}, space, true};
}

void add(operation_batch& batch, operation kind, std::uint64_t key, std::uint64_t last_key = 0) {
  batch.kinds[batch.size] = kind;
  batch.keys[batch.size] = key;
  batch.last_keys[batch.size] = last_key;
  ++batch.size;
}

std::uint64_t& of(std::array<std::uint64_t, workload::operation_kinds>& counts, operation kind) {
  return counts.at(static_cast<std::size_t>(kind));
}

TYPED_TEST(measured_types, are_translated_and_compared_by_every_operation) {
  using K = typename TypeParam::key;
  using V = typename TypeParam::value;
  erased_map<correct_ordered_map<K, V>, K, V> map(hints_of<TypeParam>());
  operation_batch batch;
  for (std::uint64_t key = 1; key <= 100; ++key) add(batch, operation::insert, key);
  for (std::uint64_t key = 1; key <= 100; key += 2) add(batch, operation::erase, key);
  for (std::uint64_t key = 1; key <= 100; ++key) add(batch, operation::find, key);
  add(batch, operation::range, 10, 20);
  add(batch, operation::range, 11, 11);
  add(batch, operation::size, 1);
  add(batch, operation::snapshot, 1);
  add(batch, operation::iterate, 1);
  tally sums;
  const value_rules rules = rules_of<TypeParam>();
  witness seen(rules, 0);
  task noting = summing;
  noting.seen = &seen;
  const progress done = map.attach()->perform(batch, 0, batch.size, noting, sums);
  EXPECT_EQ(seen.stale(), 0U);
  EXPECT_EQ(done.performed, batch.size);
  EXPECT_EQ(sums.succeeded,
            (std::array<std::uint64_t, workload::operation_kinds>{100, 50, 50, 2, 1, 1, 1}));
  EXPECT_EQ(sums.wrong_values, 0U);
  EXPECT_EQ(sums.wrong_visits, 0U);
  EXPECT_EQ(sums.visited, 6U + 0 + 50 + 50);

  contents walked;
  map.for_each([&](std::uint64_t key, std::uint64_t value) {
    ++walked.size;
    walked.key_sum += key;
    EXPECT_TRUE(rules.fits(key, value)) << key;
    walked.pair_sum += key_term(rules.hash(key));
  });
  EXPECT_EQ(walked, sums.implied_contents());
}

TYPED_TEST(measured_types, are_asked_in_numbers) {
  using K = typename TypeParam::key;
  using V = typename TypeParam::value;
  map_hints hints = hints_of<TypeParam>();
  hints.key.bare = hints.value.bare = true;
  erased_map<correct_ordered_map<K, V>, K, V> map(hints);
  const auto handle = map.attach();
  const auto ask = [&](operation kind, std::uint64_t key, std::uint64_t value_or_last = 0) {
    return handle->ask({.kind = kind, .key = key, .value = value_or_last, .last = value_or_last});
  };
  EXPECT_EQ(ask(operation::insert, 7, 70), answer(true));
  EXPECT_EQ(ask(operation::insert, 7, 71), answer(false));
  EXPECT_EQ(ask(operation::insert, 300, 0), answer(true));
  EXPECT_EQ(ask(operation::find, 7), answer(std::optional<std::uint64_t>(70)));
  EXPECT_EQ(ask(operation::find, 8), answer(std::optional<std::uint64_t>()));
  EXPECT_EQ(ask(operation::size, 0), answer(std::uint64_t{2}));
  EXPECT_EQ(ask(operation::range, 8, 300), answer(std::vector<element>{{300, 0}}));
  const std::vector<element> all{{7, 70}, {300, 0}};
  EXPECT_EQ(ask(operation::snapshot, 0), answer(all));
  EXPECT_EQ(walk(map, 10), all);
  EXPECT_EQ(walk(map, 1).size(), 1U);
  EXPECT_EQ(ask(operation::erase, 300), answer(true));
  EXPECT_EQ(ask(operation::erase, 300), answer(false));
}

// A map whose visits meet these elements, whatever it was asked for.
struct says_it_holds {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> elements;

  bool insert(std::uint64_t, std::uint64_t) { return false; }
  bool erase(std::uint64_t) { return false; }
  std::optional<std::uint64_t> find(std::uint64_t) { return {}; }
  template <class Visit>
  void range(std::uint64_t, std::uint64_t, Visit visit) {
    iterate(visit);
  }
  template <class Visit>
  void iterate(Visit visit) {
    for (const auto& [key, value] : elements) visit(key, value);
  }
};

std::uint64_t wrong_visits_of(operation kind, const std::vector<std::uint64_t>& keys,
                              workload::fold fold = workload::fold::count,
                              std::uint64_t salt = 77) {
  says_it_holds map;
  for (const auto key : keys) map.elements.emplace_back(key, value_of(key, salt));
  operation_batch batch;
  add(batch, kind, 10, 20);
  tally sums;
  perform_numbers(map, batch, 0, 1, {.salt = 77, .fold = fold}, sums);
  EXPECT_EQ(sums.visited, keys.size());
  return sums.wrong_visits;
}

TEST(perform, counts_elements_of_a_range_that_are_out_of_its_bounds_or_order) {
  EXPECT_EQ(wrong_visits_of(operation::range, {10, 11, 20}), 0U);
  EXPECT_EQ(wrong_visits_of(operation::range, {9, 10, 20, 21}), 2U);
  EXPECT_EQ(wrong_visits_of(operation::range, {10, 15, 14, 16}), 1U);
  EXPECT_EQ(wrong_visits_of(operation::range, {10, 10, 11}), 1U);
}

TEST(perform, does_not_mind_the_order_of_an_iteration) {
  EXPECT_EQ(wrong_visits_of(operation::iterate, {30, 9, 20}), 0U);
  EXPECT_EQ(wrong_visits_of(operation::iterate, {0, 9}), 1U);
}

TEST(perform, looks_at_the_values_of_elements_that_it_sums) {
  using workload::fold;
  EXPECT_EQ(wrong_visits_of(operation::range, {10, 11}, fold::sum), 0U);
  EXPECT_EQ(wrong_visits_of(operation::range, {10, 11}, fold::sum, 78), 2U);
  EXPECT_EQ(wrong_visits_of(operation::range, {10, 11}, fold::count, 78), 0U);
}

// Meets elements that are wrong and begins again twice; then requests a stop, and may begin again.
struct beginning_again {
  bool insert(std::uint64_t, std::uint64_t) { return true; }
  bool erase(std::uint64_t) { return true; }
  std::optional<std::uint64_t> find(std::uint64_t) { return {}; }
  template <class Visit>
  void range(std::uint64_t first, std::uint64_t, Visit visit) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      visit(first, 0);
      visit(0, 0);
      visit.begin_again();
    }
    visit(first, value_of(first, 77));
    stop_at_end.request_stop();
    if (!finishes) visit.begin_again();
  }
  std::uint64_t size() { return 1; }

  std::stop_source stop_at_end{};
  bool finishes = true;
};

TEST(perform, forgets_what_was_visited_before_a_visit_began_again) {
  beginning_again map;
  operation_batch batch;
  add(batch, operation::range, 10, 20);
  tally sums;
  perform_numbers(map, batch, 0, 1, summing, sums);
  EXPECT_EQ(sums.visited, 1U);
  EXPECT_EQ(sums.wrong_visits, 0U);
}

TEST(perform, counts_a_visit_that_was_given_up_as_unfinished_alone) {
  beginning_again map{.finishes = false};
  operation_batch batch;
  add(batch, operation::insert, 1);
  add(batch, operation::size, 1);
  add(batch, operation::range, 10, 20);
  add(batch, operation::insert, 2);
  tally sums;
  const progress done =
      perform_numbers(map, batch, 0, 4, {.salt = 77, .stop = map.stop_at_end.get_token()}, sums);
  EXPECT_EQ(done.performed, 2U);
  EXPECT_TRUE(done.gave_up);
  EXPECT_EQ(sums.attempted, (std::array<std::uint64_t, workload::operation_kinds>{1, 0, 0, 0, 1}));
  EXPECT_EQ(of(sums.unfinished, operation::range), 1U);
  EXPECT_EQ(sums.visited, 0U);
}

TEST(perform, does_not_begin_a_visit_after_the_stop) {
  beginning_again map;
  map.stop_at_end.request_stop();
  operation_batch batch;
  add(batch, operation::insert, 1);
  add(batch, operation::range, 10, 20);
  tally sums;
  const progress done =
      perform_numbers(map, batch, 0, 2, {.salt = 77, .stop = map.stop_at_end.get_token()}, sums);
  EXPECT_EQ(done.performed, 1U);
  EXPECT_FALSE(done.gave_up);
}

// --- Operations by name --------------------------------------------------------------------------

// The value that is there, or nothing if there was none and it was inserted.
struct find_or_insert_operation {
  static constexpr std::string_view name = "find_or_insert";
  static std::optional<std::uint64_t> ask(auto& map, const question& asked)
    requires requires { map.handle.map().find_or_insert(map.key(1), map.value(1)); }
  {
    return map.number(map.handle.map().find_or_insert(map.key(asked.key), map.value(asked.value)));
  }
  static std::optional<std::uint64_t> right(elements& held, const question& asked) {
    const auto [at, added] = held.emplace(asked.key, asked.value);
    return added ? std::nullopt : std::optional(at->second);
  }
  static operation_outcome outcome_of(const question& asked,
                                      const std::optional<std::uint64_t>& answered) {
    if (!answered) return {.change = 1};
    return {.succeeded = false, .seen = element(asked.key, *answered)};
  }
};

// A map with some of Assay's further operations, and one of its own.
template <class K, class V>
struct many_sided : test_map<many_sided<K, V>, sound_ordered_map<K, V>> {
  using operations = subject::operations<find_or_insert_operation>;

  std::optional<V> find_or_insert(const K& key, const V& value) {
    const std::scoped_lock lock(this->mutex);
    const auto [at, added] = this->elements.emplace(key, value);
    return added ? std::nullopt : std::optional<V>(at->second);
  }
  bool insert_or_assign(const K& key, const V& value) {
    const std::scoped_lock lock(this->mutex);
    return this->elements.insert_or_assign(key, value).second;
  }
  template <class Function>
  bool update(const K& key, Function function) {
    const std::scoped_lock lock(this->mutex);
    const auto at = this->elements.find(key);
    if (at == this->elements.end()) return false;
    at->second = function(at->second);
    return true;
  }
  std::optional<std::pair<K, V>> lower_bound(const K& key) {
    const std::scoped_lock lock(this->mutex);
    const auto at = this->elements.lower_bound(key);
    return at == this->elements.end() ? std::nullopt : std::optional<std::pair<K, V>>(*at);
  }
  template <class Visit>
  void range_snapshot(const K& first, const K& last, Visit visit) {
    this->range(first, last, visit);
  }
  void find_many(std::span<const K> keys, std::span<std::optional<V>> found) {
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = this->find(keys[i]);
  }
  std::unique_ptr<many_sided> clone() {
    auto copy = std::make_unique<many_sided>();
    this->snapshot([&](const K& key, const V& value) { copy->insert(key, value); });
    return copy;
  }
};

operation named(std::string_view name) { return workload::operation_named(name).value(); }

TYPED_TEST(measured_types, may_be_asked_what_a_map_has_of_its_own) {
  using K = typename TypeParam::key;
  using V = typename TypeParam::value;
  using map_type = many_sided<K, V>;
  registered<find_or_insert_operation>();
  registered<extra_operations::contains>();
  registered<extra_operations::insert_or_assign>();
  registered<extra_operations::update>();
  registered<extra_operations::lower_bound>();
  registered<extra_operations::range_snapshot>();
  registered<extra_operations::find_many>();
  registered<extra_operations::clone>();
  erased_map<map_type, K, V> map(hints_of<TypeParam>());
  operation_batch batch;
  for (std::uint64_t key = 1; key <= 10; ++key) add(batch, named("find_or_insert"), key);
  for (std::uint64_t key = 6; key <= 15; ++key) add(batch, named("insert_or_assign"), key);
  for (std::uint64_t key = 11; key <= 20; ++key) add(batch, named("find_or_insert"), key);
  for (std::uint64_t key = 16; key <= 25; ++key) add(batch, named("update"), key);
  for (std::uint64_t key = 16; key <= 25; ++key) add(batch, named("lower_bound"), key);
  add(batch, named("find_many"), 11, 41);  // in steps of 2
  add(batch, named("find_many"), 19, 22);  // each
  add(batch, named("clone"), 1);
  add(batch, named("range_snapshot"), 11, 18);
  tally sums;
  const value_rules rules = rules_of<TypeParam>();
  witness seen(rules, 0);
  task noting = summing;
  noting.seen = &seen;
  EXPECT_EQ(map.attach()->perform(batch, 0, batch.size, noting, sums).performed, batch.size);
  EXPECT_EQ(seen.stale(), 0U);
  EXPECT_EQ(of(sums.attempted, named("find_or_insert")), 20U);
  EXPECT_EQ(of(sums.succeeded, named("find_or_insert")), 15U);
  EXPECT_EQ(of(sums.succeeded, named("insert_or_assign")), 5U);
  EXPECT_EQ(of(sums.succeeded, named("update")), 5U);
  EXPECT_EQ(of(sums.succeeded, named("lower_bound")), 5U);
  EXPECT_EQ(of(sums.succeeded, named("find_many")), 2U);
  EXPECT_EQ(of(sums.succeeded, named("clone")), 1U);
  EXPECT_EQ(of(sums.succeeded, named("range_snapshot")), 1U);
  EXPECT_EQ(sums.visited, 5U + 2U + 20U + 8U);
  EXPECT_EQ(sums.wrong_visits, 0U);
  EXPECT_EQ(sums.wrong_values, 0U);
  contents walked;
  map.for_each([&](std::uint64_t key, std::uint64_t value) {
    ++walked.size;
    walked.key_sum += key;
    EXPECT_TRUE(rules.fits(key, value)) << key;
    walked.pair_sum += key_term(rules.hash(key));
  });
  EXPECT_EQ(walked.size, 20);
  EXPECT_EQ(walked, sums.implied_contents());
  EXPECT_THROW(map.attach()->ask({.kind = named("contains")}), std::logic_error);
}

TYPED_TEST(measured_types, answer_as_a_model_does) {
  using K = typename TypeParam::key;
  using V = typename TypeParam::value;
  map_hints hints = hints_of<TypeParam>();
  hints.key.bare = hints.value.bare = true;
  erased_map<many_sided<K, V>, K, V> map(hints);
  const auto handle = map.attach();
  elements held;
  std::uint64_t value = 0;
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (const auto* name : {"find_or_insert", "update", "lower_bound", "insert_or_assign",
                             "range_snapshot", "find_many", "clone"}) {
      for (const std::uint64_t key : {7U, 300U, 8U, 7U}) {
        const question asked{
            .kind = named(name), .key = key + round, .value = ++value, .last = 308};
        const answer expected = extra_facts_of(asked.kind).right(held, asked);
        EXPECT_EQ(handle->ask(asked), expected) << name << ' ' << asked.key;
      }
    }
  }
  EXPECT_EQ(walk(map, 100), std::vector<element>(held.begin(), held.end()));
}

TEST(perform, looks_for_many_keys_in_equal_steps) {
  const auto sought = [](std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> keys;
    extra_operations::find_many::sought({.key = first, .last = last},
                                        [&](std::uint64_t key) { keys.push_back(key); });
    return keys;
  };
  EXPECT_THAT(sought(7, 6), IsEmpty());
  EXPECT_THAT(sought(7, 7), ElementsAre(7U));
  EXPECT_THAT(sought(7, 9), ElementsAre(7U, 8U, 9U));
  for (const std::uint64_t last : {std::uint64_t{22}, std::uint64_t{1000}, UINT64_MAX}) {
    const auto keys = sought(7, last);
    ASSERT_EQ(keys.size(), 16U);
    for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_EQ(keys[i] - keys[i - 1], (last - 7) / 15);
  }
}

// It finds a value of another key, and not in order.
struct wrong_visits {
  bool insert(std::uint64_t, std::uint64_t) { return false; }
  bool erase(std::uint64_t) { return false; }
  std::optional<std::uint64_t> find(std::uint64_t) { return {}; }
  struct copy {
    void for_each(auto visit) const {
      visit(8, value_of(8, 77));
      visit(7, value_of(8, 77));
    }
  };
  std::unique_ptr<copy> clone() { return std::make_unique<copy>(); }
  void find_many(std::span<const std::uint64_t> keys,
                 std::span<std::optional<std::uint64_t>> found) {
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = value_of(keys[0], 77);
  }
};

TEST(perform, counts_elements_of_operations_by_name_that_are_wrong) {
  const auto wrong = [](operation kind) {
    wrong_visits map;
    operation_batch batch;
    add(batch, kind, 10, 12);
    tally sums;
    perform_numbers(map, batch, 0, 1, summing, sums);
    return sums.wrong_visits;
  };
  EXPECT_EQ(wrong(registered<extra_operations::find_many>()), 2U);
  EXPECT_EQ(wrong(registered<extra_operations::clone>()), 1U);
}

struct wrong_bounds {
  bool insert(std::uint64_t, std::uint64_t) { return false; }
  bool erase(std::uint64_t) { return false; }
  std::optional<std::uint64_t> find(std::uint64_t) { return {}; }
  std::optional<std::pair<std::uint64_t, std::uint64_t>> lower_bound(std::uint64_t key) {
    return std::pair(key - off, value_of(key - off, salt));
  }
  std::uint64_t off;
  std::uint64_t salt;
};

TEST(perform, counts_answers_of_operations_by_name_that_are_wrong) {
  const auto wrong_values = [](std::uint64_t off, std::uint64_t salt) {
    wrong_bounds map{off, salt};
    operation_batch batch;
    add(batch, registered<extra_operations::lower_bound>(), 10);
    tally sums;
    perform_numbers(map, batch, 0, 1, summing, sums);
    return sums.wrong_values;
  };
  EXPECT_EQ(wrong_values(0, 77), 0U);
  EXPECT_EQ(wrong_values(1, 77), 1U);
  EXPECT_EQ(wrong_values(0, 78), 1U);
}

}  // namespace
}  // namespace assay::subject
