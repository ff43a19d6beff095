// Each flaw does what it says, and without it the trial is the honest one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "assay/subject/subject.h"
#include "assay/trial/run.h"
#include "flawed/modes/debug_build.h"
#include "flawed/modes/flaws.h"
#include "flawed/modes/policies.h"
#include "flawed/modes/steps.h"
#include "tests/test_maps.h"

namespace assay::flawed {
namespace {

using subject::subject_entry;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using trial::operation_counts;
using workload::operation;

const subject_entry& sound() {
  static const subject_entry entry =
      subject::describe_subject<subject::correct_map>("test", "a test's map");
  return entry;
}

// By operations and not by time, so that nothing depends on how fast the machine is.
trial::request asked(unsigned threads = 1, std::uint64_t operations = 4000) {
  return {.subject = "test",
          .seed = 5,
          .pinning = {},
          .key_range = 100,
          .keys = workload::key_layout::dense,
          .roles = trial::one_role(threads, {30, 30, 40}),
          .duration = std::chrono::milliseconds(1),
          .interval = std::chrono::milliseconds(1),
          .operations = std::vector(threads, operation_counts{0, operations})};
}

trial::result with(std::initializer_list<flaw> some, const trial::request& request) {
  flaws chosen;
  for (const flaw one : some) chosen.add(one);
  trial::result report = run(request, sound(), chosen);
  EXPECT_THAT(report.problems, IsEmpty());  // it is the loop that misleads, not the map
  return report;
}
trial::result honest(const trial::request& request) { return trial::run(request, sound()); }

std::uint64_t attempted(const trial::result& report, operation kind, std::size_t thread = 0) {
  return report.threads[thread].operations.attempted[static_cast<std::size_t>(kind)];
}
std::uint64_t succeeded(const trial::result& report, operation kind, std::size_t thread = 0) {
  return report.threads[thread].operations.succeeded[static_cast<std::size_t>(kind)];
}

TEST(modes, without_flaws_perform_what_the_honest_trial_does) {
  const auto plain = honest(asked());
  const auto same = with({}, asked());
  EXPECT_EQ(same.threads[0].operations.attempted, plain.threads[0].operations.attempted);
  EXPECT_EQ(same.contents_check->found, plain.contents_check->found);
  EXPECT_EQ(same.prefill.operations, plain.prefill.operations);
}

TEST(modes, never_inserts_empties_the_map) {
  EXPECT_GT(attempted(honest(asked()), operation::insert), 1000U);
  const auto report = with({flaw::never_inserts}, asked());
  EXPECT_EQ(attempted(report, operation::insert), 0U);
  EXPECT_EQ(attempted(report, operation::find), attempted(honest(asked()), operation::find));
  EXPECT_EQ(report.contents_check->found.size, 0);
  EXPECT_GT(report.prefill.size, 0);
}

TEST(modes, one_seed_has_threads_perform_the_same) {
  const auto plain = honest(asked(2));
  EXPECT_NE(plain.threads[0].operations.attempted, plain.threads[1].operations.attempted);
  const auto report = with({flaw::one_seed}, asked(2));
  EXPECT_EQ(report.threads[0].operations.attempted, report.threads[1].operations.attempted);
  EXPECT_EQ(report.threads[0].seed, report.threads[1].seed);
  EXPECT_EQ(report.threads[0].operations.attempted, plain.threads[0].operations.attempted);
}

TEST(modes, effective_updates_take_turns) {
  const auto report = with({flaw::effective_updates}, asked());
  const std::uint64_t inserted = succeeded(report, operation::insert);
  const std::uint64_t erased = succeeded(report, operation::erase);
  EXPECT_GT(erased, 100U);
  EXPECT_TRUE(inserted == erased || inserted == erased + 1) << inserted << " " << erased;
  EXPECT_EQ(attempted(report, operation::find), attempted(honest(asked()), operation::find));
  const auto plain = honest(asked());
  EXPECT_GT(succeeded(plain, operation::insert), 100U);
  EXPECT_NE(attempted(plain, operation::insert), attempted(report, operation::insert));
}

TEST(modes, alternating_keys_have_every_erase_succeed) {
  EXPECT_LT(succeeded(honest(asked()), operation::erase),
            attempted(honest(asked()), operation::erase));
  const auto report = with({flaw::alternating_keys}, asked());
  EXPECT_GT(attempted(report, operation::erase), 100U);
  EXPECT_EQ(succeeded(report, operation::erase), attempted(report, operation::erase));
}

TEST(modes, failed_updates_as_searches_leave_no_failed_update) {
  trial::request request = asked();
  request.roles[0].work.mix = {10, 10, 80};
  const auto report = with({flaw::failed_updates_as_searches}, request);
  const auto updates = attempted(report, operation::insert) + attempted(report, operation::erase);
  EXPECT_EQ(updates, succeeded(report, operation::insert) + succeeded(report, operation::erase));
  EXPECT_EQ(updates + attempted(report, operation::find), 4000U);
  EXPECT_NEAR(static_cast<double>(updates), 0.2 * 4000, 2);  // as many as the mix asks for
  const auto plain = honest(request);
  EXPECT_LT(succeeded(plain, operation::insert), attempted(plain, operation::insert));
}

TEST(modes, insert_only_prefill_inserts_a_part_of_the_keys) {
  const auto report = with({flaw::insert_only_prefill}, asked());
  EXPECT_EQ(report.prefill.method, trial::prefill_method::permutation);
  EXPECT_EQ(report.prefill.operations, 50U);
  EXPECT_EQ(report.prefill.size, 50);
  EXPECT_EQ(honest(asked()).prefill.method, trial::prefill_method::updates);
  EXPECT_EQ(report.metrics.at("prefill_erases"), 0);
  EXPECT_GT(honest(asked()).metrics.at("prefill_erases"), 50);
}

TEST(modes, single_threaded_prefill_has_the_same_size) {
  for (const bool inserts : {false, true}) {
    flaws chosen;
    chosen.add(flaw::single_threaded_prefill);
    if (inserts) chosen.add(flaw::insert_only_prefill);
    const auto report = run(asked(3), sound(), chosen);
    EXPECT_THAT(report.problems, IsEmpty());
    EXPECT_TRUE(report.prefill.converged);
  }
}

TEST(modes, no_prefill_begins_empty) {
  const auto report = with({flaw::no_prefill}, asked());
  EXPECT_EQ(report.prefill.method, trial::prefill_method::skipped);
  EXPECT_EQ(honest(asked()).prefill.method, trial::prefill_method::updates);
}

TEST(modes, power_of_two_range_is_rounded_up) {
  const auto request = asked();
  flaws chosen;
  EXPECT_EQ(misled(request, chosen).key_range, 100U);
  chosen.add(flaw::power_of_two_range);
  EXPECT_EQ(misled(request, chosen).key_range, 128U);
  EXPECT_EQ(misled(request, chosen).roles[0].work.bounding, workload::bounding::modulo);
  const auto report = with({flaw::power_of_two_range}, request);
  EXPECT_EQ(report.prefill.expected_size, 64);
  EXPECT_EQ(report.metrics.at("prefill_size"), static_cast<double>(report.prefill.size));
}

TEST(modes, clock_every_operation_performs_the_same_operations) {
  const auto report = with({flaw::clock_every_operation}, asked());
  const auto plain = honest(asked());
  EXPECT_EQ(report.threads[0].operations.attempted, plain.threads[0].operations.attempted);
  EXPECT_EQ(report.threads[0].operations.succeeded, plain.threads[0].operations.succeeded);
  EXPECT_GE(report.threads[0].clock_reads, 4000U);
  EXPECT_LT(plain.threads[0].clock_reads, 2000U);
}

TEST(modes, nominal_time_is_what_was_asked_for) {
  EXPECT_EQ(with({flaw::nominal_time}, asked(1, 100'000)).threads[0].measured_ns, 1'000'000U);
  EXPECT_NE(honest(asked(1, 100'000)).threads[0].measured_ns, 1'000'000U);
}

TEST(modes, half_the_processors_leaves_the_others_idle) {
  const trial::request request = asked(4);
  const std::size_t all = host::placement(request.pinning, 4).processors().size();
  const auto report = with({flaw::half_the_processors}, request);
  std::set<unsigned> used;
  for (const auto& thread : report.threads) {
    ASSERT_EQ(thread.bound_to.size(), 1U);
    used.insert(thread.bound_to[0]);
  }
  EXPECT_LE(used.size(), (all + 1) / 2);
  EXPECT_EQ(honest(request).threads[0].bound_to.size(), all);
}

TEST(modes, latency_from_start_does_not_see_what_waited) {
  trial::request request = asked();
  request.operations.clear();
  request.duration = std::chrono::milliseconds(20);
  // Far more than any map serves, so that all operations wait.
  request.roles[0].arrivals = trial::arrivals{.rate = 1e9, .spacing = trial::spacing::even};
  request.latency = 1;
  const auto slowest = [](const trial::result& report) {
    std::uint64_t ns = 0;
    for (const auto& kind : report.roles[0].durations) {
      if (kind) ns = std::max(ns, kind->percentile(50));
    }
    return ns;
  };
  const auto report = with({flaw::latency_from_start}, request);
  EXPECT_GT(slowest(report), 0U);
  EXPECT_LT(slowest(report), slowest(honest(request)));
  // What the loop itself saw is as it was.
  EXPECT_GT(report.metrics.at("response_mean_ns"), 2 * report.metrics.at("latency_mean_ns"));
  const auto plain = honest(request);
  EXPECT_NEAR(plain.metrics.at("response_mean_ns") / plain.metrics.at("latency_mean_ns"), 1, 0.01);
}

TEST(modes, debug_build_is_of_a_map_that_was_built_so) {
  flaws chosen;
  EXPECT_EQ(built(sound(), chosen).description, sound().description);
  chosen.add(flaw::debug_build);
  EXPECT_THROW(static_cast<void>(built(sound(), chosen)), bad_request);
  const subject_entry debug = built(debug_build(), chosen);
  EXPECT_FALSE(debug.compiled.optimised);
  EXPECT_TRUE(debug.compiled.assertions);
  trial::request request = asked();
  request.subject = debug.name;
  const auto report = run(request, debug, chosen);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.threads[0].operations.attempted,
            honest(asked()).threads[0].operations.attempted);
}

TEST(modes, refuse_a_flaw_that_could_change_nothing) {
  flaws chosen;
  chosen.add(flaw::latency_from_start);
  EXPECT_THROW(static_cast<void>(run(asked(), sound(), chosen)), bad_request);
}

TEST(modes, say_what_is_wrong_with_a_list) {
  const auto parsed = [](const std::string& text) {
    const auto list = nlohmann::json::parse(text);
    return parse_flaws(input::json_node(list, "flaws"));
  };
  EXPECT_TRUE(parsed(R"(["one_seed"])").has(flaw::one_seed));
  EXPECT_FALSE(parsed(R"(["one_seed"])").has(flaw::never_inserts));
  for (const auto& [text, why] : {std::pair(R"([])", "empty"),
                                  {R"(["slow"])", "must be one of"},
                                  {R"(["one_seed", "one_seed"])", "twice"}}) {
    try {
      static_cast<void>(parsed(text));
      ADD_FAILURE() << text;
    } catch (const bad_request& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  }
}

TEST(modes, of_several_threads_are_not_replayable_where_success_decides) {
  const trial::request request = asked(2);
  EXPECT_THAT(with({flaw::effective_updates}, request).not_replayable_because,
              HasSubstr("depends"));
  EXPECT_EQ(with({flaw::never_inserts}, request).not_replayable_because, "");
}

// Each pair of effective updates loses a little, so that in the end erases seek for long in a map
// that is nearly empty. Updates at random fill it again.
TEST(lost_updates, empty_a_map_whose_updates_must_take_effect) {
  trial::request request = asked(1, 200'000);
  request.roles = trial::one_role(1, {50, 50, 0});
  const auto erases_for_an_insert = [&](std::initializer_list<flaw> some) {
    const trial::result report = with(some, request);
    return static_cast<double>(attempted(report, operation::erase)) /
           static_cast<double>(attempted(report, operation::insert));
  };
  EXPECT_LT(erases_for_an_insert({flaw::effective_updates}), 2);
  EXPECT_LT(erases_for_an_insert({flaw::lost_updates}), 2);
  EXPECT_GT(erases_for_an_insert({flaw::effective_updates, flaw::lost_updates}), 10);
}

TEST(lost_updates, are_in_the_record_though_nobody_looks) {
  const trial::result report = with({flaw::lost_updates}, asked());
  ASSERT_TRUE(report.contents_check);
  EXPECT_THAT(report.contents_check->problem(), Not(IsEmpty()));
}

}  // namespace
}  // namespace assay::flawed
