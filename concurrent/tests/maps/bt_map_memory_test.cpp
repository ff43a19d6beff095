// Where bt_map has its memory from: all of it comes back, whatever fails.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assay/maps/bt_map.h"

namespace assay {
namespace {

// Knows what it has given, and fails when it is told to. By any thread.
class counting_resource : public std::pmr::memory_resource {
 public:
  ~counting_resource() override { EXPECT_EQ(bytes(), 0U); }

  void fail_after(std::uint64_t allocations) {
    const std::scoped_lock lock(mutex_);
    left_ = allocations;
  }
  void never_fail() { fail_after(never); }
  [[nodiscard]] std::size_t bytes() const {
    const std::scoped_lock lock(mutex_);
    std::size_t sum = 0;
    for (const auto& [at, of] : given_) sum += of.bytes;
    return sum;
  }

 private:
  static constexpr std::uint64_t never = ~UINT64_C(0);
  struct piece {
    std::size_t bytes;
    std::size_t alignment;
    bool operator==(const piece&) const = default;
  };

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::scoped_lock lock(mutex_);
    if (left_ == 0) throw std::bad_alloc();
    if (left_ != never) --left_;
    void* const given = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    given_[given] = {bytes, alignment};
    return given;
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    const std::scoped_lock lock(mutex_);
    const auto found = given_.find(at);
    ASSERT_NE(found, given_.end());
    EXPECT_EQ(found->second, (piece{bytes, alignment}));
    given_.erase(found);
    std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  mutable std::mutex mutex_;
  std::unordered_map<void*, piece> given_;
  std::uint64_t left_ = never;
};

// Nodes of 6, which are split and joined often.
template <class K, class Synchronisation = bt::optimistic>
struct in_resource : bt_policies<K> {
  using allocator = std::pmr::polymorphic_allocator<>;
  using synchronisation = Synchronisation;
  static constexpr std::size_t leaf_capacity = 6;
  static constexpr std::size_t internal_capacity = 6;
};

template <class T>
T made(int number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(30, '.') + std::to_string(1000 + number);
  } else {
    return static_cast<T>(number);
  }
}

// Words, boxes and records, and nodes that are replaced more often.
template <class Map>
class bt_map_memory : public testing::Test {};
using number = std::uint64_t;
using maps =
    testing::Types<bt_map<number, number, in_resource<number>>,
                   bt_map<number, std::string, in_resource<number, bt::optimistic_replacing>>,
                   bt_map<std::string, number, in_resource<std::string, bt::coarse<std::mutex>>>,
                   bt_map<std::string, std::string, in_resource<std::string>>>;
TYPED_TEST_SUITE(bt_map_memory, maps);

template <class Map>
using model_of = std::map<typename Map::key_type, typename Map::mapped_type>;

template <class Map>
void expect_sound(const Map& map, const model_of<Map>& model) {
  model_of<Map> contents;
  map.for_each([&](const auto& key, const auto& value) { contents.emplace(key, value); });
  EXPECT_EQ(contents, model);
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
}

// Everything that takes memory or gives it back. `model` has the calls that were made: one that
// throws has changed nothing.
template <class Map>
void use(Map& map, model_of<Map>& model) {
  using K = typename Map::key_type;
  using V = typename Map::mapped_type;
  auto handle = map.attach();
  constexpr int keys = 60;
  for (int i = 0; i < keys; ++i) {
    const K key = made<K>(i * 7 % keys);
    handle.insert(key, made<V>(i));
    model.emplace(key, made<V>(i));
  }
  for (int i = 0; i < keys; i += 2) {
    handle.insert_or_assign(made<K>(i), made<V>(2 * i));
    model[made<K>(i)] = made<V>(2 * i);
    handle.update(made<K>(i + 1), [](const V&) { return made<V>(1); });
    model[made<K>(i + 1)] = made<V>(1);
  }
  expect_sound(*handle.clone(), model);
  for (int i = 0; i < keys; ++i) {
    if (i % 6 == 0) continue;
    handle.erase(made<K>(i));
    model.erase(made<K>(i));
  }
  handle.snapshot([](const K&, const V&) {});
}

TYPED_TEST(bt_map_memory, comes_back_at_the_end) {
  counting_resource resource;
  {
    TypeParam map(&resource);
    EXPECT_EQ(map.get_allocator().resource(), &resource);
    model_of<TypeParam> model;
    for (int round = 0; round < 3; ++round) use(map, model);
    expect_sound(map, model);
    EXPECT_GT(resource.bytes(), 0U);
  }
  EXPECT_EQ(resource.bytes(), 0U);
}

TYPED_TEST(bt_map_memory, comes_back_after_clear_and_load_sorted) {
  counting_resource resource;
  TypeParam map(&resource);
  const std::size_t empty = resource.bytes();
  for (int round = 0; round < 3; ++round) {
    model_of<TypeParam> model;
    use(map, model);
    map.clear();
    EXPECT_EQ(resource.bytes(), empty);
    map.load_sorted(model.begin(), model.end());
    expect_sound(map, model);
    EXPECT_GE(map.shape().bytes, resource.bytes());  // strings have memory of their own
    EXPECT_THROW(map.load_sorted(model.begin(), model.end()), std::logic_error);
    map.clear();
    EXPECT_EQ(resource.bytes(), empty);
    std::vector<std::pair<typename TypeParam::key_type, typename TypeParam::mapped_type>> unsorted(
        model.begin(), model.end());
    unsorted.push_back(unsorted.front());
    EXPECT_THROW(map.load_sorted(unsorted.begin(), unsorted.end()), std::invalid_argument);
    EXPECT_EQ(resource.bytes(), empty);
  }
}

TYPED_TEST(bt_map_memory, may_be_missing_at_any_time) {
  constexpr std::uint64_t at_most = 100'000;
  bool is_done = false;
  for (std::uint64_t n = 0; !is_done && n < at_most; ++n) {
    counting_resource resource;
    resource.fail_after(n);
    std::optional<TypeParam> map;
    model_of<TypeParam> model;
    try {
      map.emplace(&resource);
      use(*map, model);
      map->clear();
      model.clear();
      for (int i = 0; i < 100; ++i) {
        model.emplace(made<typename TypeParam::key_type>(i),
                      made<typename TypeParam::mapped_type>(i));
      }
      const auto sorted = std::exchange(model, {});
      map->load_sorted(sorted.begin(), sorted.end());
      model = sorted;
      is_done = true;
    } catch (const std::bad_alloc&) {
      resource.never_fail();
    }
    if (!map) continue;
    resource.never_fail();
    expect_sound(*map, model);
    use(*map, model);
    expect_sound(*map, model);
  }
  EXPECT_TRUE(is_done);
}

TYPED_TEST(bt_map_memory, comes_from_pools_and_buffers) {
  counting_resource resource;
  {
    std::pmr::unsynchronized_pool_resource pool(&resource);
    std::pmr::monotonic_buffer_resource buffer(&resource);
    for (std::pmr::memory_resource* const from :
         {static_cast<std::pmr::memory_resource*>(&pool),
          static_cast<std::pmr::memory_resource*>(&buffer)}) {
      TypeParam map(from);
      model_of<TypeParam> model;
      use(map, model);
      expect_sound(map, model);
    }
  }
  EXPECT_EQ(resource.bytes(), 0U);
}

TYPED_TEST(bt_map_memory, is_freed_by_whichever_thread_reclaims_it) {
  using K = typename TypeParam::key_type;
  using V = typename TypeParam::mapped_type;
  counting_resource resource;
  std::pmr::synchronized_pool_resource pool(&resource);
  {
    TypeParam map(&pool);
    {
      std::vector<std::jthread> threads;
      for (int self = 0; self < 3; ++self) {
        threads.emplace_back([&map, self] {
          auto handle = map.attach();
          for (int i = 0; i < 2000; ++i) {
            const K key = made<K>((i * 7 + self) % 90);
            if (i % 3 == self) {
              handle.erase(key);
            } else {
              handle.insert_or_assign(key, made<V>(i));
            }
          }
        });
      }
    }
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
  }
  pool.release();
  EXPECT_EQ(resource.bytes(), 0U);
}

// --- alignment ----------------------------------------------------------------------------------

struct alignas(256) wide_key {
  int number;
  friend bool operator<(const wide_key& a, const wide_key& b) { return a.number < b.number; }
};
struct alignas(128) wide_value {
  int number;
};

template <class Map>
void expect_aligned(Map& map) {
  auto handle = map.attach();
  for (int i = 0; i < 100; ++i) {
    handle.insert(typename Map::key_type{i}, {i});
    handle.insert_or_assign(typename Map::key_type{i / 2}, {i});
  }
  int visits = 0;
  // References are to what the tree holds.
  handle.range(typename Map::key_type{0}, typename Map::key_type{100},
               [&visits](const auto& /*key*/, const wide_value& value) {
                 ++visits;
                 EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&value) % alignof(wide_value), 0U);
               });
  EXPECT_EQ(visits, 100);
}

