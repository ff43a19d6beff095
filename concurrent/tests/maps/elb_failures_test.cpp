// ELB-trees when memory is refused: a call that throws has changed nothing, what it had begun is
// finished by others, and nothing is lost.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "assay/maps/elb_tree.h"
#include "assay/random/splitmix64.h"
#include "assay/reclaim/hazard_pointers.h"
#include "tests/maps/elb_test_variants.h"
#include "tests/reclaim/reclaim_test_allocations.h"

namespace assay {
namespace {

using elb_test::number;
using elb_test::per_key;
using elb_test::slowdown;
using elb_test::variant;
using tests::allocations;
using tests::allocations_fail;
using tests::bytes_in_use;

// Asks again, with one more allocation that succeeds, until none fails. Adds up the failures.
template <class Call, class Unchanged>
auto until_there_is_memory(std::uint64_t& failures, const Call& call, const Unchanged& unchanged) {
  for (std::uint64_t n = 0;; ++n) {
    allocations.fail_after(n);
    try {
      auto answer = call();
      allocations.never_fail();
      return answer;
    } catch (const std::bad_alloc&) {
      allocations.never_fail();
      ++failures;
      unchanged();
    }
  }
}

// Only balancing needs memory: those whose leaves the few entries here split.
std::vector<variant> balanced_variants() {
  std::vector<variant> all = elb_test::all_variants();
  std::erase_if(all, [](const variant& each) { return each.left_by_near > 100; });
  return all;
}

class elb_without_memory : public ::testing::TestWithParam<variant> {
 protected:
  void SetUp() override {
    if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  }
  static bool never_frees() { return GetParam().name.find("none") != std::string::npos; }
};
INSTANTIATE_TEST_SUITE_P(all, elb_without_memory, ::testing::ValuesIn(balanced_variants()),
                         [](const auto& of) { return of.param.name; });

TEST_P(elb_without_memory, is_unchanged) {
  std::set<number> model;
  std::uint64_t failures = 0;
  const auto set = GetParam().make();
  const auto unchanged = [&] { ASSERT_EQ(set->walk(), std::vector(model.begin(), model.end())); };
  const auto handle =
      until_there_is_memory(failures, [&] { return std::shared_ptr(set->attach()); }, unchanged);
  EXPECT_GT(failures, 0U);
  failures = 0;
  std::mt19937_64 draw(1);
  constexpr number keys = 120;
  for (const bool grows : {true, false, true}) {
    for (number i = 0; i < 4 * keys / slowdown && !HasFailure(); ++i) {
      const number key = draw() % keys * per_key;
      if ((draw() % 3 != 0) == grows) {
        if (!model.contains(key)) {
          until_there_is_memory(
              failures,
              [&] {
                handle->insert(key);
                return true;
              },
              unchanged);
          model.insert(key);
        }
      } else {
        const bool all = GetParam().asked == elb_test::ranges::all;
        const auto at = model.lower_bound(all ? 0 : key);
        const bool found = at != model.end() && (all || *at < key + per_key);
        const auto expected = found ? std::optional(*at) : std::nullopt;
        const auto erased = until_there_is_memory(
            failures, [&] { return handle->erase(key, key + per_key - 1); }, unchanged);
        ASSERT_EQ(erased, expected);
        if (found) model.erase(at);
      }
      unchanged();
      // What a call that failed had begun, it has finished now.
      ASSERT_EQ(set->broken_invariant(), std::nullopt);
      if (GetParam().asked == elb_test::ranges::all) continue;  // a queue does not search
      const std::vector<number> expected(model.lower_bound(key), model.lower_bound(key + per_key));
      const auto found = until_there_is_memory(
          failures, [&] { return handle->search(key, key + per_key - 1); }, unchanged);
      ASSERT_EQ(found.has_value(), !expected.empty());
      const auto met = until_there_is_memory(
          failures, [&] { return handle->visit(key, key + per_key - 1); }, unchanged);
      ASSERT_EQ(met, expected);
    }
  }
  EXPECT_GT(failures, 0U);
}

// What a call that failed has begun is a balancing like any other: all who come by help.
TEST_P(elb_without_memory, is_helped_by_others) {
  if (GetParam().asked == elb_test::ranges::all)
    GTEST_SKIP() << "a queue comes by the first leaf only";
  const auto set = GetParam().make();
  const auto handle = set->attach();
  std::set<number> model;
  constexpr number most = 400;
  bool ever_left = false;
  for (number entry = 0; entry < most; ++entry) {
    bool inserted = true;
    allocations.fail_after(entry % 5);
    try {
      handle->insert(entry * per_key);
    } catch (const std::bad_alloc&) {
      inserted = false;
    }
    allocations.never_fail();
    if (inserted) model.insert(entry * per_key);
    ever_left = ever_left || set->broken_invariant().has_value();
  }
  EXPECT_TRUE(ever_left);
  for (number entry = 0; entry < most; ++entry) {
    const number key = entry * per_key;
    ASSERT_EQ(handle->search(key, key).has_value(), model.contains(key));
  }
  EXPECT_EQ(set->walk(), std::vector(model.begin(), model.end()));
  EXPECT_EQ(set->broken_invariant(), std::nullopt);
}

// Every insert closes its leaf, and what it has added counts before the leaf is replaced.
struct never_claims : elb_nodes<6> {
  static constexpr unsigned patience = 0;
};
TEST(elb_without_memory_test, an_insert_that_has_closed_its_leaf_has_added_its_entry) {
  if (!allocations_fail) GTEST_SKIP() << "this sanitizer keeps allocation to itself";
  elb_tree<number, reclaim::hazard_pointers, never_claims> tree;
  auto handle = tree.attach();
  EXPECT_TRUE(handle.insert(3));
  allocations.fail_after(0);
  EXPECT_TRUE(handle.insert(5));
  allocations.never_fail();
  EXPECT_NE(tree.broken_invariant(), std::nullopt);
  EXPECT_EQ(tree.size(), 2U);
  EXPECT_EQ(handle.search(5, 9), 5U);
  EXPECT_FALSE(handle.insert(5));
  EXPECT_EQ(handle.erase(5, 5), 5U);
  EXPECT_EQ(handle.erase(5, 5), std::nullopt);
  EXPECT_EQ(tree.size(), 1U);
  EXPECT_EQ(tree.broken_invariant(), std::nullopt);
}

// Inserts entries of its own and erases those of all, with allocations that fail now and then.
struct sums {
  std::int64_t count = 0;   // of entries inserted, less those erased
  std::uint64_t mixed = 0;  // of numbers made of them, likewise
  std::uint64_t failures = 0;

