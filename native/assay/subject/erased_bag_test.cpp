// What the operations of multimaps and queues do.

#include "assay/subject/erased_bag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

#include "assay/subject/subject.h"
#include "tests/test_bags.h"

namespace assay::subject {
namespace {

using ::testing::ElementsAre;
using workload::operation;

// A bag whose operations are given one by one.
template <class Bag>
class by_hand {
 public:
  tally operator()(operation kind, std::uint64_t key) {
    batch_->kinds[0] = kind;
    batch_->keys[0] = key;
    batch_->size = 1;
    tally sums;
    EXPECT_EQ(handle_->perform(*batch_, 0, 1, {}, sums).performed, 1U);
    return sums;
  }
  std::vector<std::uint64_t> keys() {
    std::vector<std::uint64_t> all;
    bag_.for_each([&](std::uint64_t key, std::uint64_t) { all.push_back(key); });
    return all;
  }

 private:
  erased_bag<Bag, std::uint32_t, std::uint32_t> bag_{{.key_range = 100, .threads = 1}};
  std::unique_ptr<any_handle> handle_ = bag_.attach();
  std::unique_ptr<workload::operation_batch> batch_ = std::make_unique<workload::operation_batch>();
};

TEST(erased_bag, erases_from_a_multimap_the_next_key_on_a_circle) {
  by_hand<correct_multimap<std::uint32_t, std::uint32_t>> perform;
  for (const std::uint64_t key : {10U, 10U, 20U, 30U}) perform(operation::insert, key);
  EXPECT_EQ(perform(operation::erase, 15).succeeded[1], 1U);
  EXPECT_THAT(perform.keys(), ElementsAre(10, 10, 30));
  EXPECT_EQ(perform(operation::erase, 31).succeeded[1], 1U);
  EXPECT_THAT(perform.keys(), ElementsAre(10, 30));
  EXPECT_EQ(perform(operation::find, 10).succeeded[2], 1U);
  EXPECT_EQ(perform(operation::find, 20).succeeded[2], 0U);
  perform(operation::erase, 1);
  perform(operation::erase, 1);
  EXPECT_EQ(perform(operation::erase, 1).succeeded[1], 0U);
  EXPECT_EQ(perform(operation::erase, 1).attempted[1], 1U);
}

TEST(erased_bag, pushes_what_was_popped_last_and_what_is_drawn) {
  by_hand<correct_queue<std::uint32_t, std::uint32_t>> perform;
  perform(operation::insert, 40);
  perform(operation::insert, 10);
  perform(operation::erase, 99);
  EXPECT_THAT(perform.keys(), ElementsAre(40));
  perform(operation::insert, 7);
  EXPECT_THAT(perform.keys(), ElementsAre(17, 40));
}

TEST(erased_bag, adds_what_goes_in_and_subtracts_what_comes_out) {
  by_hand<correct_queue<std::uint32_t, std::uint32_t>> perform;
  tally sums;
  for (const std::uint64_t key : {5U, 8U, 9U}) sums += perform(operation::insert, key);
  EXPECT_EQ(sums.key_sum, 22U);
  sums += perform(operation::erase, 1);
  EXPECT_EQ(sums.implied_contents().size, 2);
  EXPECT_EQ(sums.key_sum, 17U);
  for (int i = 0; i < 3; ++i) sums += perform(operation::erase, 1);
  EXPECT_EQ(sums.implied_contents(), contents());
}

TEST(fresh_values, are_given_out_once) {
  std::atomic<std::uint64_t> all = 0;
  fresh_values<std::uint64_t> one(all);
  fresh_values<std::uint64_t> other(all);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(seen.insert(one.next()).second);
    EXPECT_TRUE(seen.insert(other.next()).second);
  }
}

TEST(fresh_values, come_to_an_end) {
  constexpr std::uint64_t left = 4096;
  std::atomic<std::uint64_t> all = (std::uint64_t{1} << 32U) - left;
  fresh_values<std::uint32_t> values(all);
  const auto use_up = [&] {
    for (std::uint64_t i = 0; i <= left; ++i) EXPECT_LE(values.next(), UINT32_MAX);
  };
  EXPECT_THROW(use_up(), std::length_error);
  fresh_values<std::uint64_t> longer(all);
  EXPECT_GT(longer.next(), UINT32_MAX - left);
}

TEST(pushed_key, is_refused_beyond_what_queues_can_hold) {
  EXPECT_EQ(pushed_key<std::uint32_t>(INT32_MAX - 1, 1), INT32_MAX);
  EXPECT_THROW(static_cast<void>(pushed_key<std::uint32_t>(INT32_MAX - 1, 2)), std::length_error);
  EXPECT_EQ(pushed_key<std::uint64_t>(INT32_MAX, 2), INT32_MAX + std::uint64_t{2});
  EXPECT_THROW(static_cast<void>(pushed_key<std::uint64_t>(INT64_MAX, 1)), std::length_error);
}

TEST(subject_entry, of_a_bag_tells_what_it_is) {
  using enum operation;
  const auto multimap = describe_bag<correct_multimap, std::uint64_t, std::uint32_t>("test", "");
  EXPECT_EQ(to_string(multimap.structure), "multimap");
  EXPECT_THAT(multimap.operations, ElementsAre(insert, erase, find));
  EXPECT_EQ(multimap.types.size(), 2U);
  const auto queue = describe_bag<correct_queue, std::uint64_t, std::uint32_t>("test", "");
  EXPECT_EQ(to_string(queue.structure), "queue");
  EXPECT_THAT(queue.operations, ElementsAre(insert, erase));
}

}  // namespace
}  // namespace assay::subject
