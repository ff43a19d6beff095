#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "assay/judge/bit_counter.h"
#include "assay/judge/bits.h"
#include "assay/judge/keys.h"
#include "assay/judge/speed.h"
#include "assay/judge/streams.h"
#include "assay/random/splitmix64.h"

namespace assay::judge {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::SizeIs;

// What a function of the place in the stream says.
class planted final : public random::number_source {
 public:
  explicit planted(std::function<std::uint64_t(std::uint64_t)> number, int bits = 64)
      : number_(std::move(number)), bits_(bits) {}
  void fill(std::span<std::uint64_t> numbers) override {
    for (auto& number : numbers) number = number_(drawn_++);
  }
  [[nodiscard]] int bits() const override { return bits_; }

 private:
  std::function<std::uint64_t(std::uint64_t)> number_;
  int bits_;
  std::uint64_t drawn_ = 0;
};

std::uint64_t random_number(std::uint64_t i) { return random::mix64(i * random::golden_gamma); }

TEST(bit_counter, counts_as_one_by_one) {
  for (const std::size_t n : {0U, 1U, 15U, 16U, 17U, 1000U, 65535U, 65536U, 200003U}) {
    bit_counter counter;
    bit_counts expected{};
    // Once as a whole and once in pieces; bit 63 is always set, so that every plane carries.
    const auto number = [](std::size_t i) { return random_number(i) | std::uint64_t{1} << 63; };
    counter.add(n, number);
    for (std::size_t i = 0; i < n; i += 7)
      counter.add(std::min<std::size_t>(7, n - i), [&](std::size_t j) { return number(i + j); });
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t bit = 0; bit < 64; ++bit) expected[bit] += 2 * (number(i) >> bit & 1);
    }
    EXPECT_EQ(counter.counts(), expected) << n;
    EXPECT_EQ(counter.counts(), expected) << n;  // asking changes nothing
  }
}

TEST(examine_bits, counts_every_bit_every_change_and_every_lag) {
  constexpr std::uint64_t n = 12'345;
  planted source(random_number);
  const bit_statistics found = examine_bits(source, n);
  bit_counts ones{}, changes{}, differing_at_5{};
  double products_at_64 = 0, low_products_at_1 = 0;
  const auto centred = [](std::uint64_t i) {
    return static_cast<double>(random_number(i)) / 0x1p64 - 0.5;
  };
  const auto low = [](std::uint64_t i) {
    return static_cast<double>(random_number(i) & 255) - 127.5;
  };
  for (std::uint64_t i = 0; i < n; ++i) {
    for (std::size_t bit = 0; bit < 64; ++bit) {
      ones[bit] += random_number(i) >> bit & 1;
      if (i >= 1) changes[bit] += (random_number(i) ^ random_number(i - 1)) >> bit & 1;
      if (i >= 5) differing_at_5[bit] += (random_number(i) ^ random_number(i - 5)) >> bit & 1;
    }
    if (i >= 64) products_at_64 += centred(i) * centred(i - 64);
    if (i >= 1) low_products_at_1 += low(i) * low(i - 1);
  }
  EXPECT_EQ(found.at.size(), 400U);
  EXPECT_TRUE(std::ranges::is_sorted(found.at));
  EXPECT_EQ(found.at.back(), n);
  EXPECT_EQ(found.ones.back(), ones);
  EXPECT_EQ(found.changes, changes);
  EXPECT_EQ(found.differing[0], changes);
  EXPECT_EQ(found.differing[4], differing_at_5);
  EXPECT_EQ(found.compared[0], n - 1);
  EXPECT_EQ(found.compared[63], n - 64);
  EXPECT_NEAR(found.products[63], products_at_64, 1e-6);
  EXPECT_NEAR(found.low_products[0], low_products_at_1, 1e-3);
  EXPECT_THAT(found.periods, Each(0));
  ASSERT_THAT(found.first, SizeIs(1000));
  EXPECT_EQ(found.first[999], random_number(999));
}