TEST(bt_map_alignment, may_be_greater_than_that_of_a_line) {
  bt_map<wide_key, wide_value> records;
  expect_aligned(records);
  bt_map<int, wide_value> boxes;
  expect_aligned(boxes);
  counting_resource resource;
  bt_map<wide_key, wide_value, in_resource<wide_key>> records_in_resource(&resource);
  expect_aligned(records_in_resource);
  bt_map<int, wide_value, in_resource<int>> boxes_in_resource(&resource);
  expect_aligned(boxes_in_resource);
}

// --- allocators ---------------------------------------------------------------------------------

std::atomic<std::size_t> in_use{0};

// Without state.
template <class T>
struct plain_allocator {
  using value_type = T;
  plain_allocator() = default;
  template <class Other>
  explicit plain_allocator(const plain_allocator<Other>& /*other*/) {}
  T* allocate(std::size_t objects) {
    in_use += objects * sizeof(T);
    return std::allocator<T>().allocate(objects);
  }
  void deallocate(T* at, std::size_t objects) {
    in_use -= objects * sizeof(T);
    std::allocator<T>().deallocate(at, objects);
  }
  friend bool operator==(const plain_allocator&, const plain_allocator&) = default;
};
struct plain : bt_policies<number> {
  using allocator = plain_allocator<int>;
};