  void add(std::uint64_t entry, std::int64_t times) {
    count += times;
    mixed += static_cast<std::uint64_t>(times) * random::mix64(entry);
  }
};
sums churn(elb_test::number_set& set, unsigned self, std::uint64_t seed) {
  std::mt19937_64 draw(seed + self);
  const auto handle = set.attach();
  sums mine;
  // With large nodes few calls allocate, and chance may spare them all: so until one has failed.
  for (number i = 0; i < 4000 / slowdown || (mine.failures == 0 && i < 8'000); ++i) {
    const number key = draw() % 100 * per_key;
    if (draw() % 4 == 0) allocations.fail_after(draw() % 3);
    try {
      if (draw() % 2 == 0) {
        const number entry = key + i * 8 + self;
        handle->insert(entry);
        mine.add(entry, 1);
      } else if (const auto erased = handle->erase(key, key + per_key - 1)) {
        mine.add(*erased, -1);
      }
    } catch (const std::bad_alloc&) {
      ++mine.failures;
    }
    allocations.never_fail();
  }
  return mine;
}

TEST_P(elb_without_memory, adds_up_among_threads_and_loses_no_memory) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr unsigned threads = 4;
  std::vector<sums> parts(threads);
  std::vector<std::jthread> all;
  all.reserve(threads);
  const auto before = bytes_in_use.load();
  {
    const auto set = GetParam().make();
    for (unsigned self = 0; self < threads; ++self) {
      all.emplace_back([&, self] { parts[self] = churn(*set, self, seed); });
    }
    for (auto& each : all) each.join();
    sums total;
    for (const sums& part : parts) {
      total.count += part.count;
      total.mixed += part.mixed;
      total.failures += part.failures;
    }
    EXPECT_GT(total.failures, 0U);
    for (const number entry : set->walk()) total.add(entry, -1);
    EXPECT_EQ(total.count, 0);
    EXPECT_EQ(total.mixed, 0U);
    // The last one comes by every leaf, and finishes whatever was left.
    const auto handle = set->attach();
    while (handle->erase(0, elb_test::greatest)) {
    }
    EXPECT_EQ(set->walk(), std::vector<number>());
    EXPECT_EQ(set->broken_invariant(), std::nullopt);
  }
  all.clear();
  if (!never_frees()) {
    EXPECT_EQ(bytes_in_use, before);
  }
}

}  // namespace
}  // namespace assay
