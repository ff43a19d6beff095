// The rig catches each flawed map, and says by which operation.

#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "assay/rig/linearizability.h"
#include "assay/rig/model.h"
#include "assay/trial/subject.h"

namespace assay::rig {
namespace {

using ::testing::ContainsRegex;

struct flaw {
  std::string map;
  std::string told_by;  // a pattern of the answer that no order explains
  std::uint64_t histories = 2000;
  bool in_one_thread = true;  // wrong there, too
};
std::ostream& operator<<(std::ostream& out, const flaw& one) { return out << one.map; }

class flawed_map : public ::testing::TestWithParam<flaw> {};

TEST_P(flawed_map, is_not_linearizable) {
  recorded counts;
  ::testing::internal::CaptureStdout();
  const judgement found = check_linearizability(
      trial::find_subject(GetParam().map), {.seed = 1, .histories = GetParam().histories}, counts);
  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(found, judgement::not_linearizable) << printed;
  EXPECT_THAT(printed, ContainsRegex("explains the answer of " + GetParam().told_by));
}

// Whatever is wrong without another thread is found without one.
TEST_P(flawed_map, differs_from_std_map_unless_it_takes_two_threads) {
  const auto& subject = trial::find_subject(GetParam().map);
  EXPECT_EQ(
      difference_from_model(subject, {.seed = 1, .operations = 20'000, .keys = 5000}).has_value(),
      GetParam().in_one_thread);
}

INSTANTIATE_TEST_SUITE_P(
    rig, flawed_map,
    ::testing::Values(flaw{"both_insert", "(insert|erase|find|walk)"},
                      flaw{"compensating_errors", "(insert|erase|find|walk)"},
                      flaw{"endless_walk", "walk at rest"}, flaw{"finds_erased", "find"},
                      flaw{"forgets_erases", "(insert|erase|find|walk)"},
                      flaw{"inserts_twice", "(insert|erase|find|walk)"},
                      flaw{"loses_inserts", "(insert|erase|find|walk)"},
                      flaw{"natarajan_lost_update", "(insert|erase|find|walk)", 8000, false},
                      flaw{"never_fills", "insert"}, flaw{"never_finds", "find.*: nothing"},
                      flaw{"range_out_of_order", "range", 8000},
                      flaw{"range_without_last", "range"}, flaw{"size_off_by_one", "size"},
                      flaw{"snapshot_visits_twice", "snapshot"},
                      flaw{"swaps_values", "(find|walk)"}),
    [](const auto& one) { return one.param.map; });

// Wrong only where a range is longer than a history can be.
TEST(flawed_map_of_many_keys, differs_from_std_map) {
  const auto& subject = trial::find_subject("range_misses_key");
  EXPECT_THAT(
      difference_from_model(subject, {.seed = 1, .operations = 50'000, .keys = 9000}).value(),
      ::testing::HasSubstr("range("));
}

TEST(flawed_map_that_throws, is_told_with_the_operation) {
  EXPECT_THAT(
      [] {
        record(trial::find_subject("throws"), {.seed = 1, .histories = 3000},
               [](const history&) {});
      },
      ::testing::ThrowsMessage<operation_failed>(ContainsRegex("insert\\(.*failed on purpose")));
}

}  // namespace
}  // namespace assay::rig
