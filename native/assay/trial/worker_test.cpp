#include "assay/trial/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

#include "assay/host/clock.h"
#include "assay/trial/batch_pacer.h"

namespace assay::trial {
namespace {

using std::chrono::microseconds;
using workload::operation_batch;

constexpr std::size_t capacity = operation_batch::capacity;

TEST(batch_pacer, begins_with_one_operation_and_doubles_while_batches_are_short) {
  batch_pacer pacer;
  for (std::size_t expected = 1; expected <= capacity; expected *= 2) {
    EXPECT_EQ(pacer.size(), expected);
    pacer.took(10);
  }
  EXPECT_EQ(pacer.size(), capacity);
}

// Whatever an operation takes, the batches come to last between 50 and 100 us, or have a length at
// the bounds.
TEST(batch_pacer, comes_to_batches_of_at_most_100_us) {
  for (std::uint64_t operation_ns = 1; operation_ns < 1'000'000'000;
       operation_ns = operation_ns * 3 / 2 + 1) {
    batch_pacer pacer;
    for (int i = 0; i < 20; ++i) pacer.took(pacer.size() * operation_ns);
    const std::uint64_t batch_ns = pacer.size() * operation_ns;
    EXPECT_TRUE(batch_ns <= batch_pacer::longest_ns || pacer.size() == 1) << operation_ns;
    EXPECT_TRUE(2 * batch_ns > batch_pacer::longest_ns || pacer.size() == capacity) << operation_ns;
  }
}

TEST(batch_pacer, shortens_at_once_when_operations_become_slow) {
  batch_pacer pacer;
  for (int i = 0; i < 20; ++i) pacer.took(10);
  pacer.took(1'000'000'000);
  EXPECT_EQ(pacer.size(), 1U);
}

struct notes {
  std::unique_ptr<worker> self = std::make_unique<worker>();
  std::vector<std::size_t> sizes;
  std::vector<std::uint64_t> keys;
};

// A handle that notes its batches, takes its time, and asks for a stop after some batches.
class noting_handle final : public attached_handle {
 public:
  noting_handle(notes& notes, microseconds operation, std::size_t batches, std::stop_source& stop)
      : notes_(notes), operation_(operation), batches_(batches), stop_(stop) {}

  progress perform(const operation_batch& batch, std::size_t, std::size_t, const task&,
                   tally& sums) override {
    notes_.sizes.push_back(batch.size);
    notes_.keys.insert(notes_.keys.end(), batch.keys.begin(), batch.keys.begin() + batch.size);
    std::this_thread::sleep_for(operation_ * batch.size);
    for (std::size_t i = 0; i < batch.size; ++i) {
      ++sums.attempted[static_cast<std::size_t>(batch.kinds[i])];
    }
    if (notes_.sizes.size() == batches_) stop_.request_stop();
    return {batch.size, false};
  }

 private:
  notes& notes_;
  microseconds operation_;
  std::size_t batches_;
  std::stop_source& stop_;
};

std::unique_ptr<workload::generator> any_operations() {
  return workload::make_generator({100, workload::key_layout::dense, 0}, {.mix = {20, 10, 70}}, 1);
}

notes measure_noting(microseconds operation, std::size_t batches, std::uint64_t interval_ns,
                     std::uint64_t warm_up_ns = 0, std::uint64_t started_ns_ago = 0) {
  notes result;
  std::stop_source stop;
  result.self->handle = std::make_unique<noting_handle>(result, operation, batches, stop);
  result.self->operations = any_operations();
  result.self->meter.emplace();
  result.self->series.resize(5);
  const std::uint64_t start_ns = host::now_ns() - started_ns_ago;
  measure(*result.self, {start_ns, warm_up_ns, interval_ns}, 0, stop.get_token());
  return result;
}

std::uint64_t sum(const auto& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

TEST(measure, begins_with_one_operation_and_at_most_doubles) {
  const auto noted = measure_noting(microseconds(0), 30, 1'000'000'000);
  ASSERT_EQ(noted.sizes.size(), 30U);
  EXPECT_EQ(noted.sizes[0], 1U);
  for (std::size_t i = 1; i < noted.sizes.size(); ++i) {
    EXPECT_LE(noted.sizes[i], std::min(2 * noted.sizes[i - 1], capacity));
  }
}

TEST(measure, gives_slow_operations_batches_of_their_own) {
  EXPECT_EQ(measure_noting(microseconds(200), 10, 1'000'000'000).sizes,
            std::vector<std::size_t>(10, 1));
}

TEST(measure, puts_every_operation_into_the_series_even_those_after_its_end) {
  for (const std::uint64_t interval_ns : {1ULL, 300'000ULL, 1'000'000'000ULL}) {
    const auto noted = measure_noting(microseconds(100), 20, interval_ns);
    EXPECT_EQ(noted.self->series.size(), 5U);
    EXPECT_EQ(sum(noted.self->series), sum(noted.sizes));
    EXPECT_EQ(sum(noted.self->series), noted.self->measured.operations());
  }
}

TEST(measure, puts_operations_into_the_interval_in_which_they_ended) {
  const auto early = measure_noting(microseconds(100), 20, 1'000'000'000);
  EXPECT_EQ(early.self->series[0], sum(early.sizes));
  const auto late = measure_noting(microseconds(100), 20, 1);
  EXPECT_EQ(late.self->series[4], sum(late.sizes));
}

TEST(measure, lasts_as_long_as_its_batches) {
  const auto noted = measure_noting(microseconds(1000), 5, 1'000'000'000);
  EXPECT_GE(noted.self->measured_ns, 5'000'000U);
}

// Where the warm-up ends among the batches is up to the machine; these hold wherever it does.
TEST(measure, measures_what_a_warm_up_leaves) {
  for (const std::uint64_t warm_up_ns : {1ULL, 500'000ULL, 3'000'000ULL, 1'000'000'000'000ULL}) {
    const std::uint64_t before = host::now_ns();
    const auto noted = measure_noting(microseconds(100), 40, 1'000'000, warm_up_ns);
    const worker& self = *noted.self;
    EXPECT_EQ(self.warmed_up.operations() + self.measured.operations(), sum(noted.sizes));
    EXPECT_EQ(sum(self.series), self.measured.operations());
    EXPECT_GE(self.measured_ns, 100'000 * self.measured.operations());
    EXPECT_LE(self.measured_ns + 100'000 * self.warmed_up.operations(), host::now_ns() - before);
    EXPECT_EQ(self.series.size(), 5U);
  }
}

TEST(measure, counts_nothing_of_a_warm_up_that_the_stop_ends) {
  const auto noted = measure_noting(microseconds(100), 10, 1, 3'600'000'000'000);
  EXPECT_EQ(noted.self->warmed_up.operations(), sum(noted.sizes));
  EXPECT_EQ(noted.self->measured.operations(), 0U);
  EXPECT_EQ(noted.self->series, std::vector<std::uint64_t>(5));
}

TEST(measure, counts_all_when_its_thread_comes_after_the_warm_up) {
  const auto noted = measure_noting(microseconds(0), 10, 1, 1000, 1000);
  EXPECT_EQ(noted.self->warmed_up.operations(), 0U);
  EXPECT_EQ(noted.self->measured.operations(), sum(noted.sizes));
}

TEST(measure, counts_its_time_from_the_common_start_when_its_thread_comes_late) {
  constexpr std::uint64_t second = 1'000'000'000;
  for (const std::uint64_t warm_up_ns : {std::uint64_t{0}, second / 2}) {
    const auto noted = measure_noting(microseconds(0), 10, 1, warm_up_ns, second);
    EXPECT_GE(noted.self->measured_ns, second - warm_up_ns);
  }
}

TEST(measure, begins_the_series_with_the_measured_interval) {
  constexpr std::uint64_t hour = 3'600'000'000'000;
  const auto noted = measure_noting(microseconds(100), 40, hour / 2, hour + 2'000'000, hour);
  EXPECT_EQ(noted.self->series[0], noted.self->measured.operations());
}

TEST(measure, does_not_begin_the_sequence_of_operations_anew_after_the_warm_up) {
  const auto noted = measure_noting(microseconds(0), 2000, 1'000'000'000, 1'000'000);
  const auto operations = any_operations();
  operation_batch batch;
  std::vector<std::uint64_t> keys;
  for (const std::size_t size : noted.sizes) {
    operations->fill(batch, size);
    keys.insert(keys.end(), batch.keys.begin(), batch.keys.begin() + size);
  }
  EXPECT_EQ(noted.keys, keys);
}

TEST(measure, does_nothing_when_the_stop_came_first) {
  const std::stop_source stop;
  stop.request_stop();
  worker self;
  self.series.resize(1);
  for (const std::uint64_t warm_up_ns : {0ULL, 1'000'000'000'000ULL}) {
    self.meter.emplace();
    const std::uint64_t start = host::now_ns();
    measure(self, {start, warm_up_ns, 1}, 0, stop.get_token());
    EXPECT_EQ(self.warmed_up.operations() + self.measured.operations(), 0U);
    EXPECT_FALSE(self.unfinished);
    EXPECT_LE(self.measured_ns, host::now_ns() - start);
  }
}

TEST(time_generation, finds_that_generating_takes_time) {
  worker self;
  self.operations = any_operations();
  time_generation(self);
  EXPECT_GT(self.generation_ns, 0);
}

}  // namespace
}  // namespace assay::trial
