#include "assay/sync/asymmetric_fence.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace assay::sync {
namespace {

// Each of two threads counts, and reads how far the other has come, with a fence between. No more
// is needed to find out afterwards whether some pair of rounds, i of the light side and j of the
// heavy one, missed each other: light round i saw less than j, and heavy round j less than i.
TEST(asymmetric_fence, orders_a_store_before_later_loads_on_both_sides) {
  constexpr std::uint32_t light_rounds = 1 << 22;
  constexpr std::uint32_t heavy_rounds = 20'000;
  std::atomic<std::uint32_t> light{0};
  alignas(128) std::atomic<std::uint32_t> heavy{0};
  std::vector<std::uint32_t> light_saw(light_rounds + 1);
  std::vector<std::uint32_t> heavy_saw(heavy_rounds + 1);

  std::thread often([&] {
    for (std::uint32_t i = 1; i <= light_rounds; ++i) {
      light.store(i, std::memory_order_relaxed);
      light_fence();
      light_saw[i] = heavy.load(std::memory_order_relaxed);
    }
  });
  std::uint32_t last = 0;
  while (last < heavy_rounds && light.load(std::memory_order_relaxed) < light_rounds) {
    heavy.store(++last, std::memory_order_relaxed);
    heavy_fence();
    heavy_saw[last] = light.load(std::memory_order_relaxed);
  }
  often.join();

  // What the light side sees never decreases, so that of the rounds that a heavy one missed only
  // the first needs a look.
  for (std::uint32_t j = 1; j <= last; ++j) {
    const std::uint32_t missed = heavy_saw[j] + 1;
    if (missed <= light_rounds) {
      ASSERT_GE(light_saw[missed], j) << "light round " << missed;
    }
  }
}

}  // namespace
}  // namespace assay::sync
