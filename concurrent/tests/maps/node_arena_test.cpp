// The arena by itself, also under sanitizers, and as the default of maps, where it is that.

#include "assay/maps/node_arena.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/abi.h"
#include "assay/base/sanitizers.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/node_allocator.h"
#include "assay/maps/radix_map.h"

namespace assay {
namespace {

constexpr std::size_t chunk = std::size_t{2} << 20U;
constexpr bool is_sanitized = ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER;

std::size_t in_use() {
  node_arena::give_back();
  return node_arena::used().bytes_in_use;
}
std::size_t mapped() { return node_arena::used().bytes_mapped; }

// Written full of a number, which is checked when it is freed.
class block {
 public:
  block(std::size_t bytes, unsigned char fill)
      : at_(static_cast<unsigned char*>(node_arena::allocate(bytes))), bytes_(bytes), fill_(fill) {
    std::memset(at_, fill, bytes);
  }
  void free() const {
    bool is_whole = true;
    for (std::size_t i = 0; i < bytes_; ++i) is_whole &= at_[i] == fill_;
    EXPECT_TRUE(is_whole) << bytes_ << " bytes";
    node_arena::deallocate(at_, bytes_);
  }
  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(at_); }

 private:
  unsigned char* at_;
  std::size_t bytes_;
  unsigned char fill_;
};

TEST(node_arena, has_blocks_of_all_sizes_aligned_as_objects_are) {
  const std::size_t before = in_use();
  std::vector<block> all;
  for (std::size_t bytes = 1; bytes <= node_arena::most_bytes; ++bytes) {
    all.emplace_back(bytes, static_cast<unsigned char>(bytes));
    const std::size_t power = bytes & ~(bytes - 1);
    EXPECT_EQ(all.back().address() % std::min(power, node_arena::most_alignment), 0U) << bytes;
  }
  for (const block& each : all) each.free();
  EXPECT_EQ(in_use(), before);
}

// Each thread frees what any of them has allocated: blocks are neither lost nor in two hands.
TEST(node_arena, serves_many_threads) {
  const std::size_t before = in_use();
  std::mutex lock;
  std::vector<block> shared;
  {
    std::vector<std::jthread> threads;
    for (unsigned self = 1; self <= 4; ++self) {
      threads.emplace_back([&, self] {
        std::mt19937 draw(self);
        std::vector<block> own;
        for (int round = 0; round < 300; ++round) {
          for (int i = 0; i < 20; ++i) {
            const std::size_t bytes =
                draw() % 4 == 0 ? 1 + draw() % node_arena::most_bytes : 1 + draw() % 100;
            own.emplace_back(bytes, static_cast<unsigned char>(self));
          }
          {
            const std::scoped_lock held(lock);
            shared.insert(shared.end(), own.begin(), own.end());
            std::shuffle(shared.begin(), shared.end(), draw);
            const auto left = static_cast<std::ptrdiff_t>(shared.size() / 2);
            own.assign(shared.begin() + left, shared.end());
            shared.erase(shared.begin() + left, shared.end());
          }
          for (const block& each : own) each.free();
          own.clear();
        }
      });
    }
  }
  for (const block& each : shared) each.free();
  EXPECT_EQ(in_use(), before);
}

TEST(node_arena, does_not_grow_where_one_thread_allocates_and_another_frees) {
  constexpr std::size_t blocks = 500;
  std::size_t first = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<block> made;
    std::thread([&made] {
      for (std::size_t i = 0; i < blocks; ++i) made.emplace_back(768, 1);
    }).join();
    std::thread([&made] {
      for (const block& each : made) each.free();
    }).join();
    if (round == 0) first = mapped();
  }
  EXPECT_LE(mapped(), first);
}

TEST(node_arena, gives_chunks_back_that_are_free) {
  const std::size_t before = in_use();
  std::vector<block> all;
  for (std::size_t i = 0; i < 8 * chunk / 1024; ++i) all.emplace_back(1024, 1);
  const std::size_t most = mapped();
  EXPECT_GE(most, 8 * chunk);
  std::shuffle(all.begin(), all.end(), std::mt19937(1));
  for (const block& each : all) each.free();
  EXPECT_EQ(in_use(), before);
  EXPECT_LE(mapped() + 6 * chunk, most);
  // What is kept serves other sizes.
  const block other(64, 1);
  EXPECT_LE(mapped() + 6 * chunk, most);
  other.free();
}

TEST(node_arena, fills_the_gaps_between_blocks_in_use) {
  std::vector<block> all;
  for (std::size_t i = 0; i < 4 * chunk / 1024; ++i) all.emplace_back(1024, 1);
  const std::size_t most = mapped();
  for (std::size_t i = 0; i < all.size(); i += 2) all[i].free();
  for (std::size_t i = 0; i < all.size(); i += 2) all[i] = block(1024, 2);
  EXPECT_EQ(mapped(), most);
  for (const block& each : all) each.free();
}

TEST(node_arena, has_back_what_a_thread_kept_when_it_ends) {
  const std::size_t before = in_use();
  std::thread([] {
    for (std::size_t bytes = 1; bytes <= node_arena::most_bytes; bytes += 50) {
      block(bytes, 1).free();
    }
  }).join();
  EXPECT_EQ(in_use(), before);
}

// Made before the thread's first block, so that it ends after what the thread kept went back.
struct ends_late {
  ends_late() = default;
  ends_late(const ends_late&) = delete;
  ends_late& operator=(const ends_late&) = delete;
  ~ends_late() {
    held->free();
    block(100, 3).free();
  }
  std::unique_ptr<block> held;
};
TEST(node_arena, is_there_for_destructors_at_a_threads_end) {
  const std::size_t before = in_use();
  std::thread([] {
    thread_local ends_late last;
    last.held = std::make_unique<block>(100, 2);
  }).join();
  EXPECT_EQ(in_use(), before);
}

