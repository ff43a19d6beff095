// Every subject of this build through every check. A subject is enrolled by being registered. Each
// check is short here: `make soak` repeats all of them, longer and with ever new seeds.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/rig/linearizability.h"
#include "assay/rig/model.h"
#include "assay/rig/owners.h"
#include "assay/rig/stress.h"
#include "assay/subject/subject.h"

namespace assay::rig {
namespace {

using subject::find_subject;

std::vector<std::string> maps_for(unsigned threads) {
  std::vector<std::string> names;
  for (const auto& subject : subject::registry()) {
    if (subject.structure != subject::structure::map) continue;  // no map
    if (subject.holds_nothing || subject.max_threads.value_or(threads) < threads) continue;
    names.push_back(subject.name);
  }
  return names;
}

// Whether threads can be delayed inside it.
bool is_marked(const std::string& map) {
  return map.starts_with("natarajan_mittal_bst") || map.starts_with("ticket_bst");
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

class every_map : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(subjects, every_map, ::testing::ValuesIn(maps_for(1)), name_of);

TEST_P(every_map, answers_as_std_map) {
  const auto& subject = find_subject(GetParam());
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const unsigned keys : {1U, 8U, 200U}) {
      EXPECT_EQ(check_model(subject, {.seed = seed, .operations = 2000, .keys = keys}).problem, "");
    }
  }
}

std::vector<std::string> linearizable_maps() {
  auto names = maps_for(2);
  std::erase_if(names, [](const auto& name) { return !find_subject(name).linearizable; });
  return names;
}

class every_linearizable_map : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(subjects, every_linearizable_map, ::testing::ValuesIn(linearizable_maps()),
                         name_of);

// That the histories of which this is said are worth it: in how many of them one thread changed
// what another was told at that time. It was half of those of our trees, which are delayed at
// marked points, and at least 10% of the others', also on one processor. Where other programs leave
// the threads no time together it takes more histories.
TEST_P(every_linearizable_map, is_found_to_be) {
  const std::size_t enough = is_marked(GetParam()) ? 80 : 8;
  std::size_t meeting = 0;
  for (std::uint64_t seed = 1; meeting < enough && seed <= 20; ++seed) {
    recorded counts;
    ASSERT_EQ(
        check_linearizability(find_subject(GetParam()), {.seed = seed, .histories = 400}, counts),
        judgement::linearizable);
    meeting += counts.meeting;
  }
  EXPECT_GE(meeting, enough);
}

class every_concurrent_map : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(subjects, every_concurrent_map, ::testing::ValuesIn(maps_for(2)), name_of);

TEST_P(every_concurrent_map, holds_what_eight_threads_leave) {
  EXPECT_THAT(stress(find_subject(GetParam()), {.seed = 1}).problems, ::testing::IsEmpty());
}

TEST_P(every_concurrent_map, answers_rightly_about_keys_that_threads_own) {
  const owned seen = check_owners(find_subject(GetParam()),
                                  {.seed = 1, .duration = std::chrono::milliseconds(100)});
  EXPECT_EQ(seen.problem, "");
}

}  // namespace
}  // namespace assay::rig
