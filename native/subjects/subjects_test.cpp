// Every subject of this build through the whole trial. Under ThreadSanitizer and AddressSanitizer
// these are the runs that look for races and misuse of memory in subjects and trial loop alike.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "assay/trial/run.h"
#include "assay/trial/subject.h"

namespace assay::trial {
namespace {

using workload::key_layout;

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
                  .duration = std::chrono::milliseconds(10),
                  .interval = std::chrono::milliseconds(5)};
  if (subject.max_threads && threads > *subject.max_threads) {
    EXPECT_THROW(static_cast<void>(run(request, subject)), std::invalid_argument);
    return;
  }
  for (; request.key_range <= 1024; request.key_range *= 512) {
    for (const workload::mix& mix :
         {workload::mix{50, 50, 0}, {20, 10, 70}, {0, 0, 100}, {10, 0, 90}, {0, 10, 90}}) {
      ++request.seed;
      request.roles[0].work.mix = mix;
      EXPECT_THAT(run(request, subject).problems, ::testing::IsEmpty());
    }
  }
}

std::vector<std::string> all_subjects() {
  std::vector<std::string> names;
  for (const auto& subject : registry()) names.push_back(subject.name);
  return names;
}

std::string name_of(const ::testing::TestParamInfo<every_subject::ParamType>& info) {
  const auto& [name, threads, keys] = info.param;
  return name + "_" + std::to_string(threads) + (keys == key_layout::dense ? "_dense" : "_sparse");
}

INSTANTIATE_TEST_SUITE_P(
    trials, every_subject,
    ::testing::Combine(::testing::ValuesIn(all_subjects()), ::testing::Values(1U, 2U, 4U),
                       ::testing::Values(key_layout::dense, key_layout::sparse)),
    name_of);

}  // namespace
}  // namespace assay::trial
