// A trial that time has ended, performed again by its numbers of operations, which differ from run
// to run: the tests read them from the first result. All subjects are in subjects_test.

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/host/placement.h"
#include "assay/random/permutation.h"
#include "assay/workload/streams.h"
#include "tests/test_maps.h"
#include "tests/test_replay.h"

namespace assay::trial {
namespace {

using std::chrono::milliseconds;
using subject::describe_subject;
using subject::test_map;
using workload::distribution;
using workload::distribution_kind;
using workload::mix;

using ordered_map = subject::correct_ordered_map<std::uint64_t, std::uint64_t>;

request short_request(unsigned threads, const mix& mix) {
  return {.subject = "test",
          .seed = 7,
          .pinning = {},
          .key_range = 300,
          .keys = workload::key_layout::dense,
          .roles = one_role(threads, mix),
          .warm_up = milliseconds(1),
          .duration = milliseconds(3),
          .interval = milliseconds(1)};
}

void expect_replay_of_test_map(const request& request) {
  expect_replay(request, describe_subject<ordered_map>("test", "a test's map"));
}

TEST(replay, repeats_every_distribution) {
  std::vector<distribution> all;
  all.push_back({.kind = distribution_kind::uniform});
  all.push_back({.kind = distribution_kind::zipf, .exponent = 0.9, .scrambled = true});
  all.push_back({.kind = distribution_kind::hot_set, .operations_percent = 90, .keys_percent = 10});
  all.push_back({.kind = distribution_kind::binomial, .p = 0.3});
  all.push_back({.kind = distribution_kind::exponential, .mean_percent = 20});
  all.push_back({.kind = distribution_kind::normal, .mean_percent = 50, .deviation_percent = 10});
  all.push_back({.kind = distribution_kind::sequential});
  std::vector<double> weights(300);
  std::iota(weights.begin(), weights.end(), 1);
  all.push_back({.kind = distribution_kind::empirical, .weights = weights});
  for (const auto& keys : all) {
    request request = short_request(1, {30, 20, 50});
    request.roles[0].work.keys = keys;
    expect_replay_of_test_map(request);
  }
}

// What is newest follows from batches that have been performed to their ends.
TEST(replay, repeats_the_latest_keys_of_batches_of_one_length) {
  for (const std::size_t batch : {1U, 7U, 512U}) {
    for (const unsigned threads : {1U, 2U}) {
      request request = short_request(threads, {10, 8, 80, 2});
      request.roles[0].work.keys = {.kind = distribution_kind::latest, .exponent = 1};
      request.batch = batch;
      expect_replay_of_test_map(request);
      request.roles[0].arrivals = arrivals{.rate = 200'000};
      expect_replay_of_test_map(request);
    }
  }
}

TEST(replay, repeats_engines_and_how_numbers_become_operations) {
  for (const std::string engine : {"xoshiro256pp", "mt19937_64", "pcg64", "wyrand"}) {
    request request = short_request(1, {30, 20, 50});
    request.roles[0].work.engine.name = engine;
    request.roles[0].work.engine.array = 1001;
    expect_replay_of_test_map(request);
    request.roles[0].work.engine.array.reset();
    request.roles[0].work.draws = workload::draws::two;
    request.roles[0].work.bounding = workload::bounding::modulo;
    expect_replay_of_test_map(request);
  }
}

TEST(replay, repeats_prefills_of_every_method) {
  for (const mix& mix : {workload::mix{50, 50, 0}, {10, 0, 90}, {0, 10, 90}, {0, 0, 100}}) {
    request request = short_request(1, mix);
    request.keys = workload::key_layout::sparse;
    expect_replay_of_test_map(request);
  }
}

TEST(replay, repeats_operations_that_are_rare_or_timed) {
  for (const latency_sampling sampling : {0U, 1U, 7U}) {
    for (const unsigned threads : {1U, 2U}) {
      request request = short_request(threads, {30, 30, 30, 4, 2, 2, 2});
      request.roles[0].work.lengths = {5, 50};
      request.roles[0].fold = workload::fold::sum;
      request.latency = sampling;
      expect_replay_of_test_map(request);
    }
  }
}

TEST(replay, times_the_same_operations) {
  request request = short_request(1, {30, 20, 48, 2});
  request.latency = 5;
  const auto subject = describe_subject<ordered_map>("test", "a test's map");
  const result first = run(request, subject);
  const result again = run(replay_of(request, first), subject);
  for (std::size_t kind = 0; kind < workload::operation_kinds; ++kind) {
    const auto& before = first.roles[0].durations[kind];
    ASSERT_EQ(before.has_value(), again.roles[0].durations[kind].has_value());
    if (before) {
      EXPECT_EQ(before->count(), again.roles[0].durations[kind]->count());
    }
  }
}

TEST(replay, repeats_open_loops) {
  for (const spacing spacing : {spacing::poisson, spacing::even}) {
    for (const unsigned threads : {1U, 3U}) {
      request request = short_request(threads, {30, 20, 48, 2});
      request.roles[0].arrivals = arrivals{.rate = 100'000, .spacing = spacing};
      expect_replay_of_test_map(request);
    }
  }
}

TEST(replay, repeats_roles_each_by_its_own_threads) {
  request request = short_request(1, {});
  request.roles = {{.name = "updaters", .threads = 2, .work = {.mix = {50, 50, 0}}},
                   {.name = "readers", .threads = 1, .work = {.mix = {0, 0, 98, 2}}},
                   {.name = "visitors",
                    .threads = 1,
                    .work = {.mix = {0, 0, 0, 100}},
                    .arrivals = arrivals{.rate = 10'000}}};
  request.latency = 3;
  expect_replay_of_test_map(request);
}

// The numbers alone decide, not the times that the request still has.
TEST(replay, ends_by_its_operations_however_long_they_take) {
  request request = short_request(2, {30, 20, 50});
  request.operations = {{1000, 0}, {0, 20'000}};
  const auto subject = describe_subject<ordered_map>("test", "a test's map");
  for (const milliseconds warm_up : {milliseconds(0), milliseconds(1), milliseconds(20)}) {
    request.warm_up = warm_up;
    const result result = run(request, subject);
    EXPECT_TRUE(result.problems.empty());
    EXPECT_EQ(result.threads[0].warmed_up, 1000U);
    EXPECT_EQ(result.threads[0].operations.operations(), 0U);
    EXPECT_EQ(to_json(result, {})["threads"][0]["warmed_up"], 1000);
    EXPECT_EQ(result.threads[1].warmed_up, 0U);
    EXPECT_EQ(result.threads[1].operations.operations(), 20'000U);
    EXPECT_EQ(std::accumulate(result.threads[1].series.begin(), result.threads[1].series.end(),
                              std::uint64_t{0}),
              20'000U);
  }
}

// --- Perturbation
// ---------------------------------------------------------------------------------------------

TEST(perturbation, changes_nothing_of_what_a_replay_repeats) {
  request request = short_request(1, {30, 20, 50});
  const auto subject = describe_subject<ordered_map>("test", "a test's map");
  const result first = run(request, subject);
  request.perturbation = {.stack_bytes = 4096, .heap_bytes = 1000, .thread_order = 1};
  expect_repeated(first, run(replay_of(request, first), subject));
}

// Takes note of which of the system's threads inserted the values of each thread of the trial.
struct noting_map : test_map<noting_map> {
  static inline std::map<unsigned, pid_t> numbers;
  bool insert(std::uint64_t key, std::uint64_t value) {
    {
      const std::scoped_lock lock(mutex);
      const std::uint64_t writer = value >> subject::value_rules::number_bits;
      numbers[static_cast<unsigned>(writer & 1023) - 1] = gettid();
    }
    return sound_map::insert(key, value);
  }
};

// As in crew_test.
bool was_made_in(const std::vector<unsigned>& order, const std::map<unsigned, pid_t>& numbers) {
  int falls = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    falls += numbers.at(order[(i + 1) % order.size()]) < numbers.at(order[i]);
  }
  return falls == 1;
}

TEST(perturbation, makes_threads_in_another_order_that_keep_their_seeds) {
  constexpr unsigned threads = 6;
  request request = short_request(threads, {50, 50, 0});
  const auto subject = describe_subject<noting_map>("test", "a test's map");
  std::vector<unsigned> in_order(threads);
  std::iota(in_order.begin(), in_order.end(), 0U);
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<unsigned> order = in_order;
    request.perturbation.thread_order.reset();
    if (seed > 0) {
      request.perturbation.thread_order = seed;
      const random::permutation drawn(threads, seed);
      for (unsigned& index : order) index = static_cast<unsigned>(drawn(index));
    }
    noting_map::numbers.clear();
    const result result = run(request, subject);
    EXPECT_TRUE(result.problems.empty());
    ASSERT_EQ(noting_map::numbers.size(), threads);
    EXPECT_TRUE(was_made_in(order, noting_map::numbers)) << seed;
    moved += !was_made_in(in_order, noting_map::numbers);
    for (unsigned i = 0; i < threads; ++i) {
      EXPECT_EQ(result.threads[i].seed, workload::thread_seed(request.seed, i));
    }
  }
  EXPECT_GE(moved, 3);  // the seeds are fixed, and so is the answer
}

struct weighing_map : test_map<weighing_map> {
  static inline std::size_t in_use = 0;
  weighing_map() { in_use = mallinfo2().uordblks; }
};

TEST(perturbation, takes_part_of_the_heap_in_every_thread_before_the_map_is_built) {
  if (ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER) {
    GTEST_SKIP() << "sanitizers bring their own allocator, which does not say what is in use";
  }
  request request = short_request(2, {50, 50, 0});
  const auto subject = describe_subject<weighing_map>("test", "a test's map");
  static_cast<void>(run(request, subject));
  static_cast<void>(run(request, subject));
  const std::size_t without = weighing_map::in_use;
  request.perturbation.heap_bytes = 65'536;
  static_cast<void>(run(request, subject));
  EXPECT_NEAR(static_cast<double>(weighing_map::in_use - without), 3 * 65'536, 32'768);
}

TEST(perturbation, exchanges_the_processors_of_a_policy) {
  request request = short_request(3, {50, 50, 0});
  const auto subject = describe_subject<ordered_map>("test", "a test's map");
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    request.pinning = {.kind = host::pinning::policy::compact, .processors = {}};
    request.perturbation.placement = seed;
    const auto processors = host::placement(request.pinning, 3, seed).processors();
    const result result = run(request, subject);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(result.threads[i].bound_to, std::vector{processors[i % processors.size()]});
    }
  }
  request.pinning = {.kind = host::pinning::policy::list, .processors = {0}};
  EXPECT_THROW(static_cast<void>(run(request, subject)), bad_request);
}

// --- What cannot be replayed
// ---------------------------------------------------------------------------------------------

// Its visits begin again until one of them is given up.
struct restless_map
    : test_map<restless_map, subject::sound_ordered_map<std::uint64_t, std::uint64_t>> {
  template <class Visit>
  void range(std::uint64_t, std::uint64_t, Visit visit) {
    try {
      while (!one_was_given_up) visit.begin_again();
    } catch (...) {
      one_was_given_up = true;
      throw;
    }
  }
  bool one_was_given_up = false;
};

TEST(replay, is_not_promised_where_an_operation_was_given_up) {
  const request request = short_request(1, {0, 0, 0, 100});
  const auto subject = describe_subject<restless_map>("test", "a test's map");
  result result = run(request, subject);
  // A thread that had no processor before the stop has begun none.
  while (!result.threads[0].unfinished) result = run(request, subject);
  EXPECT_EQ(result.not_replayable_because,
            "thread 0 gave up an operation (range) when time was over");
}

TEST(replay, is_promised_where_none_was) {
  const result result =
      run(short_request(1, {30, 20, 50}), describe_subject<ordered_map>("test", "a test's map"));
  EXPECT_EQ(result.not_replayable_because, "");
}

}  // namespace
}  // namespace assay::trial
