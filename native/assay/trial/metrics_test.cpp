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

using workload::operation;
const std::vector<operation> every_maps{operation::insert, operation::erase, operation::find};

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
  const auto metrics = metrics_of(threads, every_maps, {}, 0);
  EXPECT_DOUBLE_EQ(metrics.at("throughput"), 200 + 400);
  EXPECT_DOUBLE_EQ(metrics.at("insert_throughput"), 100 + 200);
  EXPECT_DOUBLE_EQ(metrics.at("erase_throughput"), 60 + 120);
  EXPECT_DOUBLE_EQ(metrics.at("find_throughput"), 40 + 80);
  EXPECT_DOUBLE_EQ(metrics.at("effective_update_throughput"), 80 + 160);
  EXPECT_DOUBLE_EQ(metrics.at("slowest_thread_share"), 200 / 300.0);
}

TEST(metrics, what_threads_were_given_is_counted_over_all_of_them) {
  std::vector threads{thread(3'000'000, {1, 0, 0}, {0}), thread(1'000'000, {1, 0, 0}, {0}),
                      thread(2'000'000, {1, 0, 0}, {0})};
  for (unsigned i = 0; i < 3; ++i) {
    threads[i].seed = i / 2;  // the first two share theirs
    threads[i].bound_to = {i, i + 1};
  }
  const auto metrics = metrics_of(threads, every_maps, {}, 0);
  EXPECT_EQ(metrics.at("thread_seeds"), 2);
  EXPECT_EQ(metrics.at("processors_allowed"), 4);
  EXPECT_DOUBLE_EQ(metrics.at("measured_ms"), 2);
}

