// What the policies do with memory of their own: how much they take, and what happens when there is
// none. A program of its own, because it replaces operator new.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "assay/reclaim/concept.h"
#include "assay/reclaim/reclaim_test_nodes.h"

namespace {

// What the calling thread may still allocate, and what it has.
constexpr std::int64_t without_limit = -1;
thread_local std::int64_t allocations_left = without_limit;
thread_local std::uint64_t allocations = 0;
thread_local std::int64_t allocated = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  ++allocated;
  return memory;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  --allocated;
  std::free(memory);
}

}  // namespace

// Those for arrays and those that do not throw call these. Not inlined, so that gcc does not take
// one of a pair for another's.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return allocate(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  give_back(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  give_back(memory);
}

namespace assay::reclaim {
namespace {

template <class P>
class reclaim_memory : public policy_test<P> {};
TYPED_TEST_SUITE(reclaim_memory, policies);

TYPED_TEST(reclaim_memory, reuses_records) {
  TypeParam domain;
  {
    auto first = domain.join();
  }
  const std::uint64_t before = allocations;
  for (int i = 0; i < 1000; ++i) domain.join();
  EXPECT_EQ(allocations, before);
}

// For every n, the n-th allocation fails, and what it was for is tried again.
TYPED_TEST(reclaim_memory, survives_any_failed_allocation) {
  constexpr std::uint64_t guards = 1500;
  bool failed = true;
  for (std::int64_t n = 0; failed; ++n) {
    node::live = 0;
    failed = false;
    allocations_left = n;
    const auto insist = [&failed](auto call) {
      try {
        return call();
      } catch (const std::bad_alloc&) {
        failed = true;
        allocations_left = without_limit;
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
    allocations_left = without_limit;
    this->expect_live(guards);
  }
}

TYPED_TEST(reclaim_memory, is_given_back_when_all_is_freed_at_rest) {
  if (!frees<TypeParam>) GTEST_SKIP();
  TypeParam domain;
  auto me = domain.join();
  const std::int64_t before = allocated;
  for (int round = 0; round < 5; ++round) {
    {
      auto stalled = domain.join();
      auto guard = stalled.pin();
      retire(me, many);
    }
    domain.free_all();
    EXPECT_LE(allocated, before + 2 * 4);  // each participant keeps a few spare blocks
  }
  EXPECT_EQ(node::live, 0U);
}

TYPED_TEST(reclaim_memory, retires_what_a_guard_may_without_memory) {
  {
    TypeParam domain;
    auto me = domain.join();
    for (int round = 0; round < 5; ++round) {
      auto guard = me.pin();
      allocations_left = 0;
      for (std::size_t i = 0; i < retires_per_guard; ++i) guard.retire(new node);
      allocations_left = without_limit;
    }
    EXPECT_EQ(domain.unfreed(), node::live);
  }
  this->expect_live(5 * retires_per_guard);
}

}  // namespace
}  // namespace assay::reclaim
