#include "assay/input/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>

namespace assay::input {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char one) { return (one & 0xc0) != 0x80; }));
}

TEST(Message, LeavesWhatIsPrintable) {
  for (const char* const text :
       {"", "a", "two words", "Größe.csv", "数 😀", " at both ends ", R"(\ ")"}) {
    EXPECT_EQ(message(text), text);
  }
}

TEST(Message, EscapesWhatMovesACursorOrTurnsText) {
  EXPECT_EQ(message("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(message("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(message("\u0085\u00a0\u202e\u202c\u2066\u2069\ufeff"),
            "\\x85\\xa0\\u202e\\u202c\\u2066\\u2069\\ufeff");
  EXPECT_EQ(message("\U000e0041"), "\\U000e0041");
  EXPECT_EQ(message(std::string_view("\0", 1)), "\\x00");
}

TEST(Message, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(message("a\xff z"), "a\\udcff z");
  EXPECT_EQ(message("\xe2\x80"), "\\udce2\\udc80");                        // cut short
  EXPECT_EQ(message("\xc0\xaf"), "\\udcc0\\udcaf");                        // longer than need be
  EXPECT_EQ(message("\xed\xa0\x80"), "\\udced\\udca0\\udc80");             // a surrogate
  EXPECT_EQ(message("\xf4\x90\x80\x80"), "\\udcf4\\udc90\\udc80\\udc80");  // beyond Unicode
}

TEST(Message, ShowsTheStartAndTheEndOfALongWord) {
  const std::string shown = message("no file a" + repeated("ö", 100'000) + "z here");
  EXPECT_THAT(shown, StartsWith("no file aö"));
  EXPECT_THAT(shown, EndsWith("öz here"));
  EXPECT_THAT(shown, HasSubstr("ö...ö"));
  EXPECT_LE(characters(shown), 8 + 200 + 5);
}

TEST(Message, AWordOfTheCommandLineIsOneWithItsBlanks) {
  std::string word = "--file=" + repeated("many words ", 10'000);
  std::string nothing;
  const std::array<char*, 2> given{nothing.data(), word.data()};
  for (const std::string_view part : {std::string_view(word), std::string_view(word).substr(7)}) {
    EXPECT_LE(characters(message("there is no " + std::string(part), given)), 12 + 200);
  }
}

TEST(Message, IsPrintableAndShortWhateverItIsOf) {
  std::mt19937_64 draw(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text(std::size_t{1} << draw() % 14, '\0');
    const unsigned pieces = 1U + static_cast<unsigned>(draw() % 4);
    for (char& one : text) {
      one = draw() % 4 < pieces ? static_cast<char>(draw()) : ' ';
    }
    const std::string shown = message(text);
    if (shown.size() < 1500) {  // else two halves of words may meet in the middle
      EXPECT_EQ(message(shown), shown) << "there was something left to escape or cut";
    }
    EXPECT_LE(characters(shown), 2000U);
    EXPECT_TRUE(
        std::ranges::none_of(shown, [](unsigned char one) { return one < ' ' || one == 127; }));
  }
}

}  // namespace
}  // namespace assay::input
