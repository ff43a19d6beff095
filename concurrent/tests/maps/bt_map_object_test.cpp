// A bt_map as an object: how it is made, moved and swapped, and read where it is constant.

#define ASSAY_CHECKS 1

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/maps/bt_map.h"
#include "assay/maps/cursor.h"

namespace assay {
namespace {

class counted : public std::pmr::memory_resource {
 public:
  std::size_t pieces = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++pieces;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    --pieces;
    std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

struct fails_when_copied {
  int* left;
  explicit fails_when_copied(int* copies) : left(copies) {}
  fails_when_copied(const fails_when_copied& other) : left(other.left) {
    if ((*left)-- == 0) throw std::runtime_error("copied");
  }
  fails_when_copied& operator=(const fails_when_copied&) = delete;
  bool operator()(int one, int other) const { return one < other; }
};
struct failing : bt_policies<int> {
  using compare = fails_when_copied;
  using allocator = std::pmr::polymorphic_allocator<>;
};

TEST(bt_map_object, keeps_no_memory_if_the_order_cannot_be_copied) {
  counted resource;
  int copies = 0;
  for (int most = 0;; ++most) {
    copies = most;
    try {
      const bt_map<int, int, failing> map(fails_when_copied(&copies), 0, &resource);
      EXPECT_GT(resource.pieces, 0U);
      EXPECT_GT(most, 0);
      break;
    } catch (const std::runtime_error&) {
      EXPECT_EQ(resource.pieces, 0U);
    }
  }
  EXPECT_EQ(resource.pieces, 0U);
}

template <class Compare>
struct ordered : bt_policies<int> {
  using compare = Compare;
};

// As of a lambda with captures, which is copied and not assigned.
TEST(bt_map_object, moves_with_an_order_that_cannot_be_assigned) {
  const auto by_thirds = [divisor = 3](int one, int other) {
    return one / divisor < other / divisor;
  };
  using map_type = bt_map<int, int, ordered<std::remove_const_t<decltype(by_thirds)>>>;
  static_assert(std::move_constructible<map_type>);
  static_assert(!std::swappable<map_type> && !std::is_move_assignable_v<map_type>);
  map_type map(by_thirds);
  EXPECT_TRUE(map.insert(1, 1));
  const map_type taken(std::move(map));
  EXPECT_TRUE(taken.contains(0));
  EXPECT_TRUE(map.empty());  // NOLINT(bugprone-use-after-move): it says so
  EXPECT_TRUE(map.insert(5, 5));
  EXPECT_TRUE(map.contains(3));
  EXPECT_EQ(taken.broken_invariant(), std::nullopt);
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

struct only_moved : std::less<> {
  only_moved() = default;
  only_moved(only_moved&&) = default;
  only_moved& operator=(only_moved&&) = default;
};
TEST(bt_map_object, swaps_an_order_that_is_not_copied) {
  using map_type = bt_map<int, int, ordered<only_moved>>;
  static_assert(!std::move_constructible<map_type> && std::swappable<map_type>);
  map_type one;
  map_type other;
  one.insert(1, 1);
  swap(one, other);
  EXPECT_TRUE(other.contains(1));
}

template <class Synchronisation>
struct synchronised : bt_policies<int> {
  using synchronisation = Synchronisation;
};
template <class Synchronisation>
class bt_map_read : public testing::Test {};
using synchronisations = testing::Types<bt::optimistic, bt::coarse<std::mutex>>;
TYPED_TEST_SUITE(bt_map_read, synchronisations);

TYPED_TEST(bt_map_read, is_read_where_it_is_constant) {
  bt_map<int, int, synchronised<TypeParam>> changed;
  const auto& map = changed;
  EXPECT_TRUE(map.empty());
  for (int key = 0; key < 100; ++key) changed.insert(key, 2 * key);
  EXPECT_EQ(map.find(1), 2);
  EXPECT_TRUE(map.contains(99));
  EXPECT_EQ(map.size(), 100U);
  EXPECT_GT(map.approximate_size(), 0U);
  int visits = 0;
  const auto count = [&visits](int, int) { ++visits; };
  EXPECT_TRUE(map.visit(1, count));
  EXPECT_TRUE(map.visit_range(10, 19, count));
  EXPECT_TRUE(map.visit_range_descending(10, 19, count));
  EXPECT_TRUE(map.visit_all(count));
  EXPECT_TRUE(map.visit_all_descending(count));
  map.range(10, 19, count);
  map.range_snapshot(10, 19, count);
  map.iterate(count);
  map.snapshot(count);
  EXPECT_EQ(visits, 1 + 4 * 10 + 4 * 100);
  const std::vector<int> keys{1, 100};
  std::vector<std::optional<int>> found(2);
  map.find_many(keys, found);
  EXPECT_EQ(found, (std::vector<std::optional<int>>{2, std::nullopt}));
  EXPECT_EQ(map.lower_bound(5)->first, 5);
  EXPECT_EQ(map.upper_bound(5)->first, 6);
  EXPECT_EQ(map.floor(5)->first, 5);
  EXPECT_EQ(map.predecessor(5)->first, 4);
  EXPECT_EQ(map.minimum()->first, 0);
  EXPECT_EQ(map.maximum()->first, 99);
  EXPECT_EQ(map.clone()->size(), 100U);
  int walked = 0;
  for (const auto& [key, value] : elements(map, 90)) walked += value == 2 * key ? 1 : 100;
  EXPECT_EQ(walked, 10);
  // Nothing that changes it is of a constant one.
  static_assert(!requires { map.insert(1, 1); } && !requires { map.erase(1); });
}

TEST(bt_map_object, takes_pairs) {
  bt_map<std::string, std::unique_ptr<int>> owners;
  EXPECT_TRUE(owners.insert({"a", std::make_unique<int>(3)}));
  EXPECT_TRUE(
      owners.visit("a", [](const std::string&, const auto& value) { EXPECT_EQ(*value, 3); }));
  bt_map<int, int> map;
  EXPECT_TRUE(map.insert({1, 2}));
  const bt_map<int, int>::value_type element(1, 3);
  auto handle = map.attach();
  EXPECT_FALSE(handle.insert(element));
  EXPECT_FALSE(handle.insert(std::pair(1, 3)));
  EXPECT_EQ(map.find(1), 2);
}

template <class Map, class... Args>
concept emplaces = requires(Map& map, Args... args) { map.emplace(args...); };
TEST(bt_map_object, emplaces_what_keys_are_made_of) {
  using map_type = bt_map<std::string, int>;
  map_type map;
  EXPECT_TRUE(map.emplace(std::string_view("a"), 1));
  EXPECT_FALSE(map.attach().emplace(std::string_view("a"), 1));
  EXPECT_FALSE(map.emplace("a", 1));
  static_assert(emplaces<map_type, std::string_view, int>);
  static_assert(!emplaces<map_type, void*, int> && !emplaces<map_type, std::string, std::string>);
  static_assert(!emplaces<map_type::handle, void*, int>);
}

TEST(bt_map_object, is_not_moved_from_within_a_visit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const message =
      "assay: a bt_map is moved, swapped or cleared while a call to it visits";
  bt_map<int, int> map;
  bt_map<int, int> other;
  map.insert(1, 1);
  EXPECT_DEATH(map.visit_all([&](int, int) { const bt_map<int, int> taken(std::move(map)); }),
               message);
  EXPECT_DEATH(map.visit_all([&](int, int) { other = std::move(map); }), message);
  EXPECT_DEATH(map.visit_all([&](int, int) { map = std::move(other); }), message);
  EXPECT_DEATH(map.visit_all([&](int, int) { swap(other, map); }), message);
  EXPECT_DEATH(map.visit_all([&](int, int) { map.clear(); }), message);
}

}  // namespace
}  // namespace assay
