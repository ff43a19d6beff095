#include "assay/maps/large_pages.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>

#include "assay/maps/bt_map.h"

namespace assay {
namespace {

constexpr std::size_t page = large_pages::page_bytes;

TEST(large_pages, begin_on_a_large_page_and_can_be_written_to_their_end) {
  large_pages pages;
  for (const std::size_t bytes : {std::size_t{1}, page - 1, page, page + 1, 3 * page}) {
    void* const memory = pages.allocate(bytes, 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % page, 0U) << bytes;
    std::memset(memory, 0x5a, bytes);
    EXPECT_EQ(static_cast<unsigned char*>(memory)[bytes - 1], 0x5a);
    pages.deallocate(memory, bytes, 64);
  }
}
TEST(large_pages, what_cannot_be_had_is_bad_alloc) {
  large_pages pages;
  const volatile std::size_t greatest = SIZE_MAX;  // unknown to the compiler, which would refuse it
  EXPECT_THROW(static_cast<void>(pages.allocate(greatest)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pages.allocate(greatest / 4)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pages.allocate(1, 2 * page)), std::bad_alloc);
}
TEST(large_pages, are_equal_to_themselves_alone) {
  large_pages one;
  const large_pages other;
  EXPECT_EQ(one, one);
  EXPECT_NE(one, other);
  EXPECT_NE(static_cast<std::pmr::memory_resource&>(one), *std::pmr::new_delete_resource());
}

struct in_resource : bt_policies<std::uint64_t> {
  using allocator = std::pmr::polymorphic_allocator<std::byte>;
};
TEST(large_pages, hold_a_map) {
  large_pages pages;
  std::pmr::synchronized_pool_resource pool(&pages);
  bt_map<std::uint64_t, std::uint64_t, in_resource> map(&pool);
  auto handle = map.attach();
  for (std::uint64_t key = 0; key < 10'000; ++key) EXPECT_TRUE(handle.insert(key * 7, key));
  for (std::uint64_t key = 0; key < 10'000; ++key) EXPECT_EQ(handle.find(key * 7), key);
  for (std::uint64_t key = 0; key < 10'000; ++key) EXPECT_TRUE(handle.erase(key * 7));
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

}  // namespace
}  // namespace assay