TEST(node_arena, is_there_in_a_forked_child) {
  std::atomic<bool> is_over{false};
  std::vector<std::jthread> threads;
  for (unsigned self = 1; self <= 2; ++self) {
    threads.emplace_back([&is_over, self] {
      while (!is_over) {
        for (std::size_t bytes = 64; bytes <= 8192; bytes *= 2) {
          block(bytes, static_cast<unsigned char>(self)).free();
        }
        node_arena::give_back();
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::size_t bytes = 1; bytes <= node_arena::most_bytes; ++bytes) {
        node_arena::deallocate(node_arena::allocate(bytes), bytes);
      }
      node_arena::give_back();
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  is_over = true;
}

TEST(node_arena, reports_that_memory_has_run_out) {
  if (is_sanitized) GTEST_SKIP() << "the sanitizer needs memory itself";
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &usual), 0);
  std::vector<void*> all(3 * chunk / 8192 + mapped() / 8192);  // more than there is already
  std::size_t had = 0;
  const rlimit none{.rlim_cur = 0, .rlim_max = usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
  bool has_failed = false;
  try {
    for (void*& each : all) {
      each = node_arena::allocate(8192);
      ++had;
    }
  } catch (const std::bad_alloc&) {
    has_failed = true;
  }
  const std::size_t used = node_arena::used().bytes_in_use;
  bool has_failed_again = false;
  try {
    all[had] = node_arena::allocate(8192);
  } catch (const std::bad_alloc&) {
    has_failed_again = true;
  }
  EXPECT_EQ(node_arena::used().bytes_in_use, used);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &usual), 0);
  EXPECT_TRUE(has_failed);
  EXPECT_TRUE(has_failed_again);
  all[had] = node_arena::allocate(8192);  // as soon as there is memory again
  for (std::size_t i = 0; i <= had; ++i) node_arena::deallocate(all[i], 8192);
}

using node_arena_death = testing::Test;
TEST(node_arena_death, is_the_end_of_whoever_frees_a_block_twice) {
  if (!misuse::checks) GTEST_SKIP() << "a build without checks of misuse";
  EXPECT_DEATH(
      {
        void* const freed = node_arena::allocate(64);
        node_arena::deallocate(freed, 64);
        node_arena::deallocate(freed, 64);
        node_arena::give_back();
      },
      "a node is freed twice");
}

// --- the allocator -------------------------------------------------------------------------------

template <class T>
void allocate_and_free(std::size_t objects) {
  node_allocator<T> from;
  T* const made = from.allocate(objects);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made) % alignof(T), 0U);
  std::memset(static_cast<void*>(made), 1, objects * sizeof(T));
  from.deallocate(made, objects);
}
TEST(node_allocator, has_objects_of_any_size_and_alignment) {
  struct large {
    std::array<char, node_arena::most_bytes + 1> bytes;
  };
  struct alignas(4096) page {
    char byte;
  };
  for (const std::size_t objects : {1U, 2U, 1000U}) {
    allocate_and_free<char>(objects);
    allocate_and_free<large>(objects);
    allocate_and_free<page>(objects);
  }
}

template <class Map>
class map_in_arena : public testing::Test {};
using maps =
    testing::Types<bt_map<std::uint64_t, std::uint64_t>, bt_map<std::string, std::string>,
                   bt_map<std::uint64_t, std::array<std::uint64_t, 3>>,
                   radix_map<std::uint64_t, std::uint64_t>, radix_map<std::string, std::string>,
                   radix_map<std::string, std::uint64_t>>;
TYPED_TEST_SUITE(map_in_arena, maps);

template <class T>
T made(std::uint64_t number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return "a string that is allocated " + std::to_string(number);
  } else if constexpr (std::is_integral_v<T>) {
    return number;
  } else {
    return {number};
  }
}

TYPED_TEST(map_in_arena, leaves_nothing_there) {
  using K = typename TypeParam::key_type;
  using V = typename TypeParam::mapped_type;
  const std::size_t before = in_use();
  {
    TypeParam map;
    {
      std::vector<std::jthread> threads;
      for (unsigned self = 1; self <= 4; ++self) {
        threads.emplace_back([&map, self] {
          std::mt19937 draw(self);
          for (int i = 0; i < 3000; ++i) {
            const K key = made<K>(draw() % 500);
            if (draw() % 2 == 0) {
              map.insert_or_assign(key, made<V>(draw()));
            } else {
              map.erase(key);
            }
          }
        });
      }
    }
    EXPECT_EQ(map.broken_invariant(), std::nullopt);
    if (!is_sanitized) {
      EXPECT_GE(in_use(), before + map.shape().bytes.value_or(0) / 2);
    }
    map.clear();
    EXPECT_LE(in_use(), before + 32 * node_arena::most_bytes);
  }
  EXPECT_EQ(in_use(), before);
}

TEST(maps_in_arena, are_small_if_they_are_empty) {
  const std::size_t before = mapped();
  std::vector<std::unique_ptr<bt_map<int, int>>> all(1000);
  for (auto& each : all) each = std::make_unique<bt_map<int, int>>();
  EXPECT_LE(mapped(), before + chunk);
}

// Ends after main, and after the main thread's own objects.
bt_map<int, int>& map_of_program() {
  static bt_map<int, int> map;
  return map;
}
TEST(maps_in_arena, may_end_with_the_program) {
  for (int key = 0; key < 1000; ++key) map_of_program().insert(key, key);
}

}  // namespace
}  // namespace assay
