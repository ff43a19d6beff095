#include "assay/trial/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace assay::trial {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;

thread_report thread(std::uint64_t measured_ns, std::array<std::uint64_t, 3> attempted,
                     std::vector<std::uint64_t> series, double generation_ns = 1) {
  thread_report report{};
  report.measured_ns = measured_ns;
  report.processor_ns = measured_ns;
  std::ranges::copy(attempted, report.operations.attempted.begin());
  for (std::size_t kind = 0; kind < attempted.size(); ++kind) {
    report.operations.succeeded[kind] = attempted[kind] / 2;
  }
  report.series = std::move(series);
  report.generation_ns = generation_ns;
  return report;
}

TEST(metrics, throughput_is_the_sum_of_each_threads_operations_over_its_own_time) {
  const std::vector threads{thread(1'000'000'000, {100, 60, 40}, {0, 0}),
                            thread(500'000'000, {100, 60, 40}, {0, 0})};
  const auto metrics = metrics_of(threads, {});
  EXPECT_DOUBLE_EQ(metrics.at("throughput"), 200 + 400);
  EXPECT_DOUBLE_EQ(metrics.at("insert_throughput"), 100 + 200);
  EXPECT_DOUBLE_EQ(metrics.at("erase_throughput"), 60 + 120);
  EXPECT_DOUBLE_EQ(metrics.at("find_throughput"), 40 + 80);
  EXPECT_DOUBLE_EQ(metrics.at("effective_update_throughput"), 80 + 160);
  EXPECT_DOUBLE_EQ(metrics.at("slowest_thread_share"), 200 / 300.0);
}

TEST(metrics, generation_share_is_of_the_processor_time_per_operation) {
  std::vector threads{thread(1'000'000'000, {0, 0, 10'000'000}, {0}, 5),
                      thread(1'000'000'000, {0, 0, 10'000'000}, {0}, 15),
                      thread(1'000'000'000, {0, 0, 10'000'000}, {0}, 10)};
  const auto metrics = metrics_of(threads, {});
  EXPECT_DOUBLE_EQ(metrics.at("generation_ns"), 10);
  EXPECT_DOUBLE_EQ(metrics.at("processor_ns_per_operation"), 100);
  EXPECT_DOUBLE_EQ(metrics.at("generation_share"), 0.1);  // 10 ns of 100 ns
  for (auto& thread : threads) thread.processor_ns /= 4;  // the rest of the time others ran
  EXPECT_DOUBLE_EQ(metrics_of(threads, {}).at("generation_share"), 0.4);
}

TEST(metrics, series_metrics_leave_out_what_came_after_the_last_full_interval) {
  const std::vector threads{thread(1, {1, 0, 0}, {1, 2, 1, 3, 100}),
                            thread(1, {1, 0, 0}, {0, 1, 2, 2, 0})};
  EXPECT_EQ(summed_series(threads), (std::vector<double>{1, 3, 3, 5}));
  const auto metrics = metrics_of(threads, {});
  EXPECT_DOUBLE_EQ(metrics.at("throughput_variation"), std::sqrt(8.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(metrics.at("throughput_drift"), 8.0 / 4 - 1);
}

TEST(metrics, drift_leaves_out_the_middle_of_an_odd_series) {
  const std::vector threads{thread(1, {1, 0, 0}, {2, 100, 1, 0})};
  EXPECT_DOUBLE_EQ(metrics_of(threads, {}).at("throughput_drift"), -0.5);
}

TEST(metrics, counters_are_per_operation_and_faults_absolute) {
  host::usage usage;
  usage.counters["cycles"] = {1000, 10, 10};
  usage.counters["migrations"] = {3, 10, 10};
  usage.minor_faults = 7;
  usage.involuntary_switches = 5;
  const auto metrics = metrics_of(std::vector{thread(10, {5, 5, 10}, {0})}, usage);
  EXPECT_DOUBLE_EQ(metrics.at("cycles_per_operation"), 50);
  EXPECT_DOUBLE_EQ(metrics.at("migrations"), 3);
  EXPECT_DOUBLE_EQ(metrics.at("minor_page_faults"), 7);
  EXPECT_DOUBLE_EQ(metrics.at("involuntary_context_switches"), 5);
  EXPECT_THAT(metrics, Not(Contains(Key("instructions_per_operation"))));
}

TEST(metrics, of_a_trial_without_operations_leave_out_what_is_undefined) {
  host::usage usage;
  usage.counters["cycles"] = {1000, 10, 10};
  const auto metrics = metrics_of(std::vector{thread(10, {0, 0, 0}, {0, 0, 0})}, usage);
  EXPECT_EQ(metrics.at("throughput"), 0);
  for (const auto* name : {"processor_ns_per_operation", "generation_share", "slowest_thread_share",
                           "throughput_variation", "throughput_drift", "cycles_per_operation"}) {
    EXPECT_THAT(metrics, Not(Contains(Key(name))));
  }
  for (const auto& [name, value] : metrics) EXPECT_TRUE(std::isfinite(value)) << name;
}

}  // namespace
}  // namespace assay::trial
