#include "assay/subject/type_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "assay/random/splitmix64.h"

namespace assay::subject {
namespace {

// Numbers next to each other, at the bounds, and anywhere below 2^63.
std::vector<std::uint64_t> numbers() {
  std::vector<std::uint64_t> all;
  for (std::uint64_t number = 1; number <= 300; ++number) all.push_back(number);
  for (int bits = 9; bits < 63; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    all.insert(all.end(), {power - 1, power, power + 1});
  }
  random::splitmix64 draw(1);
  for (int i = 0; i < 200; ++i) all.push_back(draw() >> 1 | 1);
  return all;
}

type_spec bytes(std::uint32_t least, std::uint32_t most, std::uint32_t prefix = 0) {
  return {.type = type_spec::kind::bytes, .least = least, .most = most, .prefix = prefix};
}

const std::vector<type_spec> key_types{bytes(8, 8),    bytes(9, 9),       bytes(16, 16),
                                       bytes(8, 64),   bytes(100, 103),   bytes(4096, 4096),
                                       bytes(9, 9, 1), bytes(32, 40, 24), bytes(64, 64, 20)};
const std::vector<type_spec> value_types{bytes(0, 0),  bytes(1, 1),     bytes(0, 9),
                                         bytes(3, 40), bytes(100, 100), bytes(0, 4096)};

TEST(codec, of_numbers_is_nothing_or_their_low_bits) {
  const codec<std::uint64_t> whole;
  const codec<std::uint32_t> low;
  for (const std::uint64_t number : numbers()) {
    EXPECT_EQ(whole.encode(number), number);
    EXPECT_EQ(whole.decode(number), number);
    EXPECT_EQ(low.encode(number), number % (std::uint64_t{1} << 32));
    EXPECT_EQ(low.decode(low.encode(number)), low.kept(number));
    EXPECT_TRUE(low.equals(low.encode(number), number));
    EXPECT_FALSE(low.equals(low.encode(number) + 1, number));
  }
}

TEST(codec, of_strings_gives_back_the_number_of_a_key) {
  for (const type_spec& type : key_types) {
    codec<std::string> keys(type);
    for (const std::uint64_t number : numbers()) {
      const std::string key = keys.encode(number);
      EXPECT_GE(key.size(), type.least);
      EXPECT_LE(key.size(), type.most);
      EXPECT_EQ(keys.decode(key), number);
      EXPECT_EQ(keys.kept(number), number);
      EXPECT_EQ(keys.rank(key), number);
      EXPECT_EQ(keys.encode(number), key);
    }
  }
}

TEST(codec, of_strings_orders_keys_as_their_numbers) {
  for (const type_spec& type : key_types) {
    codec<std::string> keys(type);
    std::string last;
    const std::vector<std::uint64_t> all = numbers();
    for (const std::uint64_t number : std::set(all.begin(), all.end())) {
      const std::string key = keys.encode(number);
      EXPECT_LT(last, key) << number;
      last = key;
    }
  }
}

TEST(codec, of_strings_begins_all_keys_alike) {
  codec<std::string> keys(bytes(28, 40, 20));
  const std::string some = keys.encode(1);
  for (const std::uint64_t number : numbers()) {
    EXPECT_EQ(keys.encode(number).substr(0, 20), some.substr(0, 20));
  }
}

TEST(codec, of_strings_uses_every_length) {
  std::set<std::size_t> lengths;
  codec<std::string> keys(bytes(8, 12));
  for (const std::uint64_t number : numbers()) lengths.insert(keys.encode(number).size());
  EXPECT_EQ(lengths, (std::set<std::size_t>{8, 9, 10, 11, 12}));
}

// Values stand for all 64 bits, of which short ones keep the low bytes and their own length.
TEST(codec, of_strings_recognises_the_value_of_a_number) {
  for (const type_spec& type : value_types) {
    codec<std::string> values(type);
    for (std::uint64_t number : numbers()) {
      number = random::mix64(number);
      const std::string value = values.encode(number);
      EXPECT_TRUE(values.equals(value, number));
      EXPECT_EQ(values.decode(value), values.kept(number));
    }
  }
}

TEST(codec, of_strings_recognises_every_change_of_a_byte_and_of_the_length) {
  for (const type_spec& type :
       {bytes(1, 1), bytes(5, 5), bytes(8, 8), bytes(13, 13), bytes(8, 40), bytes(24, 24, 9)}) {
    codec<std::string> values(type);
    for (const std::uint64_t number : {1U, 2U, 1000U}) {
      const std::string value = values.encode(number);
      for (std::size_t at = 0; at < value.size(); ++at) {
        std::string wrong = value;
        wrong[at] = static_cast<char>(wrong[at] ^ 1);
        EXPECT_FALSE(values.equals(wrong, number));
        EXPECT_NE(values.decode(wrong), values.kept(number));
      }
      const std::string cut = value.substr(0, value.size() - 1);
      EXPECT_FALSE(values.equals(cut, number));
      EXPECT_NE(values.decode(cut), values.kept(number));
      EXPECT_FALSE(values.equals(value + '\0', number));
      EXPECT_NE(values.decode(value + '\0'), values.kept(number));
    }
  }
}

TEST(codec, of_strings_takes_nothing_else_for_a_key) {
  codec<std::string> keys(bytes(16, 24));
  const std::string key = keys.encode(7);
  const std::string other = keys.encode(8);
  for (const std::string& wrong :
       {std::string(), std::string("7"), key.substr(0, 8), key.substr(0, 12),
        key.substr(0, 8) + other.substr(8), std::string(20, '\0'), std::string(5000, 'x')}) {
    EXPECT_EQ(keys.decode(wrong), 0U) << wrong.size();
  }
}

TEST(codec, of_strings_does_not_allocate_when_it_encodes) {
  codec<std::string> keys(bytes(8, 4096));
  const char* const place = keys.encode(1).data();
  for (const std::uint64_t number : numbers()) EXPECT_EQ(keys.encode(number).data(), place);
}

TEST(codec, of_bare_strings_keeps_the_order_of_numbers) {
  codec<std::string> bare({.type = type_spec::kind::bytes, .least = 0, .most = 64, .bare = true});
  const std::vector<std::uint64_t> ascending{
      0, 1, 2, 255, 256, 257, 511, 512, 1U << 24U, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
  std::vector<std::string> strings;
  for (const std::uint64_t one : ascending) {
    strings.push_back(bare.encode(one));
    EXPECT_EQ(bare.decode(strings.back()), one);
    EXPECT_TRUE(bare.equals(strings.back(), one));
    EXPECT_FALSE(bare.equals(strings.back(), one ^ 2));
  }
  EXPECT_TRUE(std::ranges::is_sorted(strings, std::less_equal<>()));
  EXPECT_EQ(bare.decode("seventh\x01"), 0U);
}

}  // namespace
}  // namespace assay::subject
