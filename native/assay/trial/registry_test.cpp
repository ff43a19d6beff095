#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "assay/trial/request.h"
#include "assay/trial/subject.h"
#include "assay/trial/test_maps.h"

namespace assay::trial {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class alone_map : public test_map<alone_map> {
 public:
  static constexpr unsigned max_threads = 1;
  static constexpr bool holds_nothing = true;
};

const subject<correct_map> second{"second_map", "the second by name"};
const subject<alone_map> first{"alone_map", "the first by name"};

TEST(registry, lists_what_static_objects_registered_by_name) {
  ASSERT_EQ(registry().size(), 2U);
  EXPECT_EQ(registry()[0].name, "alone_map");
  EXPECT_EQ(registry()[0].description, "the first by name");
  EXPECT_EQ(registry()[0].max_threads, 1U);
  EXPECT_TRUE(registry()[0].holds_nothing);
  EXPECT_EQ(registry()[1].name, "second_map");
  EXPECT_EQ(registry()[1].max_threads, std::nullopt);
  EXPECT_FALSE(registry()[1].holds_nothing);
}

TEST(find_subject, finds_by_name_and_else_names_the_nearest) {
  EXPECT_EQ(find_subject("second_map").name, "second_map");
  const auto refusal_of = [](std::string_view name) -> std::string {
    try {
      static_cast<void>(find_subject(name));
    } catch (const bad_request& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal_of("secnod_map"),
            "subject: there is no \"secnod_map\"; did you mean \"second_map\"?");
  EXPECT_THAT(refusal_of(std::string_view("a\0\n", 3)), HasSubstr(R"("a\u0000\n"; did you mean)"));
  EXPECT_THAT(refusal_of("alone"), HasSubstr("did you mean \"alone_map\"?"));
  EXPECT_THAT(refusal_of(""), HasSubstr("did you mean \"alone_map\"?"));
}

TEST(register_subject, refuses_names_that_are_taken_or_no_names) {
  for (const auto* name : {"second_map", "", "Map", "1map", "my-map", "my map"}) {
    EXPECT_THROW(register_subject(describe_subject<correct_map>(name, "")), std::logic_error)
        << name;
  }
  EXPECT_EQ(registry().size(), 2U);
}

struct hinted_map : test_map<hinted_map> {
  explicit hinted_map(map_hints hints) { insert(hints.key_range, hints.threads); }
};

TEST(subject_entry, builds_with_hints_where_the_map_takes_them) {
  const auto map = describe_subject<hinted_map>("hinted", "").build({1000, 7});
  std::uint64_t calls = 0;
  map->for_each([&](std::uint64_t key, std::uint64_t value) {
    EXPECT_EQ(key, 1000U);
    EXPECT_EQ(value, 7U);
    ++calls;
  });
  EXPECT_EQ(calls, 1U);
}

request asking(const workload::mix& mix, datum::kind key = datum::kind::uint64,
               datum::kind value = datum::kind::uint64) {
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

std::string refusal_of(const subject_entry& subject, const request& request) {
  try {
    require_offered(subject, request);
  } catch (const bad_request& error) {
    return error.what();
  }
  return "";
}

TEST(subject_entry, knows_which_operations_its_map_offers) {
  using enum workload::operation;
  EXPECT_THAT(describe_subject<correct_map>("asked", "").operations,
              ElementsAre(insert, erase, find));
  const auto ordered = describe_subject_template<correct_ordered_map, std::uint64_t>("asked", "");
  EXPECT_THAT(ordered.operations, ElementsAre(insert, erase, find, range, size, snapshot, iterate));
  EXPECT_EQ(refusal_of(ordered, asking({10, 10, 20, 20, 20, 10, 10})), "");
}

TEST(require_offered, refuses_operations_that_the_map_has_not) {
  const auto plain = describe_subject<correct_map>("asked", "");
  EXPECT_EQ(refusal_of(plain, asking({20, 10, 70})), "");
  EXPECT_EQ(refusal_of(plain, asking({20, 10, 60, 0, 10})),
            "mix: asked does not offer size, but insert, erase and find");
  request second_role = asking({20, 10, 70});
  second_role.roles.push_back(asking({0, 0, 0, 100}).roles[0]);
  EXPECT_THAT(refusal_of(plain, second_role), HasSubstr("does not offer range"));
}

TEST(require_offered, refuses_types_that_the_map_cannot_hold) {
  using enum datum::kind;
  const workload::mix mix{20, 10, 70};
  const auto plain = describe_subject<correct_map>("asked", "");
  EXPECT_EQ(refusal_of(plain, asking(mix, bytes)),
            "key_type: asked holds keys of type uint64, not bytes");
  EXPECT_EQ(refusal_of(plain, asking(mix, uint64, uint32)),
            "value_type: asked holds values of type uint64, not uint32");
  const auto numbers =
      describe_subject_template<correct_ordered_map, std::uint64_t, std::uint32_t>("asked", "");
  EXPECT_EQ(numbers.types.size(), 6U);
  EXPECT_EQ(refusal_of(numbers, asking(mix, uint32, bytes)), "");
  EXPECT_EQ(refusal_of(numbers, asking(mix, bytes, bytes)),
            "key_type: asked holds keys of type uint64 and uint32, not bytes");
  EXPECT_THROW(static_cast<void>(numbers.build({100, 1, {.type = bytes}, {}})), bad_request);
}

}  // namespace
}  // namespace assay::trial
