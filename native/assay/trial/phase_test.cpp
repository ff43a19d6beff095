// How a request fills a map, and phases that load, grow or drain one.

#include "assay/trial/phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "assay/subject/subject.h"
#include "assay/trial/run.h"
#include "tests/test_bags.h"
#include "tests/test_maps.h"
#include "tests/test_replay.h"

namespace assay::trial {
namespace {

using subject::correct_map;
using subject::describe_bag;
using subject::describe_subject;
using subject::tally;
using subject::test_map;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using method = filling::method;
using kind = phase::kind;

request short_request(unsigned threads = 2, const workload::mix& mix = {10, 10, 80}) {
  return {.subject = "test",
          .seed = 5,
          .pinning = {},
          .key_range = 1001,
          .keys = workload::key_layout::dense,
          .roles = one_role(threads, mix),
          .duration = std::chrono::milliseconds(2),
          .interval = std::chrono::milliseconds(1)};
}

request of_phase(phase phase, unsigned threads = 2) {
  request request = short_request(
      threads, phase.what == kind::drain ? workload::mix{0, 100, 0} : workload::mix{100, 0, 0});
  if (phase.what == kind::load) request.prefill.filled_by = method::none;
  request.phase = phase;
  return request;
}

template <class Map>
result run_with(const request& request) {
  return run(request, describe_subject<Map>("test", "a test's map"));
}

std::string problems_of(const result& result) {
  return std::accumulate(result.problems.begin(), result.problems.end(), std::string());
}

std::string refusal_of(const request& request) {
  try {
    static_cast<void>(run_with<correct_map>(request));
  } catch (const bad_request& error) {
    return error.what();
  }
  return "";
}

tally all_of(const result& result) {
  tally all;
  for (const auto& thread : result.threads) all += thread.operations;
  return all;
}

// Notes the order in which keys are inserted.
struct noting_map : test_map<noting_map> {
  static inline std::vector<std::uint64_t> inserted;
  bool insert(std::uint64_t key, std::uint64_t value) {
    const bool is_new = sound_map::insert(key, value);
    const std::scoped_lock lock(mutex);
    if (is_new) inserted.push_back(key);
    return is_new;
  }
};

// --- The prefill ---------------------------------------------------------------------------------

TEST(filling, inserts_as_many_distinct_keys_as_it_says) {
  for (const method how : {method::inserts, method::sorted}) {
    for (const std::uint64_t size : {0U, 1U, 400U, 1001U}) {
      request request = short_request(3, {0, 0, 100});
      request.prefill = {.filled_by = how, .size = size};
      noting_map::inserted.clear();
      const result result = run_with<noting_map>(request);
      EXPECT_THAT(result.problems, IsEmpty());
      EXPECT_EQ(result.prefill.size, static_cast<std::int64_t>(size));
      EXPECT_EQ(result.prefill.operations, size);
      EXPECT_EQ(result.metrics.at("prefill_size"), static_cast<double>(size));
      EXPECT_EQ(result.metrics.at("prefill_erases"), 0);
      EXPECT_EQ(result.metrics.at("final_size"), static_cast<double>(size));
      EXPECT_EQ(to_json(result, {})["prefill"]["method"],
                how == method::sorted ? "sorted" : "permutation");
    }
  }
}

TEST(filling, of_one_thread_in_ascending_or_in_random_order) {
  for (const auto keys : {workload::key_layout::dense, workload::key_layout::sparse}) {
    request request = short_request(2, {0, 0, 100});
    request.keys = keys;
    request.prefill = {.filled_by = method::sorted, .size = 400, .threads = 1};
    noting_map::inserted.clear();
    const result result = run_with<noting_map>(request);
    EXPECT_EQ(result.metrics.at("prefill_threads"), 1);
    EXPECT_TRUE(std::ranges::is_sorted(noting_map::inserted));
    std::vector<std::uint64_t> sorted = noting_map::inserted;
    request.prefill.filled_by = method::inserts;
    noting_map::inserted.clear();
    static_cast<void>(run_with<noting_map>(request));
    EXPECT_FALSE(std::ranges::is_sorted(noting_map::inserted));
    std::ranges::sort(noting_map::inserted);
    EXPECT_EQ(noting_map::inserted, sorted);  // the same keys
    if (keys == workload::key_layout::dense) {
      EXPECT_GT(sorted.back(), 900U);  // from the whole key range
    }
  }
}

TEST(filling, by_updates_settles_at_the_size_that_it_says_whatever_the_mix) {
  request request = short_request(2, {10, 90, 0});
  request.duration = std::chrono::milliseconds(1);
  request.prefill.size = 700;
  const result result = run_with<correct_map>(request);
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.prefill.method, prefill_method::updates);
  EXPECT_NEAR(result.prefill.expected_size, 700, 1e-6);
  EXPECT_NEAR(static_cast<double>(result.prefill.size), 700, result.prefill.tolerance);
  EXPECT_GT(result.metrics.at("prefill_erases"), 100);
  request.prefill.size = 1001;
  EXPECT_EQ(run_with<correct_map>(request).prefill.size, 1001);
}

TEST(filling, with_nothing_leaves_the_map_empty) {
  request request = short_request(2, {0, 0, 100});
  request.prefill.filled_by = method::none;
  const result result = run_with<correct_map>(request);
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(to_json(result, {})["prefill"]["method"], "none");
  EXPECT_EQ(result.metrics.at("prefill_threads"), 0);
  EXPECT_EQ(result.metrics.at("final_size"), 0);
}

TEST(filling, of_a_multimap_or_queue_is_as_many_entries) {
  for (const method how : {method::updates, method::inserts, method::sorted}) {
    request request = short_request(2, {50, 50, 0});
    request.prefill = {.filled_by = how, .size = 400};
    const auto multimap =
        describe_bag<subject::correct_multimap, std::uint64_t>("test", "a test's bag");
    const auto queue = describe_bag<subject::correct_queue, std::uint64_t>("test", "a test's bag");
    for (const auto& bag : {multimap, queue}) {
      const result result = run(request, bag);
      EXPECT_THAT(result.problems, IsEmpty());
      EXPECT_EQ(result.prefill.size, 400);
    }
  }
}

struct dropping_map : test_map<dropping_map> {
  bool insert(std::uint64_t key, std::uint64_t value) {
    return key % 7 == 0 || sound_map::insert(key, value);
  }
};

TEST(filling, of_a_map_that_drops_keys_is_noticed) {
  for (const method how : {method::updates, method::inserts, method::sorted}) {
    request request = short_request(2, {0, 0, 100});
    request.prefill = {.filled_by = how, .size = 1001};
    EXPECT_THAT(problems_of(run_with<dropping_map>(request)), HasSubstr("the map holds"));
  }
}

// --- What updates and searches come to -----------------------------------------------------------

// By operations and not by time, so that nothing depends on how fast the machine is.
request counted_request(const workload::mix& mix, std::uint64_t operations = 4000) {
  request request = short_request(2, mix);
  request.operations.assign(2, {.warm_up = 0, .measured = operations});
  return request;
}

TEST(effects, are_the_shares_of_updates_that_change_and_of_searches_that_find) {
  auto metrics = run_with<correct_map>(counted_request({25, 25, 50})).metrics;
  EXPECT_NEAR(metrics.at("effective_share"), 0.5, 0.1);
  EXPECT_NEAR(metrics.at("found_share"), 0.5, 0.1);
  EXPECT_NEAR(metrics.at("final_size"), 500, 100);

  metrics = run_with<correct_map>(counted_request({0, 10, 90})).metrics;  // which leaves nothing
  EXPECT_EQ(metrics.at("effective_share"), 0);
  EXPECT_EQ(metrics.at("found_share"), 0);
  EXPECT_EQ(metrics.at("final_size"), 0);

  metrics = run_with<correct_map>(counted_request({100, 0, 0})).metrics;  // which leaves all keys
  EXPECT_EQ(metrics.at("effective_share"), 0);
  EXPECT_THAT(metrics, Not(Contains(Key("found_share"))));
  EXPECT_EQ(metrics.at("final_size"), 1001);

  metrics = run_with<correct_map>(counted_request({0, 0, 100})).metrics;
  EXPECT_THAT(metrics, Not(Contains(Key("effective_share"))));
}

TEST(effects, of_few_operations_are_not_known) {
  const auto metrics = run_with<correct_map>(counted_request({25, 25, 50}, 20)).metrics;
  EXPECT_THAT(metrics, Not(Contains(Key("effective_share"))));
  EXPECT_THAT(metrics, Not(Contains(Key("found_share"))));
}

TEST(effects, of_ranges_over_an_empty_map_are_none) {
  const auto ordered = describe_subject<subject::correct_ordered_map<std::uint64_t, std::uint64_t>>(
      "test", "a test's map");
  request request = counted_request({0, 0, 0, 100}, 100);
  EXPECT_EQ(run(request, ordered).metrics.at("found_share"), 1);
  request.prefill.filled_by = method::none;
  EXPECT_EQ(run(request, ordered).metrics.at("found_share"), 0);
}

// An update of a map by name, which succeeds where the key is, and one that changes it either way.
class updating_map : public subject::sound_map {
 public:
  class handle {
   public:
    explicit handle(updating_map& map) : map_(&map) {}
    bool insert(std::uint64_t key, std::uint64_t value) { return map_->insert(key, value); }
    bool erase(std::uint64_t key) { return map_->erase(key); }
    std::optional<std::uint64_t> find(std::uint64_t key) { return map_->find(key); }
    template <class Function>
    bool update(std::uint64_t key, Function function) {
      const std::scoped_lock lock(map_->mutex);
      const auto found = map_->elements.find(key);
      if (found == map_->elements.end()) return false;
      found->second = function(found->second);
      return true;
    }
    bool insert_or_assign(std::uint64_t key, std::uint64_t value) {
      const std::scoped_lock lock(map_->mutex);
      return map_->elements.insert_or_assign(key, value).second;
    }