TEST(examine_bits, finds_the_shortest_period_of_each_bit) {
  planted source([](std::uint64_t i) {
    std::uint64_t x = random_number(i) & ~std::uint64_t{0b11111};
    x |= i & 1;                                     // alternates
    x |= (random_number(i % 7) & 1) << 1;           // 7
    x |= 1 << 2;                                    // never changes
    x |= (random_number(i % (1U << 16)) & 1) << 3;  // only a power of two is found so far out
    x |= (i == 20'000 ? i + 1 : i) % 2 << 4;        // one exception
    return x;
  });
  const bit_statistics found = examine_bits(source, 300'000);
  EXPECT_EQ(found.periods[0], 2U);
  EXPECT_EQ(found.periods[1], 7U);
  EXPECT_EQ(found.periods[2], 1U);
  EXPECT_EQ(found.periods[3], 1U << 16);
  EXPECT_EQ(found.periods[4], 0U);
  EXPECT_EQ(found.periods[5], 0U);
  EXPECT_EQ(found.changes[0], 299'999U);
  EXPECT_EQ(found.changes[2], 0U);
}

TEST(examine_bits, looks_only_at_the_bits_that_an_engine_draws) {
  planted source([](std::uint64_t i) { return random_number(i) >> 33; }, 31);
  const bit_statistics found = examine_bits(source, 20'000);
  EXPECT_EQ(found.periods[30], 0U);
  EXPECT_EQ(found.periods[31], 0U);
  EXPECT_NEAR(found.products[0] / 20'000, 0, 5 / 12. / 141);  // 5 standard errors
}

TEST(examine_keys, counts_every_operation_once) {
  const auto found = examine_keys({}, 1, 50'001);
  ASSERT_THAT(found, SizeIs(20));
  for (const auto& each : found) {
    EXPECT_EQ(each.operations, 50'001U);
    // Equal counts give the least sum of squares.
    EXPECT_GE(each.sum_of_squares * each.range, 50'001ULL * 50'001ULL);
    EXPECT_EQ(each.never_drawn > 0, each.range == 1'000'000 || each.range == 20'000) << each.range;
    EXPECT_EQ(each.by_place.size(),
              each.range == 4096 || each.range == 20'000 || each.range == 1'000'000 ? 1U : 0U);
    for (const auto* counts : {&each.by_place, &each.by_remainder}) {
      if (counts->empty()) continue;
      std::uint64_t operations = 0, pairs = 0;
      for (const auto& kind : counts->front().with_operation)
        operations = std::accumulate(kind.begin(), kind.end(), operations);
      for (const auto& cell : counts->front().with_next)
        pairs = std::accumulate(cell.begin(), cell.end(), pairs);
      EXPECT_EQ(operations, 50'001U);
      EXPECT_EQ(pairs, 25'000U);
    }
  }
}

std::unique_ptr<random::number_source> from(std::uint64_t start) {
  return std::make_unique<planted>([start](std::uint64_t i) { return random_number(start + i); });
}

TEST(examine_streams, of_different_seeds_have_nothing_in_common) {
  const stream_statistics found = examine_streams(from, 1);
  EXPECT_EQ(found.streams, 1024U);
  EXPECT_EQ(found.fingerprints, 1024U * 1023);
  EXPECT_EQ(found.collisions, 0U);
  EXPECT_EQ(found.compared, 512U * 1024);
  for (const std::uint64_t count : found.differing)
    EXPECT_NEAR(static_cast<double>(count), 512. * 512, 6 * 362.04);  // 6 standard deviations
}

TEST(examine_streams, that_overlap_at_another_place_collide) {
  // All streams begin within 60,000 numbers of each other, so that windows of 1024 must overlap.
  const stream_statistics found =
      examine_streams([](std::uint64_t seed) { return from(seed % 60'000); }, 1);
  EXPECT_GT(found.collisions, 1'000'000U);
}

TEST(examine_seeds, finds_nothing_wrong_with_seeds_that_all_count) {
  const seed_statistics found = examine_seeds(from, 1);
  EXPECT_TRUE(found.alike.empty());
  EXPECT_FALSE(found.zero_is_one);
  EXPECT_TRUE(found.repeats);
}

TEST(examine_seeds, finds_the_bits_that_do_not_count) {
  const auto low = [](std::uint64_t seed) { return from(seed & 0xff); };
  EXPECT_EQ(examine_seeds(low, 1).alike.size(), 56U);
  EXPECT_EQ(examine_seeds(low, 1).alike.front(), 8);
  const auto high = [](std::uint64_t seed) { return from(seed >> 32U); };
  EXPECT_EQ(examine_seeds(high, 1).alike.size(), 32U);
  EXPECT_TRUE(examine_seeds(high, 1).zero_is_one);
  EXPECT_EQ(examine_seeds([](std::uint64_t) { return from(7); }, 1).alike.size(), 64U);
}

TEST(examine_seeds, finds_that_zero_stands_for_one_and_that_a_seed_does_not_repeat) {
  const auto never_zero = [](std::uint64_t seed) { return from(seed == 0 ? 1 : seed); };
  EXPECT_TRUE(examine_seeds(never_zero, 1).zero_is_one);
  EXPECT_TRUE(examine_seeds(never_zero, 1).alike.empty());
  std::uint64_t next = 0;
  EXPECT_FALSE(examine_seeds([&](std::uint64_t) { return from(++next); }, 1).repeats);
}

TEST(examine_streams, that_are_equal_differ_in_no_bit) {
  const stream_statistics found = examine_streams([](std::uint64_t) { return from(7); }, 1);
  EXPECT_THAT(found.differing, Each(0));
  EXPECT_EQ(found.collisions, 1023ULL * (1024 * 1023 / 2));
}

TEST(measure_speed, alternates_as_many_rounds_of_each) {
  planted source(random_number);
  const speed_statistics found = measure_speed(source);
  EXPECT_THAT(found.source_ns, SizeIs(41));
  EXPECT_THAT(found.floor_ns, SizeIs(41));
  EXPECT_THAT(found.source_ns, Each(Gt(0)));
}

}  // namespace
}  // namespace assay::judge
