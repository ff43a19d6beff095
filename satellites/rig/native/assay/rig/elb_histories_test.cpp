// ELB-trees among threads that are disturbed at marked points: theorems A.12 to A.16 of recorded
// histories, and sums over what many threads inserted and erased. Nodes of 6 entries are balanced
// all the time.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "assay/measure/crew.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/clock.h"
#include "assay/rig/entry_histories.h"
#include "assay/rig/interfere/disturbance.h"
#include "assay/rig/interfere/preemption.h"
#include "tests/maps/elb_test_variants.h"

namespace assay::rig {
namespace {

using elb_test::number;
using elb_test::per_key;
using elb_test::slowdown;
using elb_test::variant;
using random::splitmix64;

class elb_among_threads : public ::testing::TestWithParam<variant> {};
INSTANTIATE_TEST_SUITE_P(all, elb_among_threads, ::testing::ValuesIn(elb_test::all_variants()),
                         [](const auto& of) { return of.param.name; });

TEST_P(elb_among_threads, keeps_its_promises) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  static const stamp_clock clock;
  for (const unsigned threads : {2U, 4U, 8U}) {
    for (const number keys : {number{2}, number{12}, number{200}}) {
      const auto set = GetParam().make();
      const entry_recording asked{.seed = random::derive_seed(seed, number{threads} * 1000 + keys),
                                  .threads = threads,
                                  .operations = number{8000} / threads / slowdown,
                                  .keys = keys,
                                  .over = static_cast<entry_ranges>(GetParam().asked)};
      const entry_history seen = record_entries(*set, asked, clock);
      ASSERT_EQ(broken_promise(seen, GetParam().left_by_near), std::nullopt)
          << threads << " threads, " << keys << " keys";
      ASSERT_EQ(set->broken_invariant(), std::nullopt);
    }
  }
}

// What a thread has put into the set, less what it has taken out.
struct sums {
  number count = 0;
  number mixed = 0;  // of numbers made of the entries

  void add(number entry) {
    ++count;
    mixed += random::mix64(entry);
  }
  void remove(number entry) {
    --count;
    mixed -= random::mix64(entry);
  }
};

sums update(elb_test::number_set& set, unsigned self, number operations, number keys, number seed) {
  splitmix64 draw(random::derive_seed(seed, self));
  disturbance strikes(draw());
  const disturbance::scope scope(strikes);
  const auto handle = set.attach();
  sums mine;
  for (number i = 0; i < operations;) {
    const preemption often(draw());
    for (const number end = i + 64; i < end; ++i) {
      const bool grows = i * 8 / operations % 2 == 0;
      const number key = draw() % keys * per_key;
      if (draw() % 4 < (grows ? 3U : 1U)) {
        const number entry = key + (i * 8 + self);
        handle->insert(entry);
        mine.add(entry);
      } else if (const auto erased = draw() % 2 == 0
                                         ? handle->erase(key, key + per_key - 1)
                                         : handle->erase_near(key, elb_test::greatest)) {
        mine.remove(*erased);
      }
    }
  }
  return mine;
}

TEST_P(elb_among_threads, holds_what_was_inserted_and_not_erased) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr unsigned threads = 8;
  for (const number keys : {number{1}, number{40}, number{1000}}) {
    const auto set = GetParam().make();
    std::vector<sums> parts(threads);
    {
      const disturb_at_points disturbed;
      measure::crew crew(threads);
      crew.run(
          [&](unsigned self) { parts[self] = update(*set, self, 6400 / slowdown, keys, seed); });
    }
    sums left;
    for (const sums& part : parts) {
      left.count += part.count;
      left.mixed += part.mixed;
    }
    for (const number entry : set->walk()) left.remove(entry);
    EXPECT_EQ(left.count, 0U);
    EXPECT_EQ(left.mixed, 0U);
    EXPECT_EQ(set->broken_invariant(), std::nullopt);
  }
}

}  // namespace
}  // namespace assay::rig