   private:
    updating_map* map_;
  };
  handle attach() { return handle(*this); }
};

TEST(effects, of_operations_by_name_are_what_they_do_to_a_right_map) {
  request request = counted_request({0, 0, 0});
  request.roles[0].work.mix.share(subject::registered<subject::extra_operations::update>()) = 100;
  EXPECT_NEAR(run_with<updating_map>(request).metrics.at("effective_share"), 0.5, 0.1);
  request.prefill.filled_by = method::none;
  EXPECT_EQ(run_with<updating_map>(request).metrics.at("effective_share"), 0);

  request.roles[0].work.mix = {0, 0, 0};
  request.roles[0].work.mix.share(
      subject::registered<subject::extra_operations::insert_or_assign>()) = 100;
  EXPECT_EQ(run_with<updating_map>(request).metrics.at("effective_share"), 1);
}

// --- Phases --------------------------------------------------------------------------------------

TEST(phase, loads_each_key_once_and_counts_to_the_end_of_the_last_thread) {
  for (const unsigned threads : {1U, 3U}) {
    for (const std::uint64_t size : {1U, 2U, 500U, 1001U}) {
      for (const bool sorted : {false, true}) {
        const result result = run_with<correct_map>(
            of_phase({.what = kind::load, .size = size, .sorted = sorted}, threads));
        EXPECT_THAT(result.problems, IsEmpty());
        const tally all = all_of(result);
        EXPECT_EQ(all.operations(), size);
        EXPECT_EQ(all.succeeded[0], size);
        EXPECT_EQ(result.contents_check->found.size, static_cast<std::int64_t>(size));
        for (const auto& thread : result.threads) {
          EXPECT_EQ(thread.measured_ns, result.threads[0].measured_ns);
          EXPECT_LE(thread.operations.operations(), size / threads + 1);
        }
        const double ms = result.metrics.at("phase_ms");
        EXPECT_EQ(ms, static_cast<double>(result.threads[0].measured_ns) / 1e6);
        EXPECT_NEAR(result.metrics.at("throughput"), static_cast<double>(size) / ms * 1e3,
                    1e-6 * result.metrics.at("throughput"));
        EXPECT_THAT(result.metrics, Not(Contains(Key("throughput_drift"))));
      }
    }
  }
}

TEST(phase, loads_in_ascending_or_in_random_order) {
  for (const bool sorted : {true, false}) {
    noting_map::inserted.clear();
    const auto request = of_phase({.what = kind::load, .size = 500, .sorted = sorted}, 1);
    EXPECT_THAT(run_with<noting_map>(request).problems, IsEmpty());
    EXPECT_EQ(std::ranges::is_sorted(noting_map::inserted), sorted);
  }
}

TEST(phase, grows_by_keys_that_the_map_does_not_hold) {
  for (const method how : {method::updates, method::inserts, method::sorted, method::none}) {
    request request = of_phase({.what = kind::grow, .size = 300});
    request.prefill.filled_by = how;
    const result result = run_with<correct_map>(request);
    EXPECT_THAT(result.problems, IsEmpty());
    EXPECT_EQ(all_of(result).succeeded[0], 300U);
    EXPECT_EQ(result.contents_check->found.size, result.prefill.size + 300);
    EXPECT_NEAR(static_cast<double>(result.prefill.size), how == method::none ? 0 : 500, 60);
  }
  const result full = run_with<correct_map>(of_phase({.what = kind::grow}));
  EXPECT_EQ(full.contents_check->found.size, 1001);
}

TEST(phase, drains_all_that_is_held) {
  for (const unsigned threads : {1U, 3U}) {
    request request = of_phase({.what = kind::drain}, threads);
    request.prefill.size = 700;
    const result result = run_with<correct_map>(request);
    EXPECT_THAT(result.problems, IsEmpty());
    EXPECT_EQ(all_of(result).succeeded[1], static_cast<std::uint64_t>(result.prefill.size));
    EXPECT_EQ(result.metrics.at("effective_share"), 1);
    EXPECT_EQ(result.contents_check->found.size, 0);
  }
}

TEST(phase, of_a_multimap_or_queue_is_as_many_entries) {
  const auto multimap =
      describe_bag<subject::correct_multimap, std::uint64_t>("test", "a test's bag");
  const auto queue = describe_bag<subject::correct_queue, std::uint64_t>("test", "a test's bag");
  for (const auto& bag : {multimap, queue}) {
    const result loaded = run(of_phase({.what = kind::load}), bag);
    EXPECT_THAT(loaded.problems, IsEmpty());
    EXPECT_EQ(loaded.contents_check->found.size, 1001);
    request grown = of_phase({.what = kind::grow, .size = 800});
    grown.prefill.size = 600;
    EXPECT_EQ(run(grown, bag).contents_check->found.size, 1400);
    const result drained = run(of_phase({.what = kind::drain}), bag);
    EXPECT_THAT(drained.problems, IsEmpty());
    EXPECT_EQ(all_of(drained).succeeded[1], 501U);
    EXPECT_EQ(drained.contents_check->found.size, 0);
  }
}

struct refusing_map : test_map<refusing_map> {
  bool insert(std::uint64_t key, std::uint64_t value) {
    return key % 7 != 0 && sound_map::insert(key, value);
  }
};
struct keeping_map : test_map<keeping_map> {
  bool erase(std::uint64_t key) { return key % 7 != 0 && sound_map::erase(key); }
};

TEST(phase, of_a_map_that_does_not_do_its_work_is_invalid) {
  EXPECT_THAT(problems_of(run_with<dropping_map>(of_phase({.what = kind::load}))),
              HasSubstr("the map holds"));
  EXPECT_THAT(problems_of(run_with<refusing_map>(of_phase({.what = kind::load}))),
              HasSubstr("143 of 1001 inserts of keys that the map did not hold answered"));
  request drain = of_phase({.what = kind::drain});
  drain.prefill = {.filled_by = method::inserts, .size = 1001};
  EXPECT_THAT(problems_of(run_with<keeping_map>(drain)),
              HasSubstr("143 of 1001 erases of keys that the map held answered"));
}

TEST(phase, without_anything_to_do_is_refused) {
  request drain = of_phase({.what = kind::drain});
  drain.prefill.filled_by = method::none;
  EXPECT_THAT(refusal_of(drain), HasSubstr("phase: the map is empty"));
  request grow = of_phase({.what = kind::grow});
  grow.prefill.size = 1001;
  EXPECT_THAT(refusal_of(grow), HasSubstr("phase: the map holds all keys"));
  grow.prefill.size = 900;
  grow.phase->size = 300;
  EXPECT_THAT(refusal_of(grow), HasSubstr("300 keys are to be inserted, and there is room for "));
}

TEST(phase, can_be_replayed_where_its_keys_follow_from_the_seed) {
  const auto subject = describe_subject<correct_map>("test", "a test's map");
  expect_replay(of_phase({.what = kind::load, .size = 500}), subject);
  expect_replay(of_phase({.what = kind::drain}, 1), subject);
  const result load = run(of_phase({.what = kind::load}), subject);
  EXPECT_EQ(load.not_replayable_because, "");
  EXPECT_THAT(run(of_phase({.what = kind::drain}), subject).not_replayable_because,
              HasSubstr("how the threads met"));
}

}  // namespace
}  // namespace assay::trial
