#include "assay/trial/weights_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace assay::trial {
namespace {

using ::testing::StartsWith;

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(parse_weights(text));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// Fowler, Noll and Vo's own test vectors.
TEST(digest_of, is_fnv_1a) {
  EXPECT_EQ(digest_of(""), "0xcbf29ce484222325");
  EXPECT_EQ(digest_of("a"), "0xaf63dc4c8601ec8c");
  EXPECT_EQ(digest_of("foobar"), "0x85944171f73967e8");
  EXPECT_EQ(digest_of("\xff"), digest_of(std::string(1, '\xff')));
}

TEST(parse_weights, reads_a_number_a_line_and_skips_comments_and_blank_lines) {
  EXPECT_EQ(parse_weights("1"), std::vector<double>{1});
  EXPECT_EQ(parse_weights("1\n2.5\n1e3\n0"), (std::vector<double>{1, 2.5, 1000, 0}));
  EXPECT_EQ(parse_weights("\n# 7\n  3 \r\n\t\n  # 8\n4\n\n"), (std::vector<double>{3, 4}));
}

TEST(parse_weights, names_the_line_of_what_is_no_weight) {
  for (const auto* line : {"-1", "x", "1 2", "1,5", "nan", "inf", "1e999", "0x10", "1 # one"}) {
    EXPECT_THAT(refusal_of("1\n# two\n" + std::string(line) + "\n4"), StartsWith("line 3 must be"))
        << line;
  }
}

TEST(parse_weights, refuses_a_file_that_draws_nothing) {
  EXPECT_THAT(refusal_of(""), StartsWith("there is no number"));
  EXPECT_THAT(refusal_of("# 1\n\n"), StartsWith("there is no number"));
  EXPECT_THAT(refusal_of("0\n0\n"), StartsWith("all its numbers are 0"));
}

}  // namespace
}  // namespace assay::trial
