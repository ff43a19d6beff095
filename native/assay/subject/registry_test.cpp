#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "assay/input/bad_request.h"
#include "assay/subject/subject.h"
#include "tests/test_maps.h"

namespace assay::subject {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class alone_map : public test_map<alone_map> {
 public:
  static constexpr unsigned max_threads = 1;
  static constexpr bool holds_nothing = true;
};

const map<correct_map> second{"second_map", "the second by name"};
const map<alone_map> first{"alone_map", "the first by name"};

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

// What draws values must come to an end.
TEST(register_subject, refuses_values_of_which_few_are_left) {
  const auto refusal_of = [](unsigned bits, std::size_t reserved) -> std::string {
    auto entry = describe_subject<correct_map>("narrow", "");
    entry.value_bits = bits;
    entry.reserved_values.resize(reserved);
    try {
      register_subject(std::move(entry));
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(refusal_of(47, 0), HasSubstr("value_bits is 47, but must be from 48 to 64"));
  EXPECT_THAT(refusal_of(65, 0), HasSubstr("value_bits is 65"));
  EXPECT_THAT(refusal_of(64, 1001), HasSubstr("reserves 1001 values, but at most 1000"));
  EXPECT_THAT(refusal_of(48, 16), HasSubstr("at most 15 may be reserved of 48 bits"));
  EXPECT_EQ(registry().size(), 2U);
}

struct hinted_map : test_map<hinted_map> {
  explicit hinted_map(const map_hints& hints) { insert(hints.key_range, hints.threads); }
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

TEST(subject_entry, knows_which_operations_its_map_offers) {
  using enum workload::operation;
  EXPECT_THAT(describe_subject<correct_map>("asked", "").operations,
              ElementsAre(insert, erase, find));
  const auto ordered = describe_subject_template<correct_ordered_map, std::uint64_t>("asked", "");
  EXPECT_THAT(ordered.operations, ElementsAre(insert, erase, find, range, size, snapshot, iterate));
}

// Has one operation more than every map.
struct assigning_map : test_map<assigning_map> {
  bool insert_or_assign(std::uint64_t key, std::uint64_t value) {
    const std::scoped_lock lock(mutex);
    return elements.insert_or_assign(key, value).second;
  }
};

TEST(subject_entry, knows_what_its_map_offers_by_name) {
  const auto entry = describe_subject<assigning_map>("asked", "");
  ASSERT_EQ(entry.operations.size(), 4U);
  EXPECT_EQ(to_string(entry.operations[3]), "insert_or_assign");
  EXPECT_EQ(entry.atomic, entry.operations);
}

template <int Change>
struct operation_of_one_name {
  static constexpr std::string_view name = "of_one_name";
  static bool right(const elements& /*held*/, const question& /*asked*/) { return Change == 1; }
  static operation_outcome outcome_of(const question& /*asked*/, bool /*answered*/) {
    return {.change = Change};
  }
};

TEST(register_operation, refuses_another_one_of_the_same_name) {
  const auto kind = registered<operation_of_one_name<1>>();
  EXPECT_EQ(registered<operation_of_one_name<1>>(), kind);
  EXPECT_THROW(registered<operation_of_one_name<-1>>(), std::logic_error);
}

}  // namespace
}  // namespace assay::subject
