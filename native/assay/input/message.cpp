#include "assay/input/message.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace assay::input {
namespace {

constexpr std::size_t most_of_word = 200;
constexpr std::size_t most_of_line = 2000;

// Unicode's controls, formats, surrogates, separators but the blank, and characters of private use.
constexpr std::array<std::pair<char32_t, char32_t>, 25> not_printable{{
    {0x00, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},      {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},      {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
    {0x2028, 0x202f},    {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},
    {0xfeff, 0xfeff},    {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f},  {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0001, 0xe007f},
    {0xf0000, 0x10fffd},
}};

bool is_printable(char32_t one) {
  const auto holds = [one](const auto& range) { return range.first <= one && one <= range.second; };
  return std::ranges::none_of(not_printable, holds);
}

// Takes a character off the text. A byte that is not UTF-8 becomes a surrogate, as in Python.
char32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};  // by length
  bool is_good = first < 0x80 || (0xc0 <= first && first < 0xf8 && length <= text.size());
  char32_t found = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; is_good && i < length; ++i) {
    is_good = (byte(i) & 0xc0U) == 0x80;
    found = found << 6U | (byte(i) & 0x3fU);
  }
  is_good =
      is_good && least[length] <= found && found <= 0x10ffff && (found < 0xd800 || 0xdfff < found);
  text.remove_prefix(is_good ? length : 1);
  return is_good ? found : 0xdc00 + first;
}

std::string escape(char32_t one) {
  if (one == '\n') return "\\n";
  if (one == '\r') return "\\r";
  if (one == '\t') return "\\t";
  std::array<char, 16> text{};
  const char letter = one <= 0xff ? 'x' : one <= 0xffff ? 'u' : 'U';
  const int digits = one <= 0xff ? 2 : one <= 0xffff ? 4 : 8;
  std::snprintf(text.data(), text.size(), "\\%c%0*x", letter, digits, static_cast<unsigned>(one));
  return text.data();
}

std::u32string printable(std::string_view text) {
  std::u32string line;
  while (!text.empty()) {
    const char32_t one = take_character(text);
    if (is_printable(one)) {
      line += one;
    } else {
      const std::string letters = escape(one);
      line.append(letters.begin(), letters.end());
    }
  }
  return line;
}

std::u32string clipped(std::u32string_view text, std::size_t most) {
  if (text.size() <= most) return std::u32string(text);
  const std::size_t half = (most - 3) / 2;
  return std::u32string(text.substr(0, half)) + U"..." +
         std::u32string(text.substr(text.size() - half));
}

void replace_all(std::u32string& line, const std::u32string& old, const std::u32string& other) {
  for (std::size_t at = 0; (at = line.find(old, at)) != std::u32string::npos; at += other.size()) {
    line.replace(at, old.size(), other);
  }
}

std::string utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t one : text) {
    const auto more = [&](unsigned shift) {
      bytes += static_cast<char>(0x80U | (one >> shift & 0x3fU));
    };
    if (one < 0x80) {
      bytes += static_cast<char>(one);
    } else if (one < 0x800) {
      bytes += static_cast<char>(0xc0U | one >> 6U);
    } else if (one < 0x10000) {
      bytes += static_cast<char>(0xe0U | one >> 12U);
      more(6);
    } else {
      bytes += static_cast<char>(0xf0U | one >> 18U);
      more(12);
      more(6);
    }
    if (one >= 0x80) more(0);
  }
  return bytes;
}

}  // namespace

std::string message(std::string_view text, std::span<char* const> given) {
  std::u32string line = printable(text);
  for (const char* const word : given) {
    const std::u32string whole = printable(word);
    const std::u32string value = whole.substr(std::min(whole.find(U'='), whole.size()));
    for (const auto& part : {whole, value.substr(std::min<std::size_t>(1, value.size()))}) {
      if (part.size() > most_of_word) replace_all(line, part, clipped(part, most_of_word));
    }
  }
  std::u32string shown;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(U' ', at), line.size());
    if (at > 0) shown += U' ';
    shown += clipped(std::u32string_view(line).substr(at, end - at), most_of_word);
    at = end + 1;
  }
  return utf8(clipped(shown, most_of_line));
}

void print_error(std::string_view text, std::span<char* const> given) {
  std::fprintf(stderr, "error: %s\n", message(text, given).c_str());
}

}  // namespace assay::input
