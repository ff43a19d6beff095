// bt_map with nodes of the capacities that it may have, 6 to 64: as a set, and sound in between.
// ASSAY_CAPACITIES says how many of these: 9 as a rule, all 59 in the soak, as they take two
// minutes to compile. bt_map_test has some of them with all operations, policies and kinds of keys.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/maps/bt_map.h"
#include "assay/subject/any_map.h"
#include "assay/subject/erased_map.h"
#include "tests/maps/bt_map_test_subject.h"
#include "tests/maps/trees_test_fixture.h"

namespace assay {
namespace {

using bt_test::number;
using trees_test::slowdown;

constexpr std::size_t least = 6;
constexpr std::size_t greatest = 64;

// With no more than every map has, so that no more is compiled.
template <class Map>
class bare : public Map {
 public:
  class handle {
   public:
    explicit handle(Map& of) : handle_(of.attach()) {}
    bool insert(number key, number value) { return handle_.insert(key, value); }
    bool erase(number key) { return handle_.erase(key); }
    std::optional<number> find(number key) { return handle_.find(key); }

   private:
    typename Map::handle handle_;
  };
  handle attach() { return handle(*this); }
};

struct sizes {
  std::size_t leaf;
  std::size_t internal;
  std::unique_ptr<subject::any_map> (*make)();
};
template <std::size_t Leaf, std::size_t Internal, class Synchronisation>
constexpr sizes sizes_of() {
  return {
      Leaf, Internal, []() -> std::unique_ptr<subject::any_map> {
        using map = bare<
            bt_map<number, number,
                   bt_test::policies<number, Synchronisation, bt_test::capacities<Leaf, Internal>,
                                     reclaim::epochs, std::less<>>>>;
        return std::make_unique<subject::erased_map<map, number, number, subject::loops::none>>(
            subject::map_hints{});
      }};
}
// As many capacities, evenly from the least to the greatest, each once of leaves and once of
// internal nodes, of neighbouring numbers and far ones, and parents that are changed where they are
// or replaced.
template <std::size_t... I>
constexpr auto all_sizes(std::index_sequence<I...> /*numbers*/) {
  constexpr auto capacity = [](std::size_t i) {
    return least + i * (greatest - least) / (ASSAY_CAPACITIES - 1);
  };
  return std::array{
      sizes_of<capacity(I), capacity(ASSAY_CAPACITIES - 1 - I * 7 % ASSAY_CAPACITIES),
               std::conditional_t<I % 2 == 0, bt::optimistic, bt::optimistic_replacing>>()...};
}

class bt_map_of_capacities : public testing::TestWithParam<sizes> {};
INSTANTIATE_TEST_SUITE_P(from_6_to_64, bt_map_of_capacities,
                         testing::ValuesIn(all_sizes(std::make_index_sequence<ASSAY_CAPACITIES>())),
                         [](const auto& of) {
                           return "leaf_" + std::to_string(of.param.leaf) + "_internal_" +
                                  std::to_string(of.param.internal);
                         });

void expect_same(const bt_test::subject& map, const subject::elements& model) {
  EXPECT_EQ(map.broken_invariant(), std::nullopt);
  EXPECT_EQ(map.contents(), bt_test::elements(model.begin(), model.end()));
}

TEST_P(bt_map_of_capacities, holds_what_a_set_does) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 draw(seed);
  const bt_test::subject map(GetParam().make());
  const auto handle = map.attach();
  subject::elements model;
  // Enough for several internal nodes if they are of moderate size.
  const number keys = 4 * GetParam().leaf * GetParam().internal / static_cast<number>(slowdown);
  for (const unsigned erases : {1U, 4U, 7U, 2U, 8U}) {
    const number operations = 3 * keys;
    for (number i = 0; i < operations; ++i) {
      const number key = draw() % keys;
      if (draw() % 8 < erases) {
        ASSERT_EQ(handle->erase(key), model.erase(key) == 1);
      } else {
        ASSERT_EQ(handle->insert(key, i), model.emplace(key, i).second);
      }
      const number sought = draw() % keys;
      ASSERT_EQ(handle->find(sought).has_value(), model.contains(sought));
      if (i % (operations / 4) == 0) expect_same(map, model);
    }
    expect_same(map, model);
  }
}

TEST_P(bt_map_of_capacities, grows_and_shrinks_in_order) {
  const bt_test::subject map(GetParam().make());
  const auto handle = map.attach();
  subject::elements model;
  // Splits in order leave halves: so the tree has three levels of internal nodes, or four.
  const number keys = 2 * GetParam().leaf * GetParam().internal / static_cast<number>(slowdown);
  for (const bool ascending : {true, false}) {
    for (number i = 0; i < keys; ++i) {
      const number key = ascending ? i : keys - 1 - i;
      ASSERT_TRUE(handle->insert(key, i));
      model.emplace(key, i);
      if (i % (keys / 4) == 0) expect_same(map, model);
    }
    expect_same(map, model);
    for (number i = 0; i < keys; ++i) {
      ASSERT_TRUE(handle->erase(i));
      model.erase(i);
      if (i % (keys / 4) == 0) expect_same(map, model);
    }
    expect_same(map, model);
  }
}

}  // namespace
}  // namespace assay
