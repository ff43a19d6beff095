#include "assay/base/asymmetric_fence.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#if ASSAY_MEMBARRIER
#include "tests/base/asymmetric_fence_test_sandbox.h"
#endif

namespace assay::sync {
namespace {

// Each of two threads counts, and reads how far the other has come, with a fence between. No more
// is needed to find out afterwards whether some pair of rounds, i of the light side and j of the
// heavy one, missed each other: light round i saw less than j, and heavy round j less than i.
//
// That can only happen while both run at once. So the heavy side goes on until it saw the other
// advance between as many of its rounds as are wanted. Where other programs leave the two hardly a
// moment together, the test gives up and says so.
TEST(asymmetric_fence, orders_a_store_before_later_loads_on_both_sides) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  constexpr std::uint32_t overlapping_rounds = 3000;
  constexpr std::uint64_t most_rounds = 1 << 22;
  std::atomic<std::uint64_t> light{0};
  alignas(128) std::atomic<std::uint64_t> heavy{0};
  alignas(128) std::atomic<bool> over{false};
  std::vector<std::uint64_t> heavy_saw{0};        // by heavy round
  std::vector<std::uint64_t> light_saw_first{0};  // the first light round that saw heavy round j

  std::thread often([&] {
    for (std::uint64_t i = 1; !over.load(std::memory_order_relaxed); ++i) {
      light.store(i, std::memory_order_relaxed);
      light_fence();
      const std::uint64_t seen = heavy.load(std::memory_order_relaxed);
      if (seen >= light_saw_first.size()) light_saw_first.resize(seen + 1, i);
    }
  });
  std::uint32_t overlapping = 0;
  for (std::uint64_t j = 1; overlapping < overlapping_rounds && j <= most_rounds; ++j) {
    heavy.store(j, std::memory_order_relaxed);
    heavy_fence();
    heavy_saw.push_back(light.load(std::memory_order_relaxed));
    if (heavy_saw[j] > heavy_saw[j - 1]) ++overlapping;
  }
  over.store(true, std::memory_order_relaxed);
  often.join();

  // What the light side sees never decreases, so that of the rounds that a heavy one missed only
  // the first needs a look.
  for (std::uint64_t j = 1; j < light_saw_first.size(); ++j) {
    ASSERT_LE(light_saw_first[j], heavy_saw[j] + 1)
        << "heavy round " << j << " and light round " << heavy_saw[j] + 1 << " missed each other";
  }
  if (overlapping < overlapping_rounds) GTEST_SKIP() << "only " << overlapping << " rounds overlap";
}

#if ASSAY_MEMBARRIER
// In the program as it is started here; and once more where membarrier is refused before it starts,
// by `without_membarrier`.
TEST(asymmetric_fence, is_free_on_the_light_side_where_the_kernel_serves) {
  prepare_light_fences();
  EXPECT_EQ(detail::membarrier_availability.load() == detail::availability::available,
            detail::register_membarrier());
}

// Each in a process of its own, in which nothing has asked the kernel yet.
class first_fence : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static void exit_if(bool right) { std::_Exit(right ? 0 : 1); }
  static bool is(detail::availability expected) {
    return detail::membarrier_availability.load() == expected;
  }
};

TEST_F(first_fence, does_not_ask_if_it_is_light) {
  EXPECT_EXIT(
      {
        const bool unknown = is(detail::availability::unknown);
        light_fence();
        exit_if(unknown && is(detail::availability::unknown));
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(first_fence, asks_if_it_is_heavy_and_every_thread_goes_by_one_answer) {
  EXPECT_EXIT(
      {
        std::vector<std::thread> crew;
        for (int t = 0; t < 4; ++t) {
          crew.emplace_back([] {
            for (int i = 0; i < 100; ++i) {
              light_fence();
              heavy_fence();
            }
          });
        }
        for (std::thread& each : crew) each.join();
        exit_if(!is(detail::availability::unknown));
      },
      testing::ExitedWithCode(0), "");
}

// A thread in a sandbox of its own comes first: all threads then do without.
TEST_F(first_fence, keeps_to_a_refusal_although_other_threads_are_served) {
  EXPECT_EXIT(
      {
        std::thread([] {
          if (refuse_membarrier()) heavy_fence();
        }).join();
        const bool right = !is(detail::availability::available);
        prepare_light_fences();
        heavy_fence();
        light_fence();
        exit_if(right);
      },
      testing::ExitedWithCode(0), "");
}

TEST(asymmetric_fence, ends_the_program_when_membarrier_is_refused_after_it_was_granted) {
  prepare_light_fences();
  if (detail::membarrier_availability.load() != detail::availability::available) {
    GTEST_SKIP() << "membarrier was never to be had";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        prepare_light_fences();
        if (refuse_membarrier()) heavy_fence();
      },
      "assay: membarrier\\(2\\), on which fences rely, was refused after it was granted");
}
#endif

}  // namespace
}  // namespace assay::sync
