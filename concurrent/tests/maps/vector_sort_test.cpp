#include "assay/maps/vector_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "assay/base/instruction_set.h"
#include "assay/random/splitmix64.h"

namespace assay::vector_sort {
namespace {

template <class Key>
struct item {
  Key key;
  std::uint16_t value;
  friend bool operator==(const item&, const item&) = default;
};

static_assert(serves<item<std::int32_t>> && serves<item<std::uint64_t>>);
static_assert(!serves<item<std::int16_t>> && !serves<item<double>> && !serves<item<void*>>);

template <class Key>
class vector_sort_of : public testing::Test {};
using keys = testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(vector_sort_of, keys);

// Keys that are far apart or neighbours, and among them the least and the greatest of their type.
template <class Key>
std::vector<item<Key>> items_of(std::size_t size, random::splitmix64& draw) {
  std::set<Key> drawn;
  const auto base = static_cast<Key>(draw());
  while (drawn.size() < size) {
    switch (draw() % 4) {
      case 0:
        drawn.insert(std::numeric_limits<Key>::min());
        break;
      case 1:
        drawn.insert(std::numeric_limits<Key>::max());
        break;
      case 2:
        drawn.insert(static_cast<Key>(static_cast<std::uint64_t>(base) + draw() % 100));
        break;
      default:
        drawn.insert(static_cast<Key>(draw()));
    }
  }
  std::vector<item<Key>> items;
  for (const Key key : drawn) {
    items.push_back({.key = key, .value = static_cast<std::uint16_t>(items.size())});
  }
  for (std::size_t i = size; i > 1; --i) std::swap(items[i - 1], items[draw() % i]);
  return items;
}

#if defined(__x86_64__)
TYPED_TEST(vector_sort_of, does_what_std_sort_does) {
  random::splitmix64 draw(1);
  for (const auto set : {host::instruction_set::avx2, host::instruction_set::avx512}) {
    if (set > host::best_instruction_set()) GTEST_SKIP() << "this processor lacks the instructions";
    for (std::size_t size = 0; size <= most; ++size) {
      for (int round = 0; round < 20; ++round) {
        const auto items = items_of<TypeParam>(size, draw);
        auto wanted = items;
        std::ranges::sort(wanted, {}, &item<TypeParam>::key);
        std::vector<item<TypeParam>> sorted(size);
        sort(set, items.data(), size, sorted.data());
        ASSERT_EQ(sorted, wanted);
      }
    }
  }
}
#endif

}  // namespace
}  // namespace assay::vector_sort
