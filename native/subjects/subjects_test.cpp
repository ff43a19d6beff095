// Every subject of this build through the whole trial. Under ThreadSanitizer and AddressSanitizer
// these are the runs that look for races and misuse of memory in subjects and trial loop alike.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "assay/subject/subject.h"
#include "assay/trial/run.h"
#include "tests/test_replay.h"

namespace assay::trial {
namespace {

using subject::find_subject;
using subject::subject_entry;
using workload::key_layout;
using workload::operation;

std::vector<std::string> all_subjects() {
  std::vector<std::string> names;
  for (const auto& subject : subject::registry()) names.push_back(subject.name);
  return names;
}

bool has(const subject_entry& subject, operation kind) {
  return std::ranges::find(subject.operations, kind) != subject.operations.end();
}

TEST(subjects, say_how_they_reclaim) {
  for (const auto& subject : subject::registry()) EXPECT_NE(subject.reclaims, "") << subject.name;
}

class every_subject
    : public ::testing::TestWithParam<std::tuple<std::string, unsigned, key_layout>> {};

TEST_P(every_subject, gives_valid_trials) {
  const auto& [name, threads, keys] = GetParam();
  const subject_entry& subject = find_subject(name);
  request request{.subject = name,
                  .seed = 0,
                  .pinning = {},
                  .key_range = 2,
                  .keys = keys,
                  .roles = one_role(threads, {50, 50, 0}),
                  .duration = std::chrono::milliseconds(3),
                  .interval = std::chrono::milliseconds(1),
                  .key = {.type = subject.types.front().key},
                  .value = {.type = subject.types.front().value}};
  if (subject.max_threads && threads > *subject.max_threads) {
    EXPECT_THROW(static_cast<void>(run(request, subject)), std::invalid_argument);
    return;
  }
  std::vector<workload::mix> mixes{
      {50, 50, 0}, {20, 10, 70}, {0, 0, 100}, {10, 0, 90}, {0, 10, 90}};
  if (subject.structure == subject::structure::queue) {
    if (keys == key_layout::sparse) return;  // is refused
    mixes = {{50, 50, 0}, {52, 48, 0}, {20, 80, 0}};
  }
  for (; request.key_range <= 1024; request.key_range *= 512) {
    for (const workload::mix& mix : mixes) {
      ++request.seed;
      request.roles[0].work.mix = mix;
      EXPECT_THAT(run(request, subject).problems, ::testing::IsEmpty());
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<every_subject::ParamType>& info) {
  const auto& [name, threads, keys] = info.param;
  return name + "_" + std::to_string(threads) + (keys == key_layout::dense ? "_dense" : "_sparse");
}

// One trial for each pair of types, of all that the subject offers.
class every_pair_of_types : public ::testing::TestWithParam<std::string> {};

// Mixes all operations that the subject offers.
workload::mix mix_of_all(const subject_entry& subject) {
  if (!has(subject, operation::find)) return {50, 50, 0};
  const auto among = [&](operation kind) { return has(subject, kind) ? 2.0 : 0.0; };
  workload::mix mix{0,
                    0,
                    10,
                    among(operation::range),
                    among(operation::size),
                    among(operation::snapshot),
                    among(operation::iterate)};
  double updates = 90 - mix.range - mix.size - mix.snapshot - mix.iterate;
  for (const operation kind : subject.operations) {
    if (kind > operation::iterate) updates -= mix.share(kind) = 1;
  }
  mix.insert = mix.erase = updates / 2;
  return mix;
}

TEST_P(every_pair_of_types, gives_valid_trials_of_all_operations) {
  const subject_entry& subject = find_subject(GetParam());
  request request{.subject = subject.name,
                  .seed = 0,
                  .pinning = {},
                  .key_range = 300,
                  .keys = key_layout::sparse,
                  .roles = one_role(subject.max_threads.value_or(2), mix_of_all(subject)),
                  .duration = std::chrono::milliseconds(3),
                  .interval = std::chrono::milliseconds(1)};
  request.roles[0].fold = workload::fold::sum;
  for (const auto& types : subject.types) {
    request.key = {.type = types.key, .least = 8, .most = 40};
    request.value = {.type = types.value, .least = 0, .most = 100};
    for (const key_layout keys : {key_layout::dense, key_layout::sparse}) {
      if (subject.structure == subject::structure::queue && keys == key_layout::sparse) continue;
      request.keys = keys;
      ++request.seed;
      EXPECT_THAT(run(request, subject).problems, ::testing::IsEmpty())
          << to_string(types.key) << " " << to_string(types.value);
    }
  }
}

// What was performed until time was over is performed again, and comes to the same.
class every_replay : public ::testing::TestWithParam<std::string> {};

TEST_P(every_replay, repeats_its_trial) {
  const subject_entry& subject = find_subject(GetParam());
  request request{.subject = subject.name,
                  .seed = 3,
                  .pinning = {},
                  .key_range = 300,
                  .keys = key_layout::dense,
                  .roles = one_role(1, mix_of_all(subject)),
                  .warm_up = std::chrono::milliseconds(1),
                  .duration = std::chrono::milliseconds(3),
                  .interval = std::chrono::milliseconds(1),
                  .key = {.type = subject.types.front().key},
                  .value = {.type = subject.types.front().value}};
  request.roles[0].fold = workload::fold::sum;
  for (const unsigned threads : {1U, 2U}) {
    if (subject.max_threads && threads > *subject.max_threads) break;
    request.roles[0].threads = threads;
    for (const latency_sampling sampling : {0U, 5U}) {
      request.latency = sampling;
      expect_replay(request, subject);
    }
    request.roles[0].arrivals = arrivals{.rate = 100'000};
    expect_replay(request, subject);
    request.roles[0].arrivals.reset();
  }
}

std::string subject_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(trials, every_pair_of_types, ::testing::ValuesIn(all_subjects()),
                         subject_of);

INSTANTIATE_TEST_SUITE_P(trials, every_replay, ::testing::ValuesIn(all_subjects()), subject_of);

INSTANTIATE_TEST_SUITE_P(
    trials, every_subject,
    ::testing::Combine(::testing::ValuesIn(all_subjects()), ::testing::Values(1U, 2U, 4U),
                       ::testing::Values(key_layout::dense, key_layout::sparse)),
    name_of);

}  // namespace
}  // namespace assay::trial