TEST(bt_map_allocator, without_state_costs_nothing) {
  {
    const bt_map<number, number> usual;
    bt_map<number, number, plain> map;
    static_assert(sizeof(map) == sizeof(usual));
    EXPECT_EQ(map.shape().bytes, usual.shape().bytes);
    EXPECT_EQ(in_use, map.shape().bytes);
    std::map<number, number> model;
    use(map, model);
    expect_sound(map, model);
  }
  EXPECT_EQ(in_use, 0U);
}

TEST(bt_map_allocator, with_state_is_in_each_node) {
  struct usual_nodes : bt_policies<number> {
    using allocator = std::pmr::polymorphic_allocator<>;
  };
  counting_resource resource;
  bt_map<number, number, usual_nodes> map(&resource);
  EXPECT_EQ(map.shape().bytes, 768U + 64U);
  std::map<number, number> model;
  for (number key = 0; key < 1000; ++key) model.emplace(key, key);
  map.load_sorted(model.begin(), model.end());
  EXPECT_EQ(map.shape().bytes, resource.bytes());
}

TEST(bt_map_allocator, of_a_clone_is_what_copies_of_containers_have) {
  counting_resource resource;
  bt_map<number, number, in_resource<number>> map(&resource);
  auto handle = map.attach();
  handle.insert(1, 2);
  const auto copy = handle.clone();
  EXPECT_EQ(copy->get_allocator().resource(), std::pmr::get_default_resource());
  EXPECT_EQ(copy->attach().find(1), 2U);
}

// --- seeds --------------------------------------------------------------------------------------

std::vector<number> guesses(std::uint64_t seed, int handles_before) {
  bt_map<number, number, in_resource<number>> map({}, seed);
  for (int i = 0; i < handles_before; ++i) static_cast<void>(map.attach());
  auto handle = map.attach();
  // Unevenly filled, so that guesses differ.
  for (number key = 0; key < 3000; ++key) handle.insert(key * key % 4001, key);
  std::vector<number> all;
  for (int i = 0; i < 10; ++i) all.push_back(handle.approximate_size());
  return all;
}

TEST(bt_map_seed, decides_what_each_handle_draws) {
  EXPECT_EQ(guesses(7, 0), guesses(7, 0));
  EXPECT_EQ(guesses(7, 2), guesses(7, 2));
  EXPECT_NE(guesses(7, 0), guesses(7, 1));
  EXPECT_NE(guesses(7, 0), guesses(8, 0));
}

}  // namespace
}  // namespace assay
