// What maps must not be given, for all of them: what builds with checks say of handles that are
// misused, and types whose alignment is above that of a line. (Search trees: trees_test.cpp;
// bt_map's alignments: bt_map_memory_test.cpp.)

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "assay/base/abi.h"
#include "assay/maps/bt_map.h"
#include "assay/maps/elb_multimap.h"
#include "assay/maps/elb_priority_queue.h"
#include "assay/maps/elb_tree.h"
#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/ticket_bst.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"
#include "assay/reclaim/none.h"

namespace assay {
namespace {

#if ASSAY_CHECKS

using number = std::uint32_t;

// --- misused handles -----------------------------------------------------------------------------

// Some call of a handle, of each container.
template <class Handle>
void call(Handle& handle) {
  if constexpr (requires { handle.try_pop(); }) {
    static_cast<void>(handle.try_pop());
  } else if constexpr (requires { handle.search(1, 1); }) {
    static_cast<void>(handle.search(1, 1));
  } else {
    static_cast<void>(handle.contains(1));
  }
}

template <class Map>
class misused_handle : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
using containers = testing::Types<bt_map<number, number>, bt_map<number, std::string>,
                                  elb_tree<std::uint64_t, reclaim::hazard_pointers>,
                                  elb_tree<std::uint64_t, reclaim::epochs>,
                                  elb_multimap<number, number>, elb_priority_queue<number>>;
TYPED_TEST_SUITE(misused_handle, containers);

TYPED_TEST(misused_handle, by_another_thread) {
  TypeParam map;
  auto handle = map.attach();
  EXPECT_DEATH(std::thread([&] { call(handle); }).join(), "assay: .* by another thread");
}
TYPED_TEST(misused_handle, after_a_move) {
  TypeParam map;
  auto handle = map.attach();
  const auto taken = std::move(handle);
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-*): what is tested
  EXPECT_DEATH(call(handle), "assay: .* moved from");
}
TYPED_TEST(misused_handle, after_its_map) {
  EXPECT_DEATH(
      {
        auto map = std::make_unique<TypeParam>();
        const auto handle = map->attach();
        map.reset();
      },
      "assay: .* before its handles");
}

// --- calls within a call of the same handle
// -------------------------------------------------------

constexpr const char* within_a_call = "assay: a handle is called from within a call to it";

template <class V>
void use_within_calls_of_bt_map() {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  using handle = typename bt_map<number, V>::handle;
  using inner_call = std::function<void()>;
  bt_map<number, V> map;
  handle outer = map.attach();
  outer.insert(1, V{});
  for (const auto& calling :
       {+[](handle& at, const inner_call& inner) { at.visit(1, [&](const auto&...) { inner(); }); },
        +[](handle& at, const inner_call& inner) {
          at.visit_all([&](const auto&...) { inner(); });
        },
        +[](handle& at, const inner_call& inner) {
          at.visit_all_descending([&](const auto&...) { inner(); });
        },
        +[](handle& at, const inner_call& inner) {
          at.visit_range(0, 9, [&](const auto&...) { inner(); });
        },
        +[](handle& at, const inner_call& inner) {
          at.visit_range_descending(0, 9, [&](const auto&...) { inner(); });
        },
        +[](handle& at, const inner_call& inner) {
          at.emplace_and_visit(1, [&](const auto&...) { inner(); });
        },
        +[](handle& at, const inner_call& inner) {
          at.update(1, [&](const V& held) {
            inner();
            return held;
          });
        },
        +[](handle& at, const inner_call& inner) {
          at.erase_if(1, [&](const V&) {
            inner();
            return false;
          });
        }}) {
    EXPECT_DEATH(calling(outer, [&] { static_cast<void>(outer.contains(1)); }), within_a_call);
    // By another handle, or without one, it is no mistake.
    handle other = map.attach();
    int calls = 0;
    calling(outer, [&] { calls += other.contains(1) && map.contains(1) ? 1 : 0; });
    EXPECT_EQ(calls, 1);
  }
}
TEST(misused_handle_of_bt_map, within_a_call) {
  use_within_calls_of_bt_map<number>();
  use_within_calls_of_bt_map<std::string>();
}

template <class Map, class Visit>
void use_within_a_visit(const Visit& visit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Map map;
  auto outer = map.attach();
  visit(outer, [] {});
  EXPECT_DEATH(visit(outer, [&] { call(outer); }), within_a_call);
  auto other = map.attach();
  int calls = 0;
  visit(outer, [&] {
    call(other);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}
template <class Reclaim>
void use_within_visits_of_elb_trees() {
  use_within_a_visit<elb_tree<std::uint64_t, Reclaim>>([](auto& at, const auto& inner) {
    at.insert(1);
    at.visit(0, 9, [&](std::uint64_t) { inner(); });
  });
  use_within_a_visit<elb_multimap<number, number, Reclaim>>([](auto& at, const auto& inner) {
    if (!at.contains(1)) at.insert(1, 1);
    at.visit(1, [&](number) { inner(); });
  });
}
TEST(misused_handle_of_elb_trees, within_a_visit) {
  use_within_visits_of_elb_trees<reclaim::hazard_pointers>();
  use_within_visits_of_elb_trees<reclaim::epochs>();
}

#endif

// --- alignment -----------------------------------------------------------------------------------

template <class T>
void expect_aligned(const T& at) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&at) % alignof(T), 0U);
}
struct alignas(256) wide {
  int number;
};
struct by_number {
  bool operator()(const wide& a, const wide& b) const {
    expect_aligned(a);
    expect_aligned(b);
    return a.number < b.number;
  }
};

template <class Map>
class search_tree_of_wide_types : public ::testing::Test {};
using trees_of_wide_types =
    testing::Types<natarajan_mittal_bst<wide, wide, reclaim::epochs, by_number>,
                   natarajan_mittal_bst<wide, wide, reclaim::none, by_number>,
                   ticket_bst<wide, wide, reclaim::epochs, by_number>,
                   ticket_bst<wide, wide, reclaim::hazard_pointers, by_number>>;
TYPED_TEST_SUITE(search_tree_of_wide_types, trees_of_wide_types);

TYPED_TEST(search_tree_of_wide_types, keeps_their_alignment) {
  TypeParam map;
  auto handle = map.attach();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(handle.insert({i * 7 % 100}, {i}));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(handle.erase({i}));
  int visits = 0;
  map.for_each([&](const wide& key, const wide& value) {
    expect_aligned(key);
    expect_aligned(value);
    EXPECT_EQ(handle.find(key)->number, value.number);
    ++visits;
  });
  EXPECT_EQ(visits, 50);
}

}  // namespace
}  // namespace assay
