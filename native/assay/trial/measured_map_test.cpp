// The loop over one batch: what it counts of the three operations that every map has.

#include "assay/trial/measured_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <stop_token>
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

}  // namespace
}  // namespace assay::trial
