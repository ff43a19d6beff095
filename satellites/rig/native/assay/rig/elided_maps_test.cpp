// Maps behind elided locks through every check, so short that an emulator of transactions can do
// it: ctest runs this under assay-rtm, where the processor has none, and without it.

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "assay/rig/linearizability.h"
#include "assay/rig/model.h"
#include "assay/rig/owners.h"
#include "assay/rig/stress.h"
#include "assay/subject/subject.h"

namespace assay::rig {
namespace {

class elided_maps : public ::testing::TestWithParam<std::string> {
 protected:
  const subject::subject_entry& subject = subject::find_subject(GetParam());
};
INSTANTIATE_TEST_SUITE_P(subjects, elided_maps,
                         ::testing::Values("bt_map_elided_6", "std_map_elided",
                                           "std_map_elided_shared", "std_unordered_map_elided"),
                         [](const auto& one) { return one.param; });

TEST_P(elided_maps, answer_as_std_map) {
  EXPECT_EQ(check_model(subject, {.seed = 1, .operations = 300, .keys = 40}).problem, "");
}

TEST_P(elided_maps, are_linearizable) {
  recorded counts;
  EXPECT_EQ(check_linearizability(subject, {.seed = 1, .histories = 40}, counts),
            judgement::linearizable);
}

TEST_P(elided_maps, hold_what_eight_threads_leave) {
  EXPECT_THAT(stress(subject, {.seed = 1, .duration = std::chrono::milliseconds(1)}).problems,
              ::testing::IsEmpty());
}

TEST_P(elided_maps, answer_rightly_about_keys_that_threads_own) {
  const owned seen = check_owners(subject, {.seed = 1, .duration = std::chrono::milliseconds(50)});
  EXPECT_EQ(seen.problem, "");
}

}  // namespace
}  // namespace assay::rig