TEST(metrics, generation_share_is_of_the_processor_time_per_operation) {
  std::vector threads{thread(1'000'000'000, {0, 0, 10'000'000}, {0}, 5),
                      thread(1'000'000'000, {0, 0, 10'000'000}, {0}, 15),
                      thread(1'000'000'000, {0, 0, 10'000'000}, {0}, 10)};
  const auto metrics = metrics_of(threads, every_maps, {}, 0);
  EXPECT_DOUBLE_EQ(metrics.at("generation_ns"), 10);
  EXPECT_DOUBLE_EQ(metrics.at("processor_ns_per_operation"), 100);
  EXPECT_DOUBLE_EQ(metrics.at("generation_share"), 0.1);  // 10 ns of 100 ns
  for (auto& thread : threads) thread.processor_ns /= 4;  // the rest of the time others ran
  EXPECT_DOUBLE_EQ(metrics_of(threads, every_maps, {}, 0).at("generation_share"), 0.4);
}

TEST(metrics, clock_share_is_what_its_readings_take_of_the_processor_time) {
  std::vector threads{thread(1000, {0, 0, 10}, {0}), thread(3000, {0, 0, 10}, {0})};
  EXPECT_EQ(metrics_of(threads, every_maps, {}, 25).at("clock_share"), 0);
  threads[0].clock_reads = 10;
  threads[1].clock_reads = 22;
  EXPECT_DOUBLE_EQ(metrics_of(threads, every_maps, {}, 25).at("clock_share"), 0.2);
}

TEST(metrics, waiting_share_is_of_the_processor_time_that_threads_could_have_had) {
  const std::vector threads{thread(30, {0, 0, 1}, {0}), thread(60, {0, 0, 1}, {0})};
  host::usage usage;
  EXPECT_THAT(metrics_of(threads, every_maps, usage, 0), Not(Contains(Key("waiting_share"))));
  usage.waited_ns = 10;
  EXPECT_DOUBLE_EQ(metrics_of(threads, every_maps, usage, 0).at("waiting_share"), 0.1);
}

TEST(metrics, series_metrics_leave_out_what_came_after_the_last_full_interval) {
  const std::vector threads{thread(1, {1, 0, 0}, {1, 2, 1, 3, 100}),
                            thread(1, {1, 0, 0}, {0, 1, 2, 2, 0})};
  EXPECT_EQ(summed_series(threads), (std::vector<double>{1, 3, 3, 5}));
  const auto metrics = metrics_of(threads, every_maps, {}, 0);
  EXPECT_DOUBLE_EQ(metrics.at("throughput_variation"), std::sqrt(8.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(metrics.at("throughput_drift"), 8.0 / 4 - 1);
}

TEST(metrics, drift_leaves_out_the_middle_of_an_odd_series) {
  const std::vector threads{thread(1, {1, 0, 0}, {2, 100, 1, 0})};
  EXPECT_DOUBLE_EQ(metrics_of(threads, every_maps, {}, 0).at("throughput_drift"), -0.5);
}

TEST(metrics, counters_are_per_operation_and_faults_absolute) {
  host::usage usage;
  usage.counters["cycles"] = {1000, 10, 10};
  usage.counters["migrations"] = {3, 10, 10};
  usage.minor_faults = 7;
  usage.involuntary_switches = 5;
  const auto metrics = metrics_of(std::vector{thread(10, {5, 5, 10}, {0})}, every_maps, usage, 0);
  EXPECT_DOUBLE_EQ(metrics.at("cycles_per_operation"), 50);
  EXPECT_DOUBLE_EQ(metrics.at("migrations"), 3);
  EXPECT_DOUBLE_EQ(metrics.at("minor_page_faults"), 7);
  EXPECT_DOUBLE_EQ(metrics.at("involuntary_context_switches"), 5);
  EXPECT_THAT(metrics, Not(Contains(Key("instructions_per_operation"))));
  EXPECT_EQ(metrics.at("counted_share"), 1);
}

TEST(metrics, counters_that_shared_the_processors_few_say_the_lowest_share) {
  host::usage usage;
  EXPECT_THAT(metrics_of(std::vector{thread(10, {5, 5, 10}, {0})}, every_maps, usage, 0),
              Not(Contains(Key("counted_share"))));
  usage.counters["cycles"] = {1000, 10, 5};
  usage.counters["llc_loads"] = {100, 10, 4};
  const auto metrics = metrics_of(std::vector{thread(10, {5, 5, 10}, {0})}, every_maps, usage, 0);
  EXPECT_DOUBLE_EQ(metrics.at("counted_share"), 0.4);
  EXPECT_DOUBLE_EQ(metrics.at("llc_loads_per_operation"), 12.5);
}

TEST(metrics, of_a_trial_without_operations_leave_out_what_is_undefined) {
  host::usage usage;
  usage.counters["cycles"] = {1000, 10, 10};
  const auto metrics =
      metrics_of(std::vector{thread(10, {0, 0, 0}, {0, 0, 0})}, every_maps, usage, 0);
  EXPECT_EQ(metrics.at("throughput"), 0);
  for (const auto* name : {"processor_ns_per_operation", "generation_share", "slowest_thread_share",
                           "throughput_variation", "throughput_drift", "cycles_per_operation"}) {
    EXPECT_THAT(metrics, Not(Contains(Key(name))));
  }
  for (const auto& [name, value] : metrics) EXPECT_TRUE(std::isfinite(value)) << name;
}

TEST(metrics, of_further_operations_are_there_where_a_mix_names_them_even_if_none_ended) {
  std::vector threads{thread(1'000'000'000, {0, 0, 4}, {0}), thread(500'000'000, {0, 0, 4}, {0})};
  EXPECT_THAT(metrics_of(threads, every_maps, {}, 0), Not(Contains(Key("range_throughput"))));
  EXPECT_THAT(metrics_of(threads, every_maps, {}, 0), Not(Contains(Key("visited_per_second"))));
  auto kinds = every_maps;
  kinds.push_back(operation::range);
  EXPECT_EQ(metrics_of(threads, kinds, {}, 0).at("range_throughput"), 0);
  threads[0].operations.attempted[3] = 5;
  threads[1].operations.attempted[3] = 5;
  threads[1].operations.visited = 100;
  const auto metrics = metrics_of(threads, kinds, {}, 0);
  EXPECT_DOUBLE_EQ(metrics.at("range_throughput"), 5 + 10);
  EXPECT_DOUBLE_EQ(metrics.at("visited_per_second"), 200);
}

// Two roles: the second has the threads 1 and 2 and an open loop.
struct two_roles {
  std::vector<thread_report> threads;
  std::vector<role_report> roles;
};
two_roles any_two_roles() {
  two_roles any;
  any.threads = {thread(1'000'000'000, {10, 0, 0}, {0}), thread(1'000'000'000, {0, 0, 20}, {0}),
                 thread(500'000'000, {0, 0, 20}, {0})};
  any.threads[0].longest_ns = 9;
  any.threads[1].longest_ns = 5;
  any.threads[2].longest_ns = 7;
  any.threads[1].arrival =
      arrival_counts{.arrived = 30, .backlog = 10, .oldest_waiting_ns = 60, .response_ns = 1000};
  any.threads[2].arrival =
      arrival_counts{.arrived = 25, .backlog = 5, .oldest_waiting_ns = 40, .response_ns = 600};
  any.threads[1].role = any.threads[2].role = 1;
  any.roles = {{.name = "writers"}, {.name = "readers", .open_loop = true}};
  any.roles[0].durations[0].emplace().add(100);
  any.roles[1].durations[2].emplace().add(300);
  any.roles[1].durations[2]->add(500);
  return any;
}

TEST(metrics, of_roles_are_there_where_there_are_several) {
  const auto [threads, roles] = any_two_roles();
  const auto metrics = metrics_of(roles, threads);
  EXPECT_DOUBLE_EQ(metrics.at("role_writers_throughput"), 10);
  EXPECT_DOUBLE_EQ(metrics.at("role_readers_throughput"), 20 + 40);
  EXPECT_EQ(metrics.at("role_writers_longest_ns"), 9);
  EXPECT_EQ(metrics.at("role_readers_longest_ns"), 7);
  EXPECT_EQ(metrics.at("role_readers_latency_p50_ns"), 300);
  EXPECT_EQ(metrics.at("role_readers_latency_max_ns"), 500);
  EXPECT_DOUBLE_EQ(metrics.at("arrival_rate"), 30 + 50);
  EXPECT_EQ(metrics.at("backlog"), 15);
  EXPECT_EQ(metrics.at("oldest_waiting_ns"), 60);
  EXPECT_EQ(metrics.at("role_readers_oldest_waiting_ns"), 60);
  EXPECT_DOUBLE_EQ(metrics.at("response_mean_ns"), 1600.0 / 40);
  EXPECT_THAT(metrics, Not(Contains(Key("role_writers_oldest_waiting_ns"))));
  EXPECT_EQ(metrics_of(threads, every_maps, {}, 0).at("longest_ns"), 9);

  const auto alone = metrics_of(std::vector{roles[0]}, std::vector{threads[0]});
  EXPECT_THAT(alone, Not(Contains(Key("role_writers_throughput"))));
  EXPECT_THAT(alone, Not(Contains(Key("backlog"))));
  EXPECT_THAT(alone, Not(Contains(Key("response_mean_ns"))));
}

TEST(metrics, of_latency_are_those_that_there_are_enough_durations_for) {
  for (const auto& [name, percent] : measure::latency_percentiles) {
    const auto needed = static_cast<std::uint64_t>(std::llround(100 / (100 - percent)));
    EXPECT_TRUE(measure::enough_for(needed, percent)) << name;
    EXPECT_FALSE(measure::enough_for(needed - 1, percent)) << name;
  }
}

TEST(metrics, of_latency_do_not_mix_times_from_the_start_with_times_from_the_arrival) {
  two_roles any = any_two_roles();
  EXPECT_EQ(counted_from(any.roles), "mixed");
  for (const auto& [name, value] : metrics_of(any.roles, any.threads)) {
    EXPECT_FALSE(name.starts_with("latency")) << name << ' ' << value;
  }
  any.roles[0].durations = {};
  EXPECT_EQ(counted_from(any.roles), "arrival");
  EXPECT_EQ(metrics_of(any.roles, any.threads).at("latency_max_ns"), 500);
  any.roles[1].open_loop = false;
  EXPECT_EQ(counted_from(any.roles), "start");
}

TEST(metrics, of_processor_time_are_left_out_where_threads_spin_until_an_operation_is_due) {
  std::vector threads{thread(10, {5, 5, 10}, {0}), thread(10, {5, 5, 10}, {0})};
  EXPECT_THAT(metrics_of(threads, every_maps, {}, 0), Contains(Key("processor_ns_per_operation")));
  threads[1].arrival.emplace();
  const auto metrics = metrics_of(threads, every_maps, {}, 0);
  EXPECT_THAT(metrics, Not(Contains(Key("processor_ns_per_operation"))));
  EXPECT_THAT(metrics, Not(Contains(Key("generation_share"))));
  EXPECT_THAT(metrics, Not(Contains(Key("clock_share"))));
  EXPECT_THAT(metrics, Contains(Key("slowest_thread_share")));
}

TEST(metrics, of_latency_are_over_all_and_by_kind) {
  auto [threads, roles] = any_two_roles();
  for (auto& role : roles) role.open_loop = false;
  const auto metrics = metrics_of(roles, threads);
  EXPECT_EQ(metrics.at("latency_p50_ns"), 300);
  EXPECT_EQ(metrics.at("latency_max_ns"), 500);
  EXPECT_THAT(metrics, Not(Contains(Key("latency_find_p90_ns"))));  // of two durations
  EXPECT_EQ(metrics.at("latency_find_p50_ns"), 300);
  EXPECT_EQ(metrics.at("latency_find_mean_ns"), 400);
  EXPECT_EQ(metrics.at("latency_mean_ns"), 300);
  EXPECT_EQ(metrics.at("latency_find_max_ns"), 500);
  EXPECT_THAT(metrics, Not(Contains(Key("latency_erase_p50_ns"))));

  two_roles none = any_two_roles();
  for (auto& role : none.roles) role.durations = {};
  none.roles[0].durations[0].emplace();  // a kind that was never performed
  for (const auto& [name, value] : metrics_of(none.roles, none.threads)) {
    EXPECT_EQ(name.find("latency"), std::string::npos) << name << ' ' << value;
  }
}

}  // namespace
}  // namespace assay::trial
