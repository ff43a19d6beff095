#include "assay/maps/elb_entry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace assay::elb {
namespace {

static_assert(std::is_same_v<coding<std::uint64_t>::word, std::uint64_t>);
static_assert(std::is_same_v<coding<std::uint8_t>::word, std::uint64_t>);
static_assert(std::is_same_v<coding<wide>::word, wide>);
static_assert(std::is_same_v<coding<element<int, unsigned, 31, 32>>::word, std::uint64_t>);
static_assert(std::is_same_v<coding<element<int, unsigned>>::word, wide>);
static_assert(bits<bool> == 1 && bits<wide> == 128);

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const std::out_of_range& error) {
    return error.what();
  }
  return "none";
}

// Words are above 0 and not marked, ascend as the entries do, and come back.
template <class Entry>
void expect_ordered(const std::vector<Entry>& ascending) {
  using code = coding<Entry>;
  using word = typename code::word;
  std::optional<word> last;
  for (const Entry& entry : ascending) {
    const word held = code::encode(entry);
    EXPECT_TRUE(0 < held && held < read_only<word>);
    EXPECT_TRUE(!last || *last < held);
    EXPECT_TRUE(code::decode(held) == entry);
    EXPECT_TRUE(code::first(entry) == held && code::last(entry) == held);
    last = held;
  }
}

template <class T>
constexpr T greatest = std::numeric_limits<T>::max();

TEST(elb_entry, of_an_integer_is_one_less_than_its_word) {
  constexpr std::uint64_t most = (std::uint64_t{1} << 63) - 2;
  expect_ordered<std::uint64_t>({0, 1, 2, most - 1, most});
  expect_ordered<std::uint32_t>({0, 1, greatest<std::uint32_t>});
  expect_ordered<std::uint8_t>({0, 255});
  const wide widest = (wide{1} << 127) - 2;
  expect_ordered<wide>({0, 1, greatest<std::uint64_t>, wide{1} << 64, widest - 1, widest});

  using narrow = coding<std::uint64_t>;
  for (const std::uint64_t none : {most + 1, most + 2, greatest<std::uint64_t>}) {
    EXPECT_EQ(message_of([&] { narrow::encode(none); }),
              "elb_tree: the greatest entry of a word of 64 bits is 2^63 - 2");
    // A range that ends there ends with the greatest, and one that begins there is empty.
    EXPECT_EQ(narrow::last(none), narrow::encode(most));
    EXPECT_EQ(narrow::first(none), narrow::last(none) + 1);
  }
  EXPECT_EQ(message_of([&] { coding<wide>::encode(widest + 1); }),
            "elb_tree: the greatest entry of a word of 128 bits is 2^127 - 2");
  EXPECT_TRUE(coding<wide>::last(~wide{0}) == coding<wide>::encode(widest));
  EXPECT_TRUE(coding<wide>::first(~wide{0}) == coding<wide>::encode(widest) + 1);
}

template <class Key, class Value, unsigned KeyBits, unsigned ValueBits>
void expect_ordered_elements() {
  using entry = element<Key, Value, KeyBits, ValueBits>;
  std::vector<entry> ascending;
  const std::vector<Key> keys{least<Key, KeyBits>, least<Key, KeyBits> + 1, 5,
                              most<Key, KeyBits> - 1, most<Key, KeyBits>};
  for (const Key key : keys) {
    for (const Value value : {least<Value, ValueBits>, Value(least<Value, ValueBits> + 1), Value(7),
                              Value(most<Value, ValueBits> - 1), most<Value, ValueBits>}) {
      ascending.push_back({key, value});
    }
  }
  using code = coding<entry>;
  const entry highest = ascending.back();
  if constexpr (KeyBits + ValueBits == 63 || KeyBits + ValueBits == 127) {
    ascending.pop_back();
    EXPECT_EQ(
        message_of([&] { code::encode(highest); }),
        "elb_tree: the greatest key with the greatest value is not an entry if they fill a word");
    EXPECT_TRUE(code::last(highest) == code::encode(ascending.back()));
    EXPECT_TRUE(code::first(highest) == code::encode(ascending.back()) + 1);
  }
  expect_ordered(ascending);
}

TEST(elb_entry, of_a_pair_is_in_the_order_of_keys_and_then_of_values) {
  expect_ordered_elements<std::uint32_t, std::uint32_t, 31, 32>();
  expect_ordered_elements<std::int32_t, std::int32_t, 32, 31>();
  expect_ordered_elements<std::int16_t, std::uint8_t, 16, 8>();
  expect_ordered_elements<std::uint32_t, std::int32_t, 32, 32>();
  expect_ordered_elements<std::int64_t, std::uint64_t, 64, 63>();
  expect_ordered_elements<std::uint64_t, std::int64_t, 63, 64>();
}

TEST(elb_entry, says_which_part_of_a_pair_does_not_fit) {
  using code = coding<element<std::int32_t, std::uint32_t, 8, 16>>;
  EXPECT_EQ(code::decode(code::encode({-128, 65'535})).key, -128);
  EXPECT_EQ(message_of([] { code::encode({128, 0}); }),
            "elb_tree: the key 128 does not fit into its 8 bits");
  EXPECT_EQ(message_of([] { code::first({-129, 0}); }),
            "elb_tree: the key -129 does not fit into its 8 bits");
  EXPECT_EQ(message_of([] { code::last({0, 65'536}); }),
            "elb_tree: the value 65536 does not fit into its 16 bits");
}

template <class Word>
class elb_place : public ::testing::Test {};
using words = ::testing::Types<std::uint64_t, wide>;
TYPED_TEST_SUITE(elb_place, words);

TYPED_TEST(elb_place, is_read_exchanged_and_made_read_only) {
  using word = TypeParam;
  const word high = word{1} << (8 * sizeof(word) - 2);  // both halves of a wide one count
  place<word> held;
  EXPECT_TRUE(held.load() == 0);
  word expected = 1;
  EXPECT_FALSE(held.exchange(expected, high));
  EXPECT_TRUE(expected == 0);
  EXPECT_TRUE(held.exchange(expected, high | 1));
  EXPECT_TRUE(held.load() == (high | 1));
  expected = 1;
  EXPECT_FALSE(held.exchange(expected, 0));
  EXPECT_TRUE(expected == (high | 1));
  held.make_read_only();
  EXPECT_TRUE(held.load() == (high | 1 | read_only<word>));
  held.make_read_only();
  EXPECT_FALSE(held.exchange(expected, 0));
  EXPECT_TRUE(expected == (high | 1 | read_only<word>));
  held.set(3);
  EXPECT_TRUE(held.load() == 3);
}

// ThreadSanitizer sees whether it does.
TYPED_TEST(elb_place, shows_who_reads_it_what_its_writer_has_done_before) {
  using word = TypeParam;
  place<word> held;
  int written_before = 0;
  std::thread writer([&] {
    written_before = 7;
    word expected = 0;
    held.exchange(expected, 1);
  });
  while (held.load() == 0) std::this_thread::yield();
  EXPECT_EQ(written_before, 7);
  writer.join();
}

}  // namespace
}  // namespace assay::elb
