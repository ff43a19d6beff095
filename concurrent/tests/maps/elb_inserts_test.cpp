// Many threads insert and erase the same few entries: between two inserts of an entry that say that
// they added it, one erase has removed it.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "assay/base/sanitizers.h"
#include "assay/maps/elb_entry.h"
#include "assay/maps/elb_tree.h"
#include "assay/reclaim/epochs.h"
#include "assay/reclaim/hazard_pointers.h"

namespace assay {
namespace {

constexpr unsigned slowdown = ASSAY_ADDRESS_SANITIZER || ASSAY_THREAD_SANITIZER ? 8 : 1;
constexpr unsigned threads = 4;

// An insert that has no claim at once, or that never gets one, closes the leaf.
template <unsigned Patience>
struct impatient : elb_nodes<6> {
  static constexpr unsigned patience = Patience;
};

template <class Tree>
class elb_inserts : public ::testing::Test {};
using trees = ::testing::Types<elb_tree<std::uint64_t>,
                               elb_tree<std::uint64_t, reclaim::hazard_pointers, impatient<1>>,
                               elb_tree<std::uint64_t, reclaim::epochs, impatient<0>>,
                               elb_tree<elb::wide, reclaim::hazard_pointers, impatient<0>>,
                               elb_tree<elb::wide, reclaim::epochs, elb_nodes<6>>>;
TYPED_TEST_SUITE(elb_inserts, trees);

TYPED_TEST(elb_inserts, add_an_entry_once_for_each_erase) {
  using entry = typename TypeParam::value_type;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const std::size_t entries : {std::size_t{1}, std::size_t{8}, std::size_t{100}}) {
    TypeParam tree;
    // How often each thread has added each entry, less how often it has removed it.
    std::vector<std::vector<int>> net(threads, std::vector<int>(entries));
    {
      std::vector<std::jthread> all;
      for (unsigned self = 0; self < threads; ++self) {
        all.emplace_back([&tree, &mine = net[self], entries, seed = seed + self] {
          auto handle = tree.attach();
          std::mt19937_64 draw(seed);
          for (unsigned i = 0; i < 12'000 / slowdown; ++i) {
            const std::size_t chosen = draw() % entries;
            if (draw() % 2 == 0) {
              mine[chosen] += handle.insert(entry{chosen}) ? 1 : 0;
            } else {
              mine[chosen] -= handle.erase(entry{chosen}, entry{chosen}) ? 1 : 0;
            }
          }
        });
      }
    }
    ASSERT_EQ(tree.broken_invariant(), std::nullopt);
    std::vector<int> sums(entries);
    for (const auto& part : net) {
      for (std::size_t i = 0; i < entries; ++i) sums[i] += part[i];
    }
    std::vector<int> held(entries);
    tree.for_each([&](entry each) { ++held[static_cast<std::size_t>(each)]; });
    ASSERT_EQ(sums, held);
  }
}

// All insert the same entries in the same order, and nobody erases.
TYPED_TEST(elb_inserts, of_all_threads_together_add_each_entry_once) {
  using entry = typename TypeParam::value_type;
  constexpr std::size_t entries = 20'000 / slowdown;
  TypeParam tree;
  std::vector<std::size_t> added(threads);
  {
    std::vector<std::jthread> all;
    for (unsigned self = 0; self < threads; ++self) {
      all.emplace_back([&tree, &mine = added[self]] {
        auto handle = tree.attach();
        for (std::size_t i = 0; i < entries; ++i) mine += handle.insert(entry{i}) ? 1U : 0U;
      });
    }
  }
  std::size_t sum = 0;
  for (const std::size_t part : added) sum += part;
  EXPECT_EQ(sum, entries);
  EXPECT_EQ(tree.size(), entries);
  EXPECT_EQ(tree.broken_invariant(), std::nullopt);
}

}  // namespace
}  // namespace assay
