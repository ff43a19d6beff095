// What the policies do with memory of their own: how much they take, and what happens when there is
// none. A program of its own, because it replaces operator new.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>

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
