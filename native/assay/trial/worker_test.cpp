#include "assay/trial/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <memory>
#include <numeric>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "assay/host/clock.h"
#include "assay/trial/batch_pacer.h"

namespace assay::trial {
namespace {

using std::chrono::microseconds;
using subject::any_handle;
using subject::progress;
using subject::tally;
using subject::task;
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

TEST(batch_pacer, keeps_a_fixed_length) {
  batch_pacer pacer(7);
  for (const std::uint64_t ns : {10ULL, 1'000'000'000ULL, 10ULL}) {
    EXPECT_EQ(pacer.size(), 7U);
    pacer.took(ns);
  }
}

struct notes {
  std::unique_ptr<worker> self = std::make_unique<worker>();
  std::vector<std::size_t> sizes;
  std::vector<std::uint64_t> keys;
};

// A handle that notes its batches, takes its time, and asks for a stop after some batches.
class noting_handle final : public any_handle {
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

TEST(measure, takes_batches_of_the_length_that_was_asked_for) {
  std::stop_source stop;
  notes result;
  result.self->handle = std::make_unique<noting_handle>(result, microseconds(200), 5, stop);
  result.self->operations = any_operations();
  result.self->meter.emplace();
  result.self->series.resize(1);
  result.self->batch_size = 3;
  measure(*result.self, {host::now_ns(), 0, 1}, 0, stop.get_token());
  EXPECT_EQ(result.sizes, std::vector<std::size_t>(5, 3));
}

// --- Latency and open loops
// --------------------------------------------------------------------------------

// A map whose `slow`th operation (from 0) takes `slow_for` or more, and every other `each` or more.
struct slow_map {
  microseconds each{0};
  std::size_t slow = SIZE_MAX;
  microseconds slow_for{0};
  std::size_t operations = 0;  // after which a stop is requested
};

// Notes the lengths of the segments in which it is called.
class slow_handle final : public any_handle {
 public:
  slow_handle(const slow_map& map, std::stop_source& stop, std::vector<std::size_t>& segments)
      : map_(map), stop_(stop), segments_(segments) {}

  progress perform(const operation_batch& batch, std::size_t first, std::size_t last, const task&,
                   tally& sums) override {
    segments_.push_back(last - first);
    for (std::size_t i = first; i < last; ++i) {
      const auto takes = performed_ == map_.slow ? map_.slow_for : map_.each;
      const std::uint64_t end = host::now_ns() + 1000 * static_cast<std::uint64_t>(takes.count());
      while (host::now_ns() < end) {
      }
      ++sums.attempted[static_cast<std::size_t>(batch.kinds[i])];
      if (++performed_ == map_.operations) stop_.request_stop();
    }
    return {last - first, false};
  }

 private:
  slow_map map_;
  std::stop_source& stop_;
  std::vector<std::size_t>& segments_;
  std::size_t performed_ = 0;
};

struct timed_notes {
  std::unique_ptr<worker> self = std::make_unique<worker>();
  std::vector<std::size_t> segments;
  measure::duration_histogram durations;  // of all kinds
};

timed_notes measure_timed(const slow_map& map, latency_sampling sampling,
                          std::optional<arrivals> open = {}, std::uint64_t warm_up_ns = 0) {
  timed_notes result;
  worker& self = *result.self;
  std::stop_source stop;
  self.handle = std::make_unique<slow_handle>(map, stop, result.segments);
  self.operations = any_operations();
  self.meter.emplace();
  self.series.resize(5);
  if (sampling > 0) self.latency.emplace(sampling, workload::mix{20, 10, 70}, 1);
  if (open) self.arrivals.emplace(*open, workload::thread_place{}, 1);
  measure(self, {host::now_ns(), warm_up_ns, 1'000'000}, 0, stop.get_token());
  if (self.latency) {
    for (const auto& kind : self.latency->durations()) {
      if (kind) result.durations.merge(*kind);
    }
  }
  return result;
}

// How many lasted at least so long.
std::uint64_t count_from(const measure::duration_histogram& durations, std::uint64_t ns) {
  std::uint64_t count = 0;
  for (const auto& bucket : durations.buckets()) {
    if (bucket.highest >= ns) count += bucket.count;
  }
  return count;
}

TEST(measure, times_every_operation_where_all_are_asked_for) {
  const auto noted = measure_timed({.each = microseconds(20), .operations = 100}, 1);
  EXPECT_EQ(noted.segments, std::vector<std::size_t>(noted.segments.size(), 1));
  EXPECT_EQ(noted.durations.count(), noted.self->measured.operations());
  EXPECT_EQ(count_from(noted.durations, 20'000), noted.durations.count());
  EXPECT_EQ(noted.self->longest_ns, noted.durations.max());
  // Once before it and once after, and a few times for all of them.
  EXPECT_GE(noted.self->clock_reads, 2 * noted.durations.count());
  for (std::size_t kind = 0; kind < 3; ++kind) {
    EXPECT_EQ(noted.self->latency->durations()[kind]->count(),
              noted.self->measured.attempted[kind]);
  }
}

TEST(measure, times_one_in_so_many_and_performs_the_others_in_segments_between_them) {
  const auto noted = measure_timed({.operations = 100'000}, 64);
  const auto operations = static_cast<double>(noted.self->measured.operations());
  EXPECT_EQ(sum(noted.segments), noted.self->measured.operations());
  const auto timed = static_cast<double>(noted.durations.count());
  EXPECT_NEAR(timed, operations / 64, 6 * std::sqrt(operations / 64));
  EXPECT_LT(static_cast<double>(noted.segments.size()), operations / 64 * 3);
  EXPECT_LT(static_cast<double>(noted.self->clock_reads), operations / 64 * 5);
  EXPECT_GE(noted.self->longest_ns, noted.durations.max());
}

class noting_keys final : public any_handle {
 public:
  noting_keys(std::vector<std::uint64_t>& keys, std::stop_source& stop)
      : keys_(keys), stop_(stop) {}
  progress perform(const operation_batch& batch, std::size_t first, std::size_t last, const task&,
                   tally&) override {
    for (std::size_t i = first; i < last; ++i) keys_.push_back(batch.keys[i]);
    if (keys_.size() >= 5000) stop_.request_stop();
    return {last - first, false};
  }

 private:
  std::vector<std::uint64_t>& keys_;
  std::stop_source& stop_;
};

TEST(measure, does_the_same_operations_whether_they_are_timed_or_arrive) {
  const auto keys_with = [](latency_sampling sampling, std::optional<arrivals> open) {
    worker self;
    std::stop_source stop;
    std::vector<std::uint64_t> keys;
    self.handle = std::make_unique<noting_keys>(keys, stop);
    self.operations = any_operations();
    self.meter.emplace();
    self.series.resize(1);
    if (sampling > 0) self.latency.emplace(sampling, workload::mix{20, 10, 70}, 1);
    if (open) self.arrivals.emplace(*open, workload::thread_place{}, 1);
    measure(self, {host::now_ns(), 0, 1'000'000}, 0, stop.get_token());
    keys.resize(5000);
    return keys;
  };
  const auto untimed = keys_with(0, {});
  EXPECT_EQ(keys_with(1, {}), untimed);
  EXPECT_EQ(keys_with(16, {}), untimed);
  EXPECT_EQ(keys_with(0, arrivals{.rate = 1e9}), untimed);
}

TEST(measure, counts_no_latency_of_the_warm_up) {
  for (const auto& open : {std::optional<arrivals>(), std::optional<arrivals>({.rate = 20'000})}) {
    const auto noted =
        measure_timed({.each = microseconds(20), .operations = 300}, 1, open, 2'000'000);
    EXPECT_EQ(noted.durations.count(), noted.self->measured.operations());
    EXPECT_EQ(noted.self->warmed_up.operations() + noted.self->measured.operations(),
              sum(noted.segments));
  }
}

// While one operation stalls for 20 ms, 1000 others fall due. A closed loop sees one slow
// operation, an open one that all of these were late.
TEST(measure, does_not_hide_waiting_in_an_open_loop) {
  constexpr std::uint64_t ms = 1'000'000;
  const slow_map stalling{.slow = 100, .slow_for = microseconds(20'000), .operations = 2000};
  const arrivals often{.rate = 50'000, .spacing = spacing::even};
  const auto closed = measure_timed(stalling, 1);
  const auto open = measure_timed(stalling, 1, often);
  // Each of those that fell due in the first 15 ms of the stall waited for 5 ms or more.
  EXPECT_GE(count_from(open.durations, 5 * ms), 740U);
  // One, and a few more if this thread itself was stalled.
  EXPECT_GE(count_from(closed.durations, 5 * ms), 1U);
  EXPECT_LT(count_from(closed.durations, 5 * ms), 100U);
}

// Operation k is due at k * 100 us and ends, as each takes 200 us, at (k + 1) * 200 us or later.
TEST(measure, performs_every_arrival_of_a_map_that_is_too_slow_and_counts_the_backlog) {
  const arrivals too_many{.rate = 10'000, .spacing = spacing::even};
  const auto noted = measure_timed({.each = microseconds(200), .operations = 100}, 1, too_many);
  const worker& self = *noted.self;
  EXPECT_EQ(noted.durations.count(), 100U);
  EXPECT_GE(noted.durations.max(), 100U * 200'000 - 99U * 100'000);
  EXPECT_GE(noted.durations.percentile(50), 50U * 200'000 - 50U * 100'000);
  ASSERT_TRUE(self.arrival);
  EXPECT_EQ(self.arrival->arrived, 100 + self.arrival->backlog);
  EXPECT_NEAR(static_cast<double>(self.arrival->arrived),
              static_cast<double>(self.measured_ns) / 100'000 + 0.5, 1);
  EXPECT_GE(self.arrival->backlog, 100U);
  // What each took for itself, however long it had waited.
  EXPECT_GE(self.longest_ns, 200'000U);
  EXPECT_LT(self.longest_ns, noted.durations.max());
  EXPECT_EQ(sum(self.series), 100U);
  EXPECT_NEAR(static_cast<double>(self.arrival->response_ns) / 100, noted.durations.mean(),
              0.01 * noted.durations.mean());
  // Operation 100, due after 10 ms, is the first that had not begun.
  EXPECT_EQ(self.arrival->oldest_waiting_ns, self.measured_ns - 10'000'000);
}

TEST(measure, begins_no_operation_before_it_is_due) {
  for (const auto spacing : {spacing::even, spacing::poisson}) {
    const arrivals seldom{.rate = 5000, .spacing = spacing};
    const auto noted = measure_timed({.operations = 50}, 0, seldom);
    arrival_times times(seldom, {}, 1);
    for (int i = 0; i < 49; ++i) times.advance();
    EXPECT_GE(static_cast<double>(noted.self->measured_ns), times.next_ns());
    EXPECT_EQ(noted.self->measured.operations(), 50U);
  }
}

// Arrivals go on through the warm-up. What it leaves is in the backlog, but did not arrive later.
TEST(measure, counts_arrivals_of_the_measured_interval_alone) {
  const arrivals too_many{.rate = 100'000, .spacing = spacing::even};
  const auto noted =
      measure_timed({.each = microseconds(20), .operations = 500}, 0, too_many, 4'000'000);
  const worker& self = *noted.self;
  ASSERT_TRUE(self.arrival);
  EXPECT_NEAR(static_cast<double>(self.arrival->arrived),
              static_cast<double>(self.measured_ns) / 10'000, 1);
  EXPECT_EQ(self.warmed_up.operations() + self.measured.operations(), 500U);
  EXPECT_GE(self.arrival->backlog, 500U);  // each takes twice as long as it takes until the next
}

TEST(measure, ends_while_it_waits_for_an_arrival_that_is_far_away) {
  worker self;
  std::stop_source stop;
  self.operations = any_operations();
  self.meter.emplace();
  self.series.resize(1);
  self.arrivals.emplace(arrivals{.rate = 1e-300}, workload::thread_place{}, 1);
  const std::jthread stopper([&] { stop.request_stop(); });
  measure(self, {host::now_ns(), 0, 1'000'000}, 0, stop.get_token());
  EXPECT_EQ(self.measured.operations(), 0U);
  ASSERT_TRUE(self.arrival);
  EXPECT_EQ(self.arrival->arrived, 0U);
  EXPECT_EQ(self.arrival->backlog, 0U);
  EXPECT_EQ(self.arrival->oldest_waiting_ns, 0U);
}

class feedback_generator final : public workload::generator {
 public:
  explicit feedback_generator(std::vector<std::size_t>& performed) : performed_(performed) {}
  void fill(operation_batch& batch, std::size_t size) override {
    batch.kinds.fill(workload::operation::find);
    batch.size = size;
  }
  void feedback(const operation_batch&, std::size_t performed) override {
    performed_.push_back(performed);
  }
  [[nodiscard]] bool wants_feedback() const override { return true; }

 private:
  std::vector<std::size_t>& performed_;
};

TEST(measure, gives_the_generator_feedback_between_two_fills) {
  for (const auto& open : {std::optional<arrivals>(), std::optional<arrivals>({.rate = 1e9})}) {
    worker self;
    std::stop_source stop;
    std::vector<std::size_t> segments;
    std::vector<std::size_t> performed;
    self.handle = std::make_unique<slow_handle>(slow_map{.operations = 640}, stop, segments);
    self.operations = std::make_unique<feedback_generator>(performed);
    self.batch_size = 64;
    self.meter.emplace();
    self.series.resize(1);
    if (open) self.arrivals.emplace(*open, workload::thread_place{}, 1);
    measure(self, {host::now_ns(), 0, 1'000'000}, 0, stop.get_token());
    // An open loop has no use for what comes after the last.
    EXPECT_EQ(performed, std::vector<std::size_t>(open ? 9 : 10, 64));
  }
}

// A generator of one kind of operation.
class only final : public workload::generator {
 public:
  explicit only(workload::operation kind) : kind_(kind) {}
  void fill(operation_batch& batch, std::size_t size) override {
    batch.kinds.fill(kind_);
    batch.size = size;
  }

 private:
  workload::operation kind_;
};

// What is under way when the warm-up ends may be all that a thread ever does.
TEST(measure, measures_what_is_under_way_when_the_warm_up_ends) {
  constexpr std::uint64_t ms = 1'000'000;
  for (const auto& open : {std::optional<arrivals>(), std::optional<arrivals>({.rate = 1e9})}) {
    for (const latency_sampling sampling : {0U, 1U}) {
      const auto noted =
          measure_timed({.each = microseconds(5000), .operations = 1}, sampling, open, ms);
      const worker& self = *noted.self;
      EXPECT_EQ(self.warmed_up.operations(), 0U);
      EXPECT_EQ(self.measured.operations(), 1U);
      EXPECT_EQ(sum(self.series), 1U);
      EXPECT_EQ(self.series[0], 0U);  // it ended after 4 ms
      EXPECT_GE(self.measured_ns, 4 * ms);
      EXPECT_GE(self.longest_ns, 5 * ms);
      EXPECT_EQ(noted.durations.count(), sampling);
    }
  }
}

TEST(measure, measures_a_long_batch_that_is_under_way_when_the_warm_up_ends) {
  notes result;
  std::stop_source stop;
  result.self->handle = std::make_unique<noting_handle>(result, microseconds(100), 1, stop);
  result.self->operations = any_operations();
  result.self->batch_size = 64;
  result.self->meter.emplace();
  result.self->series.resize(1);
  measure(*result.self, {host::now_ns(), 2'000'000, 1}, 0, stop.get_token());
  EXPECT_EQ(result.self->measured.operations(), 64U);
  EXPECT_EQ(result.self->series[0], 64U);
}

std::uint64_t processor_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// One operation that needs 3 ms of the processor.
class working_handle final : public any_handle {
 public:
  explicit working_handle(std::stop_source& stop) : stop_(stop) {}
  progress perform(const operation_batch&, std::size_t, std::size_t, const task&,
                   tally& sums) override {
    for (const std::uint64_t end = processor_ns() + 3'000'000; processor_ns() < end;) {
    }
    ++sums.attempted[0];
    stop_.request_stop();
    return {1, false};
  }

 private:
  std::stop_source& stop_;
};

TEST(measure, counts_the_processor_time_of_what_is_under_way_when_the_warm_up_ends) {
  worker self;
  std::stop_source stop;
  self.handle = std::make_unique<working_handle>(stop);
  self.operations = std::make_unique<only>(workload::operation::insert);
  self.meter.emplace();
  self.series.resize(1);
  // A thread that comes late has no warm-up; this one has enough of it.
  measure(self, {host::now_ns(), 2'000'000, 1}, 0, stop.get_token());
  EXPECT_EQ(self.measured.operations(), 1U);
  EXPECT_GE(self.processor_ns, 3'000'000U);
}

class mixed final : public workload::generator {
 public:
  void fill(operation_batch& batch, std::size_t size) override {
    using workload::operation;
    constexpr std::array kinds{operation::find, operation::insert, operation::range,
                               operation::size, operation::erase};
    for (std::size_t i = 0; i < size; ++i) batch.kinds[i] = kinds[i % kinds.size()];
    batch.size = size;
  }
};

TEST(measure, performs_rare_operations_one_by_one_and_the_others_together) {
  for (const bool any_rare : {false, true}) {
    worker self;
    std::stop_source stop;
    std::vector<std::size_t> segments;
    self.handle = std::make_unique<slow_handle>(slow_map{.operations = 20}, stop, segments);
    self.operations = std::make_unique<mixed>();
    self.batch_size = 10;
    self.any_rare = any_rare;
    self.meter.emplace();
    self.series.resize(1);
    measure(self, {host::now_ns(), 0, 1}, 0, stop.get_token());
    EXPECT_EQ(segments, any_rare
                            ? (std::vector<std::size_t>{2, 1, 1, 3, 1, 1, 1, 2, 1, 1, 3, 1, 1, 1})
                            : (std::vector<std::size_t>{10, 10}));
    EXPECT_EQ(sum(self.series), 20U);
  }
}

// Each operation takes 2 ms, until the tenth waits for the stop for 2 ms and gives up.
class giving_up_handle final : public any_handle {
 public:
  explicit giving_up_handle(std::stop_source& stop) : stop_(stop) {}
  progress perform(const operation_batch& batch, std::size_t first, std::size_t last, const task&,
                   tally& sums) override {
    for (std::size_t i = first; i < last; ++i) {
      for (const std::uint64_t end = host::now_ns() + 2'000'000; host::now_ns() < end;) {
      }
      if (++performed_ == 10) {
        stop_.request_stop();
        return {i - first, true};
      }
      ++sums.attempted[static_cast<std::size_t>(batch.kinds[i])];
    }
    return {last - first, false};
  }

 private:
  std::stop_source& stop_;
  std::size_t performed_ = 0;
};

TEST(measure, times_rare_operations_and_puts_each_into_its_interval_in_batches_too) {
  constexpr std::uint64_t ms = 1'000'000;
  for (const latency_sampling sampling : {0U, 1000U}) {
    worker self;
    std::stop_source stop;
    self.handle = std::make_unique<giving_up_handle>(stop);
    self.operations = std::make_unique<only>(workload::operation::size);
    self.batch_size = 16;
    self.any_rare = true;
    self.meter.emplace();
    self.series.resize(1000);
    if (sampling > 0) self.latency.emplace(sampling, workload::mix{0, 0, 0, 0, 100}, 1);
    measure(self, {host::now_ns(), 0, ms}, 0, stop.get_token());
    EXPECT_EQ(self.measured.operations(), 9U);
    EXPECT_EQ(sum(self.series), 9U);
    // No interval is long enough for two.
    EXPECT_LE(*std::max_element(self.series.begin(), self.series.end() - 1), 1U);
    // The nine others took 2 ms each.
    ASSERT_TRUE(self.unfinished);
    EXPECT_GE(self.unfinished->age_ns, 2 * ms);
    EXPECT_LE(self.unfinished->age_ns, self.measured_ns - 18 * ms);
    EXPECT_GE(self.longest_ns, self.unfinished->age_ns);
    EXPECT_LE(self.longest_ns, self.measured_ns - 18 * ms);
  }
}

// Waits until the stop is requested, which it does itself, and gives up.
class waiting_handle final : public any_handle {
 public:
  explicit waiting_handle(std::stop_source& stop) : stop_(stop) {}
  progress perform(const operation_batch&, std::size_t, std::size_t, const task&, tally&) override {
    for (const std::uint64_t end = host::now_ns() + 2'000'000; host::now_ns() < end;) {
    }
    stop_.request_stop();
    return {0, true};
  }

 private:
  std::stop_source& stop_;
};

TEST(measure, reports_no_longest_operation_that_is_shorter_than_the_unfinished_one) {
  for (const auto& open : {std::optional<arrivals>(), std::optional<arrivals>({.rate = 1e9})}) {
    for (const latency_sampling sampling : {0U, 1U, 100U}) {
      worker self;
      std::stop_source stop;
      self.handle = std::make_unique<waiting_handle>(stop);
      self.operations = any_operations();
      self.meter.emplace();
      self.series.resize(1);
      if (sampling > 0) self.latency.emplace(sampling, workload::mix{20, 10, 70}, 1);
      if (open) self.arrivals.emplace(*open, workload::thread_place{}, 1);
      measure(self, {host::now_ns(), 0, 1}, 0, stop.get_token());
      ASSERT_TRUE(self.unfinished);
      EXPECT_GE(self.unfinished->age_ns, 2'000'000U);
      EXPECT_EQ(self.longest_ns, self.unfinished->age_ns);
      EXPECT_EQ(self.measured.operations(), 0U);
      if (!open) continue;
      EXPECT_EQ(self.arrival->arrived, self.arrival->backlog + 1);
    }
  }
}

TEST(time_generation, finds_that_generating_takes_time) {
  worker self;
  self.operations = any_operations();
  time_generation(self);
  EXPECT_GT(self.generation_ns, 0);
}

// Kilobytes each: if they were not made, it would take a hundredth of the time, or less.
TEST(time_generation, makes_strings) {
  worker self;
  self.operations = any_operations();
  time_generation(self);
  const double of_numbers = self.generation_ns;
  const subject::type_spec text{
      .type = subject::type_spec::kind::bytes, .least = 4096, .most = 4096};
  time_generation(self, text);
  EXPECT_GT(self.generation_ns, 2 * of_numbers);
}

}  // namespace
}  // namespace assay::trial
