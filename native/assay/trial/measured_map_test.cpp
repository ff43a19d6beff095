// The loop over one batch: what it counts, of any operation and with any types.

#include "assay/trial/measured_map.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "assay/trial/test_maps.h"

namespace assay::trial {
namespace {

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
  EXPECT_EQ(sums.implied_contents(), (contents{1, 1, pair_term(1, value_of(1, 77))}));
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

// A handle that asks for a stop in its `stop_at`th call, and may give that call up.
class stopping_handle {
 public:
  stopping_handle(std::stop_source& stop, int stop_at, bool gives_up)
      : stop_(stop), left_(stop_at), gives_up_(gives_up) {}

  std::optional<bool> insert(std::uint64_t, std::uint64_t, const std::stop_token& stop) {
    return answer<bool>(true, stop);
  }
  std::optional<bool> erase(std::uint64_t, const std::stop_token& stop) {
    return answer<bool>(false, stop);
  }
  std::optional<std::optional<std::uint64_t>> find(std::uint64_t, const std::stop_token& stop) {
    return answer<std::optional<std::uint64_t>>(std::nullopt, stop);
  }

 private:
  template <class Answer>
  std::optional<Answer> answer(Answer normal, const std::stop_token& stop) {
    if (--left_ == 0) stop_.request_stop();
    if (stop.stop_requested() && gives_up_) return {};
    return std::make_optional<Answer>(normal);
  }

  std::stop_source& stop_;
  int left_;
  bool gives_up_;
};
static_assert(stoppable_map_handle<stopping_handle, std::uint64_t, std::uint64_t>);

TEST(perform, leaves_the_rest_of_a_batch_when_a_stop_is_requested) {
  const auto batch =
      batch_of(std::vector<std::pair<operation, std::uint64_t>>(10, {operation::insert, 1}));
  std::stop_source stop;
  stopping_handle handle(stop, 4, false);
  tally sums;
  const progress done =
      perform_numbers(handle, batch, 0, batch.size, {.stop = stop.get_token()}, sums);
  EXPECT_EQ(done.performed, 4U);
  EXPECT_FALSE(done.gave_up);
  EXPECT_EQ(sums.attempted[0], 4U);
}

TEST(perform, does_not_count_an_operation_that_gave_up) {
  for (const auto kind : {operation::insert, operation::erase, operation::find}) {
    const auto batch = batch_of(std::vector<std::pair<operation, std::uint64_t>>(10, {kind, 1}));
    std::stop_source stop;
    stopping_handle handle(stop, 4, true);
    tally sums;
    const progress done =
        perform_numbers(handle, batch, 0, batch.size, {.stop = stop.get_token()}, sums);
    EXPECT_EQ(done.performed, 3U);
    EXPECT_TRUE(done.gave_up);
    EXPECT_EQ(sums.operations(), 3U);
    EXPECT_EQ(sums.attempted[static_cast<std::size_t>(kind)], 3U);
  }
}

TEST(perform, does_not_accept_that_an_operation_gives_up_unasked) {
  class giving_up {
   public:
    std::optional<bool> insert(std::uint64_t, std::uint64_t, const std::stop_token&) { return {}; }
    std::optional<bool> erase(std::uint64_t, const std::stop_token&) { return {}; }
    std::optional<std::optional<std::uint64_t>> find(std::uint64_t, const std::stop_token&) {
      return {};
    }
  } unasked;
  tally sums;
  EXPECT_THROW(perform_numbers(unasked, batch_of({{operation::find, 1}}), 0, 1, {}, sums),
               std::logic_error);
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
datum typed(std::uint32_t least, std::uint32_t most) {
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
  measured<correct_ordered_map<K, V>, K, V> map(hints_of<TypeParam>());
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
  const progress done = map.attach()->perform(batch, 0, batch.size, summing, sums);
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
    walked.pair_sum += pair_term(key, value);
  });
  EXPECT_EQ(walked, sums.implied_contents());
  for (const auto by : {operation::range, operation::snapshot, operation::iterate}) {
    const observation seen = map.observe(by, 1, 1000, 1000);
    EXPECT_EQ(seen.found, walked);
    EXPECT_TRUE(seen.ascending);
    EXPECT_TRUE(seen.ended);
    EXPECT_FALSE(map.observe(by, 1, 1000, 49).ended);
  }
  EXPECT_EQ(map.observe(operation::size, 1, 1000, 1000).found.size, 50);
  EXPECT_EQ(map.observe(operation::range, 2, 4, 1000).found.key_sum, 6U);
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

// Meets elements that are wrong, begins again twice, and gives up if a stop is requested.
struct beginning_again {
  bool insert(std::uint64_t, std::uint64_t) { return true; }
  bool erase(std::uint64_t) { return true; }
  std::optional<std::uint64_t> find(std::uint64_t) { return {}; }
  template <class Visit>
  bool range(std::uint64_t first, std::uint64_t, Visit visit, const std::stop_token&) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      visit(first, 0);
      visit(0, 0);
      visit.begin_again();
    }
    visit(first, value_of(first, 77));
    stop_at_end.request_stop();
    return finishes;
  }
  std::optional<std::uint64_t> size(const std::stop_token& stop) {
    return stop.stop_requested() ? std::nullopt : std::optional<std::uint64_t>(1);
  }

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

TEST(perform, counts_a_visit_that_gave_up_as_unfinished_alone) {
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

}  // namespace
}  // namespace assay::trial
