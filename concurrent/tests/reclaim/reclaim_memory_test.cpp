// What the policies do with memory of their own: how much they take, and what happens when there is
// none. A program of its own, because it replaces operator new.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "assay/reclaim/concept.h"
#include "assay/reclaim/retired.h"
#include "tests/reclaim/reclaim_test_allocations.h"
#include "tests/reclaim/reclaim_test_nodes.h"

namespace assay::reclaim {
namespace {

using tests::allocations;
using tests::allocations_made;
using tests::bytes_in_use;

template <class P>
class reclaim_memory : public policy_test<P> {};
TYPED_TEST_SUITE(reclaim_memory, policies);

TYPED_TEST(reclaim_memory, reuses_records) {
  TypeParam domain;
  {
    auto first = domain.join();
  }
  const std::uint64_t before = allocations_made;
  for (int i = 0; i < 1000; ++i) domain.join();
  EXPECT_EQ(allocations_made, before);
}

// For every n, the n-th allocation fails, and what it was for is tried again.
TYPED_TEST(reclaim_memory, survives_any_failed_allocation) {
  constexpr std::uint64_t guards = 1500;
  bool failed = true;
  for (std::uint64_t n = 0; failed; ++n) {
    node::live = 0;
    failed = false;
    allocations.fail_after(n);
    const auto insist = [&failed](auto call) {
      try {
        return call();
      } catch (const std::bad_alloc&) {
        failed = true;
        allocations.never_fail();
        return call();
      }
    };
    {
      TypeParam domain;
      auto me = insist([&] { return domain.join(); });
      auto other = insist([&] { return domain.join(); });
      for (std::uint64_t i = 0; i < guards; ++i) {
        auto guard = insist([&] { return me.pin(); });
        guard.retire(new node);
      }
      EXPECT_EQ(domain.unfreed(), node::live);
    }
    allocations.never_fail();
    this->expect_live(guards);
  }
}

// Whatever a guard that only reads does for others meanwhile.
TYPED_TEST(reclaim_memory, is_not_needed_to_read) {
  static_assert(noexcept(std::declval<typename TypeParam::participant&>().pin_to_read()));
  TypeParam domain;
  auto writer = domain.join();
  retire(writer, 3000);
  auto me = domain.join();
  {
    auto left = domain.join();
    retire(left, 100);
  }
  const std::uint64_t before = allocations_made;
  allocations.fail_after(0);
  for (std::uint64_t i = 0; i < many; ++i) me.pin_to_read();
  allocations.never_fail();
  EXPECT_EQ(allocations_made, before);
}

// And no memory for a large deleter.
TYPED_TEST(reclaim_memory, that_is_lacking_leaves_a_node_with_its_owner) {
  int deleted = 0;
  int unlinked = 0;
  {
    TypeParam domain;
    auto me = domain.join();
    auto guard = me.pin();
    const auto deleter = [&deleted, &unlinked](const int* node) { deleted += node == &unlinked; };
    if constexpr (frees<TypeParam>) {
      allocations.fail_after(0);
      EXPECT_THROW(guard.retire(&unlinked, deleter), std::bad_alloc);
      allocations.never_fail();
      EXPECT_EQ(domain.unfreed(), 0U);
    }
    guard.retire(&unlinked, deleter);
    EXPECT_EQ(domain.unfreed(), 1U);
  }
  EXPECT_EQ(deleted, frees<TypeParam> ? 1 : 0);
}

TYPED_TEST(reclaim_memory, is_given_back_when_all_is_freed_at_rest) {
  if (!frees<TypeParam>) GTEST_SKIP();
  TypeParam domain;
  auto me = domain.join();
  const std::int64_t before = bytes_in_use;
  constexpr std::int64_t spare_blocks = 8;  // four of each participant
  constexpr auto bytes_of_block = static_cast<std::int64_t>(sizeof(detail::retired_block) + 16);
  for (int round = 0; round < 5; ++round) {
    {
      auto stalled = domain.join();
      auto guard = stalled.pin();
      retire(me, many);
    }
    domain.free_all();
    EXPECT_LE(bytes_in_use, before + spare_blocks * bytes_of_block);
  }
  EXPECT_EQ(node::live, 0U);
}

TYPED_TEST(reclaim_memory, retires_what_a_guard_may_without_memory) {
  {
    TypeParam domain;
    auto me = domain.join();
    for (int round = 0; round < 5; ++round) {
      auto guard = me.pin();
      allocations.fail_after(0);
      for (std::size_t i = 0; i < retires_per_guard; ++i) guard.retire(new node);
      allocations.never_fail();
    }
    EXPECT_EQ(domain.unfreed(), node::live);
  }
  this->expect_live(5 * retires_per_guard);
}

}  // namespace
}  // namespace assay::reclaim
