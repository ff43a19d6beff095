#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "assay/subject/subject.h"
#include "assay/trial/request.h"
#include "assay/trial/run.h"
#include "tests/test_maps.h"

namespace assay::trial {
namespace {

using subject::type_spec;
using ::testing::HasSubstr;

request asking(const workload::mix& mix, type_spec::kind key = type_spec::kind::uint64,
               type_spec::kind value = type_spec::kind::uint64) {
  request request{.subject = "asked",
                  .seed = 1,
                  .pinning = {},
                  .key_range = 100,
                  .keys = workload::key_layout::dense,
                  .roles = one_role(1, mix),
                  .duration = std::chrono::milliseconds(1),
                  .interval = std::chrono::milliseconds(1)};
  request.key.type = key;
  request.value.type = value;
  return request;
}

std::string refusal_of(const subject::subject_entry& subject, const request& request) {
  try {
    require_offered(subject, request);
  } catch (const bad_request& error) {
    return error.what();
  }
  return "";
}

TEST(require_offered, refuses_operations_that_the_map_has_not) {
  const auto ordered =
      subject::describe_subject_template<subject::correct_ordered_map, std::uint64_t>("asked", "");
  EXPECT_EQ(refusal_of(ordered, asking({10, 10, 20, 20, 20, 10, 10})), "");
  const auto plain = subject::describe_subject<subject::correct_map>("asked", "");
  EXPECT_EQ(refusal_of(plain, asking({20, 10, 70})), "");
  EXPECT_EQ(refusal_of(plain, asking({20, 10, 60, 0, 10})),
            "mix: asked does not offer size, but insert, erase and find");
  request second_role = asking({20, 10, 70});
  second_role.roles.push_back(asking({0, 0, 0, 100}).roles[0]);
  EXPECT_THAT(refusal_of(plain, second_role), HasSubstr("does not offer range"));
}

TEST(require_offered, refuses_types_that_the_map_cannot_hold) {
  using enum type_spec::kind;
  const workload::mix mix{20, 10, 70};
  const auto plain = subject::describe_subject<subject::correct_map>("asked", "");
  EXPECT_EQ(refusal_of(plain, asking(mix, bytes)),
            "key_type: asked holds keys of type uint64, not bytes");
  EXPECT_EQ(refusal_of(plain, asking(mix, uint64, uint32)),
            "value_type: asked holds values of type uint64, not uint32");
  const auto numbers =
      subject::describe_subject_template<subject::correct_ordered_map, std::uint64_t,
                                         std::uint32_t>("asked", "");
  EXPECT_EQ(numbers.types.size(), 6U);
  EXPECT_EQ(refusal_of(numbers, asking(mix, uint32, bytes)), "");
  EXPECT_EQ(refusal_of(numbers, asking(mix, bytes, bytes)),
            "key_type: asked holds keys of type uint64 and uint32, not bytes");
  EXPECT_THROW(static_cast<void>(numbers.build({100, 1, {.type = bytes}, {}})), bad_request);
}

}  // namespace
}  // namespace assay::trial
