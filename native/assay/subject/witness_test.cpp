// What values say, and which of them a thread knows to be gone.

#include "assay/subject/witness.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::subject {
namespace {

constexpr std::uint64_t salt = 77;
const type_spec numbers_of_64{};

workload::key_space keys(std::uint64_t range) { return {range, workload::key_layout::dense, 0}; }

value_rules rules_of(unsigned threads, const type_spec& value = numbers_of_64,
                     bool ordered = true) {
  return {salt, value, threads, {}, keys(1000), ordered};
}

TEST(values, say_for_which_key_by_whom_and_when_they_were_drawn) {
  const value_rules rules = rules_of(3);
  ASSERT_TRUE(rules.are_signed());
  std::set<std::uint64_t> all;
  for (unsigned thread = 0; thread < 3; ++thread) {
    value_numbers numbers = rules.numbers_of(thread);
    for (std::uint64_t key = 1; key <= 100; ++key) {
      const std::uint64_t value = numbers.draw(numbers.hash(key));
      EXPECT_TRUE(all.insert(value).second);
      EXPECT_TRUE(rules.fits(key, value));
      EXPECT_FALSE(rules.fits(key + 1, value));
      EXPECT_EQ(rules.thread_of(value), thread);
      EXPECT_EQ(value_rules::number_of(value), key);
    }
  }
  EXPECT_FALSE(rules.thread_of(0));
  EXPECT_FALSE(rules.fits(1, 0));
}

TEST(values, have_names_and_origins) {
  const value_rules rules = rules_of(3);
  value_numbers numbers = rules.numbers_of(2);
  const std::uint64_t value = numbers.draw(numbers.hash(93));
  EXPECT_EQ(rules.name_of(value), "value 1 of thread 2");
  EXPECT_EQ(rules.origin_of(value), "value 1 of thread 2, which was drawn for key 93");
  EXPECT_EQ(rules.origin_of(0), "0, which no thread drew for any key");
}

TEST(values, without_room_depend_on_keys_alone) {
  const std::array<std::uint64_t, 1U << drawn_numbers::bits> ones{};
  const type_spec drawn{.drawn = std::make_shared<const drawn_numbers>(ones)};
  const type_spec short_strings{.type = type_spec::kind::bytes, .least = 7, .most = 20};
  for (const type_spec& value :
       {type_spec{.type = type_spec::kind::uint32}, drawn, short_strings}) {
    const value_rules rules = rules_of(2, value);
    EXPECT_FALSE(rules.are_signed());
    value_numbers numbers = rules.numbers_of(1);
    EXPECT_EQ(numbers.draw(numbers.hash(5)), value_of(5, salt));
    EXPECT_EQ(numbers.draw(numbers.hash(5)), value_of(5, salt));
  }
  EXPECT_TRUE(rules_of(2, {.type = type_spec::kind::bytes, .least = 8, .most = 20}).are_signed());
  EXPECT_TRUE(rules_of(1022).are_signed());
  EXPECT_FALSE(rules_of(1024).are_signed());
}

// Values of 48 bits have no room for who drew them.
TEST(values, have_no_more_bits_than_the_map_takes) {
  for (const unsigned bits : {63U, 56U, 55U, 48U}) {
    const value_rules rules = rules_of(2, {.bits = bits});
    EXPECT_EQ(rules.are_signed(), bits >= 56);
    value_numbers numbers = rules.numbers_of(1);
    const std::uint64_t greatest = UINT64_MAX >> (64 - bits);
    std::uint64_t seen = 0;
    for (std::uint64_t key = 1; key <= 1000; ++key) {
      const std::uint64_t hash = numbers.hash(key);
      const std::uint64_t value = numbers.draw(hash);
      seen |= value;
      EXPECT_TRUE(rules.fits(key, value));
      EXPECT_TRUE(is_checked(value, hash, numbers.bits));
      for (unsigned more = bits; more < 64; ++more) {
        const std::uint64_t wrong = value | std::uint64_t{1} << more;
        EXPECT_FALSE(rules.fits(key, wrong));
        EXPECT_FALSE(is_checked(wrong, hash, numbers.bits));
      }
    }
    EXPECT_LE(seen, greatest);
    EXPECT_GT(seen, greatest / 2);
  }
}

TEST(values, are_none_that_the_map_reserves) {
  const std::uint64_t thread_0 = std::uint64_t{1} << value_rules::number_bits;
  const std::vector<std::uint64_t> reserved{thread_0, 3 * thread_0};
  const value_rules rules(salt, numbers_of_64, 2, reserved, keys(1000), true);
  for (unsigned thread = 0; thread < 2; ++thread) {
    const std::uint64_t last = rules.numbers_of(thread).last;
    EXPECT_GT(last, reserved.back());
  }
}

TEST(values, are_watched_under_some_keys_of_every_range) {
  for (const std::uint64_t range : {1U, 2U, 100U, 20'000U}) {
    const value_rules rules(salt, numbers_of_64, 1, {}, keys(range), true);
    std::uint64_t watched = 0;
    for (const std::uint64_t key : rules.watched()) watched += key != 0;
    EXPECT_GE(watched, 1U);
    EXPECT_LE(watched, 1 + range / 32);
  }
}

// A thread that has seen what two threads drew for one key that is watched.
class witness_of_a_key : public ::testing::Test {
 protected:
  value_rules rules_ = rules_of(8);
  std::uint64_t key_ = [this] {
    for (const std::uint64_t key : rules_.watched()) {
      if (key != 0) return key;
    }
    return std::uint64_t{0};
  }();
  std::uint64_t drawn_by(unsigned thread) { return drawn_[thread].draw(rules_.hash(key_)); }
  std::uint64_t stale_after(std::uint64_t found) {
    seen_.found(key_, rules_.hash(key_), found);
    return seen_.stale();
  }
  void insert(std::uint64_t value) { seen_.inserted(key_, rules_.hash(key_), value); }
  void erase() { seen_.erased(key_, rules_.hash(key_)); }

  std::array<value_numbers, 8> drawn_{
      rules_.numbers_of(0), rules_.numbers_of(1), rules_.numbers_of(2), rules_.numbers_of(3),
      rules_.numbers_of(4), rules_.numbers_of(5), rules_.numbers_of(6), rules_.numbers_of(7)};
  witness seen_{rules_, 0};
};

TEST_F(witness_of_a_key, knows_that_lower_numbers_are_gone) {
  const std::uint64_t first = drawn_by(1);
  const std::uint64_t second = drawn_by(1);
  EXPECT_EQ(stale_after(second), 0U);
  EXPECT_EQ(stale_after(second), 0U);
  EXPECT_EQ(stale_after(first), 1U);
  ASSERT_TRUE(seen_.first_stale());
  EXPECT_EQ(seen_.first_stale()->key, key_);
  EXPECT_EQ(seen_.first_stale()->value, first);
  EXPECT_EQ(seen_.first_stale()->known, second);
  EXPECT_EQ(stale_after(drawn_by(1)), 1U);
}

TEST_F(witness_of_a_key, knows_that_what_was_followed_by_another_is_gone) {
  const std::uint64_t one = drawn_by(1);
  const std::uint64_t other = drawn_by(2);
  EXPECT_EQ(stale_after(one), 0U);
  EXPECT_EQ(stale_after(other), 0U);
  EXPECT_EQ(seen_.known_after(key_, one), one);
  EXPECT_EQ(seen_.known_after(key_, other), std::nullopt);
  EXPECT_EQ(stale_after(one), 1U);
  EXPECT_EQ(stale_after(other), 1U);  // which is still the last
}

TEST_F(witness_of_a_key, knows_that_what_it_found_is_gone_when_it_inserts_or_erases) {
  const std::uint64_t one = drawn_by(1);
  const std::uint64_t own = drawn_by(0);
  EXPECT_EQ(stale_after(one), 0U);
  insert(own);
  EXPECT_EQ(stale_after(own), 0U);
  EXPECT_EQ(stale_after(one), 1U);
  erase();
  EXPECT_EQ(stale_after(own), 2U);
  const auto& memory = seen_.memories()[value_rules::slot_of(rules_.hash(key_))];
  EXPECT_EQ(memory.added, 1U);
  EXPECT_EQ(memory.removed, 1U);
}

TEST_F(witness_of_a_key, may_forget_and_is_then_silent) {
  const std::uint64_t one = drawn_by(1);
  const std::uint64_t six = drawn_by(6);  // which takes the place of thread 1's
  EXPECT_EQ(stale_after(one), 0U);
  EXPECT_EQ(stale_after(six), 0U);
  EXPECT_EQ(stale_after(drawn_by(2)), 0U);
  EXPECT_EQ(stale_after(six), 1U);
  EXPECT_EQ(stale_after(one), 1U);
}

TEST_F(witness_of_a_key, does_not_remember_others) {
  std::uint64_t other = 1;
  while (rules_.watched()[value_rules::slot_of(rules_.hash(other))] == other) ++other;
  value_numbers& numbers = drawn_[1];
  const std::uint64_t first = numbers.draw(rules_.hash(other));
  const std::uint64_t second = numbers.draw(rules_.hash(other));
  seen_.found(other, rules_.hash(other), second);
  seen_.found(other, rules_.hash(other), first);
  EXPECT_EQ(seen_.stale(), 0U);
  EXPECT_EQ(seen_.known_after(other, first), std::nullopt);
}

TEST_F(witness_of_a_key, judges_no_map_whose_operations_have_no_order) {
  const value_rules rules = rules_of(2, numbers_of_64, false);
  witness seen(rules, 0);
  const std::uint64_t first = drawn_by(1);
  seen.found(key_, rules.hash(key_), drawn_by(1));
  seen.found(key_, rules.hash(key_), first);
  EXPECT_EQ(seen.stale(), 0U);
}

TEST_F(witness_of_a_key, has_numbers_for_hours) {
  value_numbers numbers = seen_.begin_batch();
  numbers.last |= value_rules::number_mask - 1;
  seen_.end_batch(numbers);
  EXPECT_THROW(static_cast<void>(seen_.begin_batch()), std::length_error);
}

}  // namespace
}  // namespace assay::subject
