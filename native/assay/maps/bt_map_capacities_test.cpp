// bt_map with nodes of every capacity that it may have, 6 to 64: as a set, and sound in between.
// Compiled with few optimisations, as there are many of them; bt_map_test has some of them with all
// operations, policies and kinds of keys.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/maps/bt_map.h"
#include "assay/maps/trees_test_fixture.h"

namespace assay {
namespace {

using trees_test::slowdown;

constexpr std::size_t least = 6;
constexpr std::size_t greatest = 64;

// A map of some capacities, and the thread's handle of it.
class sized_map {
 public:
  sized_map() = default;
  sized_map(const sized_map&) = delete;
  sized_map& operator=(const sized_map&) = delete;
  virtual ~sized_map() = default;
  virtual bool insert(std::uint64_t key) = 0;
  virtual bool erase(std::uint64_t key) = 0;
  virtual bool contains(std::uint64_t key) = 0;
  [[nodiscard]] virtual std::vector<std::uint64_t> keys() const = 0;
  [[nodiscard]] virtual std::optional<std::string> broken_invariant() const = 0;
};

template <std::size_t Leaf, std::size_t Internal, class Synchronisation>
class sized_map_of final : public sized_map {
 public:
  bool insert(std::uint64_t key) override { return handle_.insert(key, key); }
  bool erase(std::uint64_t key) override { return handle_.erase(key); }
  bool contains(std::uint64_t key) override { return handle_.contains(key); }
  [[nodiscard]] std::vector<std::uint64_t> keys() const override {
    std::vector<std::uint64_t> met;
    map_.for_each([&](std::uint64_t key, std::uint64_t) { met.push_back(key); });
    return met;
  }
  [[nodiscard]] std::optional<std::string> broken_invariant() const override {
    return map_.broken_invariant();
  }

 private:
  using map = bt_map<std::uint64_t, std::uint64_t, reclaim::epochs, std::less<>, Synchronisation,
                     bt_capacities<Leaf, Internal>>;
  map map_;
  typename map::handle handle_ = map_.attach();
};

struct sizes {
  std::size_t leaf;
  std::size_t internal;
  std::unique_ptr<sized_map> (*make)();
};
template <std::size_t Leaf, std::size_t Internal, class Synchronisation>
constexpr sizes sizes_of() {
  return {Leaf, Internal, []() -> std::unique_ptr<sized_map> {
            return std::make_unique<sized_map_of<Leaf, Internal, Synchronisation>>();
          }};
}
// Each capacity once of leaves and once of internal nodes, of neighbouring numbers and far ones,
// and parents that are changed where they are or replaced.
template <std::size_t... I>
constexpr auto all_sizes(std::index_sequence<I...> /*numbers*/) {
  return std::array{
      sizes_of<least + I, greatest - I * 7 % (greatest - least + 1),
               std::conditional_t<I % 2 == 0, bt::optimistic, bt::optimistic_replacing>>()...};
}

class bt_map_of_capacities : public testing::TestWithParam<sizes> {};
INSTANTIATE_TEST_SUITE_P(
    from_6_to_64, bt_map_of_capacities,
    testing::ValuesIn(all_sizes(std::make_index_sequence<greatest - least + 1>())),
    [](const auto& of) {
      return "leaf_" + std::to_string(of.param.leaf) + "_internal_" +
             std::to_string(of.param.internal);
    });

void expect_same(const sized_map& map, const std::set<std::uint64_t>& model) {
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
  EXPECT_EQ(map.keys(), std::vector<std::uint64_t>(model.begin(), model.end()));
}

TEST_P(bt_map_of_capacities, holds_what_a_set_does) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 draw(seed);
  const auto map = GetParam().make();
  std::set<std::uint64_t> model;
  // Enough for several internal nodes if they are of moderate size.
  const std::uint64_t keys = 4 * GetParam().leaf * GetParam().internal / slowdown;
  for (const unsigned erases : {1U, 4U, 7U, 2U, 8U}) {
    const std::uint64_t operations = 3 * keys;
    for (std::uint64_t i = 0; i < operations; ++i) {
      const std::uint64_t key = draw() % keys;
      if (draw() % 8 < erases) {
        ASSERT_EQ(map->erase(key), model.erase(key) == 1);
      } else {
        ASSERT_EQ(map->insert(key), model.insert(key).second);
      }
      const std::uint64_t sought = draw() % keys;
      ASSERT_EQ(map->contains(sought), model.contains(sought));
      if (i % (operations / 4) == 0) expect_same(*map, model);
    }
    expect_same(*map, model);
  }
}

TEST_P(bt_map_of_capacities, grows_and_shrinks_in_order) {
  const auto map = GetParam().make();
  std::set<std::uint64_t> model;
  // Splits in order leave halves: so the tree has three levels of internal nodes, or four.
  const std::uint64_t keys = 2 * GetParam().leaf * GetParam().internal / slowdown;
  for (const bool ascending : {true, false}) {
    for (std::uint64_t i = 0; i < keys; ++i) {
      const std::uint64_t key = ascending ? i : keys - 1 - i;
      ASSERT_TRUE(map->insert(key));
      model.insert(key);
      if (i % (keys / 4) == 0) expect_same(*map, model);
    }
    expect_same(*map, model);
    for (std::uint64_t i = 0; i < keys; ++i) {
      ASSERT_TRUE(map->erase(i));
      model.erase(i);
      if (i % (keys / 4) == 0) expect_same(*map, model);
    }
    expect_same(*map, model);
  }
}

}  // namespace
}  // namespace assay
