// No check finds anything in maps that nothing is wrong with.

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "assay/rig/linearizability.h"
#include "assay/rig/memory.h"
#include "assay/rig/model.h"
#include "assay/rig/progress.h"
#include "assay/rig/stress.h"
#include "assay/subject/subject.h"

namespace assay::rig {
namespace {

using subject::find_subject;

class sound_map_of_rig : public ::testing::TestWithParam<std::string> {
 protected:
  const subject::subject_entry& subject = find_subject(GetParam());
};
INSTANTIATE_TEST_SUITE_P(kinds, sound_map_of_rig,
                         ::testing::Values("sound_mutex", "sound_shared", "sound_ordered",
                                           "sound_striped", "sound_list", "sound_table"),
                         [](const auto& one) { return one.param; });

TEST_P(sound_map_of_rig, passes_model) {
  EXPECT_EQ(check_model(subject, {.seed = 1, .operations = 5000, .keys = 64}).problem, "");
}

TEST_P(sound_map_of_rig, passes_linearizability) {
  recorded counts;
  EXPECT_EQ(check_linearizability(subject, {.seed = 1, .histories = 300}, counts),
            judgement::linearizable);
}

TEST_P(sound_map_of_rig, passes_progress) {
  const auto found = check_progress(subject, 1);
  EXPECT_TRUE(found.passed && found.any_suspended) << ::testing::PrintToString(found.lines);
}

// Each of its 150 attempts takes most of a second on a busy machine.
TEST(progress_between_marks, ends_when_its_time_is_over) {
  const auto found = check_progress(find_subject("sound_list"), 1, std::chrono::seconds(0));
  EXPECT_THAT(found.lines,
              ::testing::Contains(::testing::ContainsRegex("anywhere, ([1-9]|10) times")));
  EXPECT_THAT(found.no_time_for, ::testing::HasSubstr("anywhere: there were 10"));
}

// The table passes it once in its life.
TEST(progress_at_a_point_that_is_passed_once, comes_to_it_soon) {
  const auto found = check_progress(find_subject("sound_table"), 1, std::chrono::seconds(0));
  EXPECT_THAT(found.lines, ::testing::Contains(::testing::StartsWith("sound_table_grow: ")));
  EXPECT_EQ(found.no_time_for, "");
}

TEST_P(sound_map_of_rig, passes_stress) {
  EXPECT_THAT(stress(subject, {.seed = 1}).problems, ::testing::IsEmpty());
}

TEST_P(sound_map_of_rig, passes_memory) {
  EXPECT_EQ(memory_kept(subject, {.seed = 1}).problem, "");
}

}  // namespace
}  // namespace assay::rig
