#include "assay/trial/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "assay/host/memory_policy.h"
#include "assay/probe/probe.h"
#include "assay/subject/operations.h"
#include "assay/workload/streams.h"
#include "tests/test_maps.h"

namespace assay::trial {
namespace {

using std::chrono::milliseconds;
using subject::correct_map;
using subject::describe_subject;
using subject::test_map;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

request short_request() {
  return {.subject = "test",
          .seed = 5,
          .pinning = {},
          .key_range = 100,
          .keys = workload::key_layout::dense,
          .roles = one_role(2, {40, 20, 40}),
          .duration = milliseconds(10),
          .interval = milliseconds(2)};
}

template <class Map>
result run_with(const request& request) {
  return run(request, describe_subject<Map>("test", "a test's map"));
}

// As run_with, but on a busy machine a short run may be over before each thread has begun an
// operation: then one of twice the length follows.
template <class Map>
result run_with_all_threads(request request) {
  for (;; request.duration *= 2) {
    result result = run_with<Map>(request);
    const auto began = [](const auto& thread) {
      return thread.operations.operations() > 0 || thread.unfinished;
    };
    if (std::ranges::all_of(result.threads, began) || request.duration > std::chrono::seconds(10))
      return result;
  }
}

std::string problems_of(const result& result) {
  return std::accumulate(result.problems.begin(), result.problems.end(), std::string());
}

TEST(run, of_a_correct_map_is_valid_and_its_numbers_agree) {
  for (const unsigned threads : {1U, 2U, 3U}) {
    request request = short_request();
    request.roles[0].threads = threads;
    const result result = run_with<correct_map>(request);
    EXPECT_THAT(result.problems, IsEmpty());
    ASSERT_EQ(result.threads.size(), threads);
    double throughput = 0;
    for (const auto& thread : result.threads) {
      EXPECT_EQ(thread.series.size(), 6U);
      EXPECT_EQ(std::accumulate(thread.series.begin(), thread.series.end(), std::uint64_t{0}),
                thread.operations.operations());
      EXPECT_GE(thread.measured_ns, 10'000'000U);
      for (std::size_t kind = 0; kind < workload::operation_kinds; ++kind) {
        EXPECT_LE(thread.operations.succeeded[kind], thread.operations.attempted[kind]);
      }
      EXPECT_FALSE(thread.unfinished);
      EXPECT_GT(thread.generation_ns, 0);
      throughput += static_cast<double>(thread.operations.operations()) * 1e9 /
                    static_cast<double>(thread.measured_ns);
    }
    EXPECT_DOUBLE_EQ(result.metrics.at("throughput"), throughput);
    ASSERT_TRUE(result.contents_check);
    EXPECT_EQ(result.contents_check->found, result.contents_check->expected);
    for (const auto& [name, value] : result.metrics) EXPECT_TRUE(std::isfinite(value)) << name;
    EXPECT_THAT(result.metrics, Contains(Key("prefill_ms")));
    EXPECT_GE(result.metrics.at("peak_resident_bytes"), result.metrics.at("resident_before_bytes"));
  }
}

// Calls its base's operations, and counts them.
struct counting_map : test_map<counting_map> {
  static inline std::atomic<std::uint64_t> updates = 0;
  bool insert(std::uint64_t key, std::uint64_t value) {
    ++updates;
    return sound_map::insert(key, value);
  }
  bool erase(std::uint64_t key) {
    ++updates;
    return sound_map::erase(key);
  }
};

TEST(run, validates_the_operations_of_a_warm_up_and_does_not_count_them) {
  request request = short_request();
  request.roles[0].work.mix = {50, 50, 0};
  // On a busy machine a short one may be over before a thread has run: then a longer one follows.
  std::uint64_t warmed_up = 0;
  for (int warm_up = 1; warm_up <= 50 || warmed_up == 0; warm_up *= 7) {
    request.warm_up = milliseconds(warm_up);
    counting_map::updates = 0;
    const result result = run_with<counting_map>(request);
    EXPECT_THAT(result.problems, IsEmpty());
    std::uint64_t performed = result.prefill.operations;
    for (const auto& thread : result.threads) {
      performed += thread.warmed_up + thread.operations.operations();
      warmed_up += thread.warmed_up;
      EXPECT_EQ(thread.series.size(), 6U);
    }
    EXPECT_EQ(performed, counting_map::updates);
    for (const auto& [name, value] : result.metrics) EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(run, gives_every_thread_its_own_seed) {
  request request = short_request();
  request.roles[0].threads = 4;
  const result result = run_with<correct_map>(request);
  std::set<std::uint64_t> seeds;
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(result.threads[i].seed, workload::thread_seed(request.seed, i));
    seeds.insert(result.threads[i].seed);
  }
  EXPECT_EQ(seeds.size(), 4U);
}

struct lonely : test_map<lonely> {
  static constexpr unsigned max_threads = 1;
};

TEST(run, refuses_more_threads_than_the_map_takes) {
  request request = short_request();
  EXPECT_THROW(run_with<lonely>(request), bad_request);
  request.roles[0].threads = 1;
  EXPECT_THAT(run_with<lonely>(request).problems, IsEmpty());
}

TEST(run, binds_threads_where_the_request_says) {
  request request = short_request();
  request.pinning.kind = host::pinning::policy::compact;
  for (const auto& thread : run_with<correct_map>(request).threads) {
    ASSERT_EQ(thread.bound_to.size(), 1U);
    EXPECT_EQ(thread.last_ran_on, thread.bound_to[0]);
  }
  request.pinning = {.kind = host::pinning::policy::list, .processors = {100'000}};
  EXPECT_THROW(run_with<correct_map>(request), bad_request);
}

// --- Prefill
// ---------------------------------------------------------------------------------------------

struct prefill_case {
  workload::mix mix;
  std::uint64_t key_range;
  unsigned threads;
};

class prefill_to : public ::testing::TestWithParam<prefill_case> {};

TEST_P(prefill_to, reaches_the_steady_state_of_the_mix) {
  request request = short_request();
  request.roles[0].work.mix = GetParam().mix;
  request.key_range = GetParam().key_range;
  request.roles[0].threads = GetParam().threads;
  request.duration = milliseconds(1);
  for (request.seed = 0; request.seed < 5; ++request.seed) {
    const result result = run_with<correct_map>(request);
    EXPECT_THAT(result.problems, IsEmpty());
    EXPECT_TRUE(result.prefill.converged);
    const double expected =
        request.roles[0].work.mix.steady_share() * static_cast<double>(request.key_range);
    EXPECT_DOUBLE_EQ(result.prefill.expected_size, expected);
    EXPECT_NEAR(static_cast<double>(result.prefill.size), expected, result.prefill.tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(
    mixes_and_ranges, prefill_to,
    ::testing::Values(prefill_case{{50, 50, 0}, 2, 1}, prefill_case{{0, 0, 100}, 2, 2},
                      prefill_case{{99, 1, 0}, 2, 1}, prefill_case{{1, 99, 0}, 2, 2},
                      prefill_case{{20, 10, 70}, 3, 3}, prefill_case{{90, 10, 0}, 7, 2},
                      prefill_case{{20, 10, 70}, 1000, 1}, prefill_case{{10, 20, 70}, 1000, 3},
                      prefill_case{{99.9, 0.1, 0}, 1000, 2}, prefill_case{{0.1, 99.9, 0}, 1000, 2},
                      prefill_case{{50, 50, 0}, 20'000, 2}, prefill_case{{0, 0, 100}, 20'001, 3}));

TEST(prefill, of_a_mix_that_only_inserts_holds_every_key) {
  for (const unsigned threads : {1U, 3U}) {
    request request = short_request();
    request.roles[0].work.mix = {10, 0, 90};
    request.key_range = 1001;
    request.roles[0].threads = threads;
    const result result = run_with<correct_map>(request);
    EXPECT_THAT(result.problems, IsEmpty());
    EXPECT_EQ(result.prefill.method, prefill_method::permutation);
    EXPECT_EQ(result.prefill.size, 1001);
    EXPECT_EQ(result.prefill.operations, 1001U);
  }
}

TEST(prefill, of_a_mix_that_only_erases_holds_nothing) {
  request request = short_request();
  request.roles[0].work.mix = {0, 10, 90};
  const result result = run_with<correct_map>(request);
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.prefill.operations, 0U);
  EXPECT_EQ(result.prefill.size, 0);
}

// The bias left from an empty start must be small beside the spread of the steady state, not only
// within it: over many prefills the mean size agrees with the expected one far better than a single
// size does.
TEST(prefill, does_not_end_on_the_side_from_which_it_came) {
  request request = short_request();
  request.roles[0].work.mix = {50, 50, 0};
  request.key_range = 200;
  request.duration = milliseconds(1);
  constexpr int trials = 200;
  double deviations = 0;
  for (request.seed = 0; request.seed < trials; ++request.seed) {
    const auto prefill = run_with<correct_map>(request).prefill;
    deviations +=
        (static_cast<double>(prefill.size) - prefill.expected_size) / (prefill.tolerance / 3);
  }
  // By design at most half a deviation short; the mean of 200 is known to 0.07.
  EXPECT_GT(deviations / trials, -0.5 - 0.25);
  EXPECT_LT(deviations / trials, 0.25);
}

struct dropping_map : test_map<dropping_map> {
  bool insert(std::uint64_t, std::uint64_t) { return false; }
};
struct pretending_map : test_map<pretending_map> {
  bool insert(std::uint64_t, std::uint64_t) { return true; }
};

TEST(prefill, of_a_map_that_keeps_nothing_does_not_converge_and_says_so) {
  for (const auto& mix : {workload::mix{50, 50, 0}, {20, 10, 70}, {10, 0, 90}}) {
    request request = short_request();
    request.roles[0].work.mix = mix;
    const result dropping = run_with<dropping_map>(request);
    EXPECT_FALSE(dropping.prefill.converged);
    EXPECT_THAT(problems_of(dropping), HasSubstr("the prefill did not converge"));
    EXPECT_THAT(problems_of(dropping), HasSubstr("holds 0 keys, expected"));
    EXPECT_THAT(run_with<pretending_map>(request).problems, Not(IsEmpty()));
  }
}

struct empty_map : test_map<empty_map> {
  static constexpr bool holds_nothing = true;
  bool insert(std::uint64_t, std::uint64_t) { return true; }
};

TEST(run, neither_prefills_nor_validates_a_map_that_holds_nothing) {
  const result result = run_with<empty_map>(short_request());
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.prefill.method, prefill_method::skipped);
  EXPECT_FALSE(result.contents_check);
  EXPECT_THAT(result.metrics, Not(Contains(Key("prefill_ms"))));
}

// The trap in which the paper was caught (Kharal and Brown, section 6.2): one number for the key
// and one for the operation, each modulo, from an engine whose numbers are even and odd in turn.
// The keys of one thread are then all even or all odd, and the map never holds half of all keys.
TEST(prefill, of_one_thread_with_fnv1a_does_not_converge_and_is_invalid_for_just_that) {
  for (const std::uint64_t key_range : {4096U, 20'000U}) {
    request request = short_request();
    request.key_range = key_range;
    request.roles = one_role(1, {50, 50, 0});
    request.roles[0].work.engine.name = "fnv1a";
    request.roles[0].work.draws = workload::draws::two;
    request.roles[0].work.bounding = workload::bounding::modulo;
    const result trapped = run_with<correct_map>(request);
    ASSERT_EQ(trapped.problems.size(), 1U);
    EXPECT_THAT(trapped.problems[0], HasSubstr("the prefill did not converge: after"));
    EXPECT_NEAR(static_cast<double>(trapped.prefill.size), trapped.prefill.expected_size / 2,
                trapped.prefill.tolerance);

    request.roles[0].work.engine.name = "xoshiro256pp";
    EXPECT_THAT(run_with<correct_map>(request).problems, IsEmpty());
  }
}

TEST(prefill, of_roles_aims_at_the_steady_state_of_all_their_mixes) {
  request request = short_request();
  request.key_range = 1000;
  request.roles = {{.name = "inserters", .threads = 1, .work = {.mix = {100, 0, 0}}},
                   {.name = "erasers", .threads = 3, .work = {.mix = {0, 100, 0}}},
                   {.name = "readers", .threads = 1, .work = {.mix = {0, 0, 100}}}};
  EXPECT_DOUBLE_EQ(steady_share_of(request.roles), 0.25);
  const result result = run_with<correct_map>(request);
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_DOUBLE_EQ(result.prefill.expected_size, 250);
  EXPECT_DOUBLE_EQ(steady_share_of(std::vector{request.roles[2]}), 0.5);

  request.roles[0].arrivals = arrivals{.rate = 900};
  EXPECT_DOUBLE_EQ(steady_share_of(request.roles), 0.25);  // erasers do what they can
  request.roles[1].arrivals = arrivals{.rate = 100};
  EXPECT_DOUBLE_EQ(steady_share_of(request.roles), 0.9);
}

TEST(prefill, takes_operations_by_name_for_what_they_do_to_one_key) {
  auto roles = one_role(1, {20, 30, 10});
  roles[0].work.mix.share(subject::registered<subject::extra_operations::insert_or_assign>()) = 10;
  roles[0].work.mix.share(subject::registered<subject::extra_operations::update>()) = 30;
  EXPECT_DOUBLE_EQ(steady_share_of(roles), 0.5);
}

TEST(prefill, for_the_latest_keys_inserts_exactly_the_first_ones) {
  for (const unsigned threads : {1U, 3U}) {
    request request = short_request();
    request.key_range = 1001;
    request.duration = milliseconds(1);
    request.roles = one_role(threads, {0, 0, 100});
    request.roles[0].work.keys.kind = workload::distribution_kind::latest;
    const result result = run_with<correct_map>(request);
    EXPECT_THAT(result.problems, IsEmpty());
    EXPECT_EQ(result.prefill.method, prefill_method::first_keys);
    EXPECT_EQ(result.prefill.size, 501);
    ASSERT_TRUE(result.contents_check);
    EXPECT_EQ(result.contents_check->found.key_sum, 501U * 502 / 2);  // dense keys from 1
    EXPECT_EQ(to_json(result, {})["prefill"]["method"], "first_keys");
    for (const auto& thread : result.threads) {  // all that is searched for is there
      EXPECT_EQ(thread.operations.succeeded[2], thread.operations.attempted[2]);
    }
  }
}

// --- Roles, latency, open loops, and what else is reported
// ----------------------------------------------

// Long enough for each of three threads to get a processor, also where others want it.
request request_with_roles() {
  request request = short_request();
  request.duration = milliseconds(200);
  request.roles = {{.name = "updaters", .threads = 2, .work = {.mix = {50, 50, 0}}},
                   {.name = "readers", .threads = 1, .work = {.mix = {0, 0, 100}}}};
  return request;
}

TEST(run, gives_threads_the_work_of_their_roles_in_order) {
  const result result = run_with_all_threads<correct_map>(request_with_roles());
  EXPECT_THAT(result.problems, IsEmpty());
  ASSERT_EQ(result.threads.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& thread = result.threads[i];
    EXPECT_EQ(thread.role, i / 2);
    EXPECT_GT(thread.operations.attempted[i < 2 ? 0 : 2], 0U);
    EXPECT_EQ(thread.operations.attempted[i < 2 ? 2 : 0], 0U);
    EXPECT_GT(thread.longest_ns, 0U);
  }
  const auto json = to_json(result, {});
  ASSERT_EQ(json["roles"].size(), 2U);
  EXPECT_EQ(json["roles"][0]["name"], "updaters");
  EXPECT_EQ(json["roles"][0]["threads"], 2);
  EXPECT_EQ(json["roles"][0]["throughput"], result.metrics.at("role_updaters_throughput"));
  EXPECT_EQ(json["roles"][1]["operations"]["find"]["attempted"],
            result.threads[2].operations.attempted[2]);
  EXPECT_FALSE(json["roles"][0].contains("backlog"));
  EXPECT_EQ(json["threads"][1]["role"], "updaters");
  EXPECT_EQ(json["threads"][2]["role"], "readers");
  EXPECT_EQ(json["threads"][2]["operations"].size(), 3U);
  double shares = 0;
  for (const auto& thread : json["threads"]) shares += thread["share"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_FALSE(json.contains("latency"));
}

TEST(run, reports_latency_by_role_and_kind) {
  request request = request_with_roles();
  request.latency = 1;
  const result result = run_with<correct_map>(request);
  const auto latency = to_json(result, {})["latency"];
  EXPECT_EQ(latency["sampling"], "all");
  EXPECT_EQ(latency["from"], "start");
  EXPECT_GT(latency["clock_ns"], 0);
  ASSERT_EQ(latency["histograms"].size(), 3U);  // updaters' inserts and erases, readers' searches
  std::size_t kind = 0;
  for (const auto& one : latency["histograms"]) {
    EXPECT_EQ(one["role"], kind == 2 ? "readers" : "updaters");
    EXPECT_EQ(one["operation"], workload::operations()[kind].name);
    std::uint64_t attempted = 0;
    for (const auto& thread : result.threads) attempted += thread.operations.attempted[kind];
    EXPECT_EQ(one["count"], attempted);
    std::uint64_t in_buckets = 0;
    for (const auto& bucket : one["buckets"]) in_buckets += bucket[2].get<std::uint64_t>();
    EXPECT_EQ(in_buckets, attempted);
    // A thread that seldom had a processor has too few operations for the highest, or none at all.
    for (const auto& percentile : one.value("percentiles", nlohmann::json::object())) {
      EXPECT_LE(percentile, one["max_ns"]);
    }
    ++kind;
  }
  EXPECT_EQ(result.metrics.at("longest_ns"), result.metrics.at("latency_max_ns"));

  request.latency = 16;
  EXPECT_EQ(to_json(run_with<correct_map>(request), {})["latency"]["sampling"], 16);
}

TEST(run, reports_what_arrived_in_an_open_loop) {
  request request = request_with_roles();
  request.latency = 1;
  request.roles[1].arrivals = arrivals{.rate = 10'000, .spacing = spacing::even};
  const result result = run_with<correct_map>(request);
  EXPECT_THAT(result.problems, IsEmpty());
  const auto json = to_json(result, {});
  EXPECT_FALSE(json["roles"][0].contains("arrived"));
  const auto& readers = result.threads[2];
  EXPECT_NEAR(json["roles"][1]["arrived"].get<double>(),
              static_cast<double>(readers.measured_ns) / 100'000, 2);
  EXPECT_EQ(json["roles"][1]["arrived"].get<std::uint64_t>(),
            readers.operations.operations() + json["roles"][1]["backlog"].get<std::uint64_t>());
  EXPECT_NEAR(result.metrics.at("arrival_rate"), 10'000, 500);
  EXPECT_EQ(json["latency"]["from"], "mixed");
  EXPECT_EQ(json["latency"]["histograms"][0]["from"], "start");
  EXPECT_EQ(json["latency"]["histograms"][2]["from"], "arrival");
}

TEST(run, tells_whether_the_same_request_draws_the_same_numbers) {
  request request = short_request();
  EXPECT_EQ(to_json(run_with<correct_map>(request), {})["replayable"], true);
  request.roles[0].work.engine.reseed_every = 1000;
  const auto json = to_json(run_with<correct_map>(request), {});
  EXPECT_EQ(json["replayable"], false);
  EXPECT_NE(json["not_replayable_because"], "");

  request = short_request();
  request.roles[0].work.keys.kind = workload::distribution_kind::latest;
  EXPECT_THAT(run_with<correct_map>(request).not_replayable_because, HasSubstr("latest"));
  request.batch = 8;
  EXPECT_THAT(run_with<correct_map>(request).not_replayable_because, IsEmpty());
}

TEST(run, gives_no_percentiles_of_operations_that_never_were) {
  request request = short_request();
  request.latency = 1;
  request.roles[0].arrivals = arrivals{.rate = 1e-6, .spacing = spacing::even};
  const auto histograms = to_json(run_with<correct_map>(request), {})["latency"]["histograms"];
  ASSERT_EQ(histograms.size(), 3U);
  int never = 0;
  for (const auto& one : histograms) {
    never += one["count"] == 0;
    EXPECT_EQ(one.contains("percentiles"), one["count"] > 0);
    EXPECT_EQ(one.contains("max_ns"), one["count"] > 0);
  }
  EXPECT_GE(never, 2);  // one operation is due at once, the next in some days
}

// What the threads need to measure is there before the map and not counted as the map's.
TEST(run, counts_no_memory_of_its_own_as_the_maps) {
  request request = short_request();
  request.roles[0].work.engine.array = 4'000'000;  // 32 MB for each of two threads
  const auto metrics = run_with<correct_map>(request).metrics;
  EXPECT_LT(metrics.at("peak_resident_bytes") - metrics.at("resident_before_bytes"), 32e6);
}

TEST(run, reports_memory_over_the_measured_interval) {
  for (const int ms : {1, 45, 400}) {
    request request = short_request();
    request.duration = milliseconds(ms);
    const result result = run_with<correct_map>(request);
    const auto& resident = result.memory.resident;
    EXPECT_GE(resident.size(), 2U);
    EXPECT_LE(resident.size(), 32U);
    for (std::size_t i = 0; i < resident.size(); ++i) {
      EXPECT_GT(resident[i].bytes, 0U);
      EXPECT_GE(resident[i].ms, i == 0 ? 0 : resident[i - 1].ms);
    }
    EXPECT_GE(resident.back().ms, ms);
    EXPECT_EQ(result.metrics.at("resident_end_bytes"), static_cast<double>(resident.back().bytes));
    EXPECT_EQ(to_json(result, {})["memory"]["resident"].size(), resident.size());
  }
}

TEST(run, places_memory_as_asked_for) {
  request request = short_request();
  EXPECT_EQ(run_with<correct_map>(request).memory.policy, host::memory_policy_in_use());
  for (const std::string policy : {"interleave", "local"}) {
    request.memory_policy = policy;
    EXPECT_EQ(run_with<correct_map>(request).memory.policy, policy);
  }
}

TEST(run, refuses_an_allocator_that_is_not_there) {
  request request = short_request();
  request.allocator = "mimalloc";
  EXPECT_THROW(run_with<correct_map>(request), bad_request);
}

// Holds what it should, and has lost the way to half of it.
struct crooked_map : test_map<crooked_map> {
  [[nodiscard]] std::optional<std::string> broken_invariant() const {
    return "half of it hangs in the air";
  }
  [[nodiscard]] assay::shape shape() const { return {.nodes = 1}; }
};
struct descending_map : test_map<descending_map> {
  static constexpr bool ordered = true;
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& [key, value] : elements | std::views::reverse) visit(key, value);
  }
};

TEST(run, is_invalid_if_an_invariant_of_the_map_is_broken) {
  const result crooked = run_with<crooked_map>(short_request());
  EXPECT_EQ(problems_of(crooked), "an invariant of the map is broken: half of it hangs in the air");
  EXPECT_EQ(to_json(crooked, {})["status"], "invalid");
  EXPECT_THAT(crooked.metrics, Not(Contains(Key("nodes"))));
  EXPECT_EQ(problems_of(run_with<descending_map>(short_request())),
            "an invariant of the map is broken: a walk does not ascend");
}

struct shapely_map : test_map<shapely_map> {
  [[nodiscard]] assay::shape shape() const {
    return {.nodes = elements.size() + 7,
            .max_depth = 9,
            .mean_depth = 4.5,
            .bytes = 40 * elements.size()};
  }
};
struct slab_map : test_map<slab_map> {
  static assay::shape shape() { return {.bytes = 4096}; }
};

TEST(run, tells_the_shape_of_the_map_as_far_as_the_map_does) {
  const result shapely = run_with<shapely_map>(short_request());
  EXPECT_THAT(shapely.problems, IsEmpty());
  EXPECT_EQ(shapely.metrics.at("nodes"),
            static_cast<double>(shapely.contents_check->found.size + 7));
  EXPECT_EQ(shapely.metrics.at("depth_max"), 9);
  EXPECT_EQ(shapely.metrics.at("depth_mean"), 4.5);
  EXPECT_EQ(shapely.metrics.at("bytes_per_element"), 40);
  EXPECT_THAT(run_with<slab_map>(short_request()).metrics, Not(Contains(Key("nodes"))));
  request empty = short_request();
  empty.roles = one_role(1, {0, 50, 50});
  EXPECT_THAT(run_with<slab_map>(empty).metrics, Not(Contains(Key("bytes_per_element"))));
  for (const char* const name : {"nodes", "depth_max", "depth_mean", "bytes_per_element"}) {
    EXPECT_THAT(run_with<correct_map>(short_request()).metrics, Not(Contains(Key(name))));
  }
}

TEST(run, tells_energy_or_why_it_cannot) {
  const auto json = to_json(run_with<correct_map>(short_request()), {});
  EXPECT_FALSE(json["energy"]["available"].empty() && json["energy"]["unavailable"].empty());
}

probe::counter inserted{"test_inserted", "inserts that succeeded"};

struct probed_map : test_map<probed_map> {
  bool insert(std::uint64_t key, std::uint64_t value) {
    const bool succeeded = sound_map::insert(key, value);
    if (succeeded) inserted.add();
    return succeeded;
  }
};

TEST(run, lets_probes_record_over_the_measured_interval_unless_told_not_to) {
  request request = short_request();
  const result result = run_with<probed_map>(request);
  std::uint64_t counted = 0;
  for (const auto& thread : result.threads) counted += thread.operations.succeeded[0];
  EXPECT_EQ(result.metrics.at("probe_test_inserted"), static_cast<double>(counted));
  const auto probe = to_json(result, {})["probes"]["test_inserted"];
  EXPECT_EQ(probe["kind"], "counter");
  EXPECT_EQ(probe["description"], "inserts that succeeded");
  ASSERT_EQ(probe["threads"].size(), 2U);
  EXPECT_EQ(probe["threads"][1], result.threads[1].operations.succeeded[0]);
  EXPECT_EQ(probe["sum"], counted);

  request.probes = false;
  const auto silent = to_json(run_with<probed_map>(request), {});
  EXPECT_FALSE(silent.contains("probes"));
  EXPECT_FALSE(silent["metrics"].contains("probe_test_inserted"));
}

// --- Validation
// ------------------------------------------------------------------------------------------

// Loses one insert in a hundred, after saying that it succeeded.
std::vector<std::uint64_t> tombstones;

// Throws if it is to store a value that it keeps for itself.
template <class K, class V>
struct map_with_tombstones : test_map<map_with_tombstones<K, V>, subject::sound_map_of<K, V>> {
  inline static const std::vector<std::uint64_t>& reserved_values = tombstones;
  bool insert(const K& key, const V& value) {
    if constexpr (std::is_integral_v<V>) {
      if (std::ranges::find(reserved_values, value) != reserved_values.end()) {
        throw std::logic_error("a value that is reserved");
      }
    }
    return subject::sound_map_of<K, V>::insert(key, value);
  }
};

subject::subject_entry with_tombstones(const std::vector<std::uint64_t>& values) {
  tombstones = values;
  return subject::describe_subject_template<map_with_tombstones, std::uint64_t, std::uint32_t>(
      "test", "a");
}

TEST(run, stores_no_value_that_the_map_reserves) {
  request request = short_request();
  const std::uint64_t salt = random::derive_seed(request.seed, workload::salt_stream);
  // What the keys 1 and 2 would have.
  EXPECT_THAT(run(request, with_tombstones({salt ^ 1, salt ^ 2})).problems, IsEmpty());
  request.key = request.value = {.type = subject::type_spec::kind::uint32};
  EXPECT_THAT(run(request, with_tombstones({(salt ^ 1) & UINT32_MAX})).problems, IsEmpty());
}

TEST(run, draws_values_by_their_distribution_but_those_that_the_map_reserves) {
  request request = short_request();
  request.values = {.from = 76, .to = 78, .by = {.kind = workload::distribution_kind::zipf}};
  EXPECT_THAT(run(request, with_tombstones({76, 77})).problems, IsEmpty());
  EXPECT_THROW(static_cast<void>(run(request, with_tombstones({76, 77, 78}))), bad_request);
}

// Keeps the top bit of a value for itself.
struct map_with_mark : test_map<map_with_mark> {
  static constexpr std::uint64_t mark = std::uint64_t{1} << 63U;
  bool insert(std::uint64_t key, std::uint64_t value) {
    return sound_map::insert(key, value | mark);
  }
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const auto found = sound_map::find(key);
    return found ? std::optional(*found & ~mark) : std::nullopt;
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    sound_map::for_each([&](std::uint64_t key, std::uint64_t value) { visit(key, value & ~mark); });
  }
};

TEST(run, stores_values_of_as_many_bits_as_the_map_takes) {
  auto subject = describe_subject<map_with_mark>("test", "a");
  request request = short_request();
  EXPECT_THAT(run(request, subject).problems, Contains(HasSubstr("holds")));
  for (const unsigned bits : {63U, 48U}) {
    subject.value_bits = bits;
    EXPECT_THAT(run(request, subject).problems, IsEmpty()) << bits;
  }
  request.values = {.from = 1, .to = std::uint64_t{1} << 48U};
  EXPECT_THROW(static_cast<void>(run(request, subject)), bad_request);
}

TEST(run, refuses_reserved_values_that_no_draw_would_leave_out) {
  std::vector<std::uint64_t> all(1000);
  std::iota(all.begin(), all.end(), 0U);
  auto subject = describe_subject<map_with_mark>("test", "a");
  subject.reserved_values = all;
  request request = short_request();
  request.keys = workload::key_layout::sparse;
  request.key_range = std::uint64_t{1} << 62U;
  EXPECT_THROW(static_cast<void>(run(request, subject)), bad_request);
}

// A value of 32 bits holds half of a key's 64 bits.
TEST(run, refuses_keys_that_would_have_reserved_values) {
  auto subject = with_tombstones({0});
  subject.types = {subject::held_as<map_with_tombstones<std::uint64_t, std::uint32_t>,
                                    std::uint64_t, std::uint32_t>()};
  request request = short_request();
  request.value = {.type = subject::type_spec::kind::uint32};
  EXPECT_THAT(run(request, subject).problems, IsEmpty());
  request.keys = workload::key_layout::sparse;
  EXPECT_THROW(static_cast<void>(run(request, subject)), bad_request);
}

struct losing_map : test_map<losing_map> {
  bool insert(std::uint64_t key, std::uint64_t value) {
    return ++calls % 100 == 0 ? !find(key) : sound_map::insert(key, value);
  }
  std::atomic<int> calls = 0;
};

struct forgetful_map : test_map<forgetful_map> {
  bool erase(std::uint64_t key) {
    return ++calls % 100 == 0 ? find(key).has_value() : sound_map::erase(key);
  }
  std::atomic<int> calls = 0;
};

struct corrupting_map : test_map<corrupting_map> {
  bool insert(std::uint64_t key, std::uint64_t value) { return sound_map::insert(key, value + 1); }
};

// Holds every key twice as far as a walk can tell.
struct doubling_map : test_map<doubling_map> {
  template <class Visit>
  void for_each(Visit&& visit) {
    sound_map::for_each(visit);
    sound_map::for_each(visit);
  }
};

struct endless_map : test_map<endless_map> {
  template <class Visit>
  void for_each(Visit&& visit) {
    for (;;) visit(1, 1);
  }
};

struct shifting_map : test_map<shifting_map> {
  template <class Visit>
  void for_each(Visit&& visit) {
    sound_map::for_each([&](std::uint64_t key, std::uint64_t value) { visit(key + 1000, value); });
  }
};

// Swaps the values of two keys as it is walked through, which leaves the size and the sum of keys.
struct swapping_map : test_map<swapping_map> {
  template <class Visit>
  void for_each(Visit&& visit) {
    std::swap(elements.begin()->second, elements.rbegin()->second);
    sound_map::for_each(visit);
  }
};

template <class Map>
std::string problems_with() {
  return problems_of(run_with<Map>(short_request()));
}

TEST(validation, finds_lost_and_forgotten_keys) {
  const auto lost = run_with<losing_map>(short_request()).contents_check.value();
  EXPECT_LT(lost.found.size, lost.expected.size);
  EXPECT_NE(lost.problem(), "");
  const auto forgotten = run_with<forgetful_map>(short_request()).contents_check.value();
  EXPECT_GT(forgotten.found.size, forgotten.expected.size);
  EXPECT_NE(forgotten.problem(), "");
}

TEST(validation, finds_wrong_values_in_searches_and_in_the_walk) {
  const auto problems = problems_with<corrupting_map>();
  EXPECT_THAT(problems, HasSubstr("searches returned a value other than the key's"));
  EXPECT_THAT(problems, HasSubstr("pairs of key and value differ"));
  const auto swapped = problems_with<swapping_map>();
  EXPECT_THAT(swapped, HasSubstr("pairs of key and value differ"));
  EXPECT_THAT(swapped,
              HasSubstr("2 values that nobody drew for their keys, expected 0 (the first: key "));
  EXPECT_THAT(swapped, HasSubstr(" holds value "));
}

TEST(validation, says_that_more_was_erased_than_inserted) {
  const validation check{.expected = {.size = -31}, .found = {}};
  EXPECT_EQ(check.problem(), "the map answered that it erased 31 more keys than were inserted");
}

TEST(validation, finds_keys_held_twice) {
  const auto check = run_with<doubling_map>(short_request()).contents_check.value();
  EXPECT_EQ(check.found.size, 2 * check.expected.size);
  EXPECT_EQ(check.duplicate_keys.number, check.expected.size);
  EXPECT_THAT(check.problem(), HasSubstr("whose key it had met before"));
}

// A map that the trial cannot tell from a correct one until it searches for what a walk has met.
template <class Map>
validation validation_of(std::uint64_t key_range) {
  request request = short_request();
  request.key_range = key_range;
  request.roles[0].work.mix = {50, 50, 0};
  request.duration = milliseconds(1);
  const auto check = run_with<Map>(request).contents_check.value();
  EXPECT_EQ(check.found, check.expected);
  return check;
}

struct blind_map : test_map<blind_map> {
  std::optional<std::uint64_t> find(std::uint64_t) { return {}; }
};

struct guessing_map : test_map<guessing_map> {
  std::optional<std::uint64_t> find(std::uint64_t key) {
    const auto found = sound_map::find(key);
    return found ? found : std::optional<std::uint64_t>(1);
  }
};

TEST(validation, finds_searches_that_miss) {
  const auto few = validation_of<blind_map>(1000);
  EXPECT_EQ(few.missed_searches.number, few.found.size);
  EXPECT_EQ(few.phantom_searches.number, 0U);
  EXPECT_THAT(few.problem(), HasSubstr("found nothing"));
  EXPECT_EQ(validation_of<blind_map>(210'000).missed_searches.number, 100'000U);
}

TEST(validation, finds_searches_that_find_what_is_not_there) {
  const auto few = validation_of<guessing_map>(1000);
  EXPECT_EQ(few.phantom_searches.number, 1000 - few.found.size);
  EXPECT_EQ(few.missed_searches.number, 0U);
  EXPECT_EQ(few.wrong_values.number, 0U);
  EXPECT_THAT(few.problem(), HasSubstr("does not hold"));
  // About half of 100,000 keys that were drawn are absent.
  EXPECT_NEAR(static_cast<double>(validation_of<guessing_map>(200'000).phantom_searches.number),
              50'000, 2000);
}

TEST(validation, finds_keys_that_nobody_inserted) {
  EXPECT_THAT(problems_with<shifting_map>(), HasSubstr("keys that no operation ever drew"));
  request request = short_request();
  request.keys = workload::key_layout::sparse;
  EXPECT_THAT(problems_of(run_with<shifting_map>(request)),
              HasSubstr("keys that no operation ever drew"));
}

TEST(validation, gives_up_a_walk_without_end) {
  EXPECT_THAT(problems_with<endless_map>(), HasSubstr("did not end"));
}

// --- Stopping and failing
// ---------------------------------------------------------------------------------

// A map whose snapshots begin again until the end of a trial.
class starving_map : public subject::sound_map {
 public:
  template <class Visit>
  void snapshot(Visit visit) {
    try {
      while (!given_up_) visit.begin_again();
      visit.begin_again();  // ends it, too, if another thread's was the first to be given up
    } catch (...) {
      given_up_ = true;
      throw;
    }
    for_each(visit);
  }
  auto attach() { return plain_handle(*this); }

 private:
  std::atomic<bool> given_up_{false};
};

TEST(run, reports_the_operation_that_a_stop_interrupted_and_does_not_count_it) {
  request request = short_request();
  request.roles[0].work.mix = {0, 0, 0, 0, 0, 100};
  const result result = run_with_all_threads<starving_map>(request);
  EXPECT_THAT(result.problems, IsEmpty());
  for (const auto& thread : result.threads) {
    EXPECT_EQ(thread.operations.operations(), 0U);
    ASSERT_TRUE(thread.unfinished);
    EXPECT_EQ(thread.unfinished->operation, workload::operation::snapshot);
    EXPECT_GT(thread.unfinished->age_ns, 0U);
    EXPECT_LE(thread.unfinished->age_ns, thread.measured_ns);
  }
  EXPECT_EQ(result.metrics.at("throughput"), 0);
  const auto json = to_json(result, {});
  EXPECT_EQ(json["threads"][0]["unfinished"]["operation"], "snapshot");
}

TEST(run, reports_the_operation_of_a_warm_up_that_only_the_stop_ended) {
  request request = short_request();
  request.roles[0].work.mix = {0, 0, 0, 0, 0, 100};
  request.warm_up = milliseconds(5);
  const result result = run_with_all_threads<starving_map>(request);
  EXPECT_THAT(result.problems, IsEmpty());
  for (const auto& thread : result.threads) {
    EXPECT_EQ(thread.operations.operations(), 0U);
    ASSERT_TRUE(thread.unfinished);
    EXPECT_GT(thread.unfinished->age_ns, 0U);
  }
  EXPECT_EQ(result.metrics.at("throughput"), 0);
  for (const auto& [name, value] : result.metrics) EXPECT_TRUE(std::isfinite(value)) << name;
}

// Counts handles, knows the thread of each, and runs out of memory after a while.
class failing_map : public subject::sound_map {
 public:
  static inline std::atomic<int> alive = 0;
  static inline std::atomic<int> destroyed_elsewhere = 0;

  class handle {
   public:
    explicit handle(failing_map& map) : map_(map) { ++alive; }
    ~handle() {
      --alive;
      if (thread_ != std::this_thread::get_id()) ++destroyed_elsewhere;
    }
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    bool insert(std::uint64_t key, std::uint64_t value) {
      if (++map_.inserts_ > 2000) throw std::bad_alloc();
      return map_.insert(key, value);
    }
    bool erase(std::uint64_t key) { return map_.erase(key); }
    std::optional<std::uint64_t> find(std::uint64_t key) { return map_.find(key); }

   private:
    failing_map& map_;
    std::thread::id thread_ = std::this_thread::get_id();
  };

  ~failing_map() { EXPECT_EQ(alive, 0) << "handles must be gone before the map is"; }
  handle attach() { return handle(*this); }

 private:
  std::atomic<int> inserts_ = 0;
};

TEST(run, hands_on_what_the_map_throws_with_its_handles_destroyed) {
  request request = short_request();
  request.duration = milliseconds(200);
  EXPECT_THROW(run_with<failing_map>(request), std::bad_alloc);
  EXPECT_EQ(failing_map::alive, 0);
  EXPECT_EQ(failing_map::destroyed_elsewhere, 0);
}

// --- The result as JSON
// ------------------------------------------------------------------------------------

TEST(to_json, says_what_the_result_says) {
  request request = short_request();
  request.seed = 0;
  const auto valid = to_json(run_with<correct_map>(request), {{"kernel", "x"}});
  EXPECT_EQ(valid["protocol"], 1);
  EXPECT_EQ(valid["status"], "valid");
  EXPECT_FALSE(valid.contains("reason"));
  EXPECT_EQ(valid["environment"]["kernel"], "x");
  EXPECT_EQ(valid["threads"].size(), 2U);
  EXPECT_EQ(valid["threads"][0]["seed"].get<std::string>().size(), 18U);
  EXPECT_EQ(valid["prefill"]["method"], "updates");
  EXPECT_EQ(valid["validation"]["expected"], valid["validation"]["found"]);
  EXPECT_EQ(valid["validation"]["wrong_visits"], 0);
  EXPECT_EQ(valid["validation"]["observations"], nlohmann::json::array());
  EXPECT_EQ(valid["roles"][0]["visited"], 0);
  EXPECT_FALSE(valid["counters"]["available"].empty() && valid["counters"]["unavailable"].empty());

  const auto invalid = to_json(run_with<losing_map>(request), {});
  EXPECT_EQ(invalid["status"], "invalid");
  EXPECT_THAT(invalid["reason"].get<std::string>(), HasSubstr("expected"));
  EXPECT_NE(invalid["validation"]["expected"], invalid["validation"]["found"]);

  EXPECT_EQ(to_json(run_with<empty_map>(request), {})["validation"],
            nlohmann::json({{"performed", false}}));
}

}  // namespace
}  // namespace assay::trial
