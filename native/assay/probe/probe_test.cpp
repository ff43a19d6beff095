#include "assay/probe/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/probe/probe_test_shared.h"
#include "assay/probe/recording.h"

// In probe_test_measured.cpp.
// NOLINTNEXTLINE(misc-use-internal-linkage)
std::uint64_t search(std::uint64_t from, std::uint64_t to);

namespace assay::probe {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::FieldsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

static counter events{"events", "that happen", "times"};
static maximum depth{"depth", "longest way", "nodes"};
static histogram by_power{"by_power", "sizes", logarithmic()};
static histogram by_ten{"by_ten", "sizes", linear(20, 50, 3)};
static series first_three{"first_three", "sizes", 3};
static series huge{"huge", "sizes", 1'000'000};
static summary ratios{"ratios", "of sizes", "percent"};
static histogram durations{"durations", "of calls", logarithmic(), "ns"};

static_assert(compiled_in);
static_assert(std::is_trivially_destructible_v<counter>);

// What one probe says of some threads that run `work` one after the other, each recording.
template <class... Work>
recorded after(const std::string& name, Work... work) {
  std::vector<block> blocks;
  const auto record = [&](auto& each) {
    std::thread([&] {
      begin_recording();
      each();
      blocks.push_back(end_recording());
    }).join();
  };
  (record(work), ...);
  const auto all = report(blocks);
  const auto found = std::ranges::find(all, name, &recorded::name);
  if (found == all.end()) throw std::out_of_range(name);
  return *found;
}

void nothing() {}

TEST(Counter, CountsInEachThread) {
  const auto result = after(
      "events", [] { events.add(); }, nothing,
      [] {
        events.add(3);
        events.add();
      });
  EXPECT_EQ(result.kind, kind::counter);
  EXPECT_EQ(result.description, "that happen");
  EXPECT_EQ(result.unit, "times");
  EXPECT_THAT(result.threads, ElementsAre(Optional(1), Optional(0), Optional(4)));
  EXPECT_EQ(result.count, 5);
  EXPECT_EQ(result.sum, 5);
  EXPECT_THAT(result.mean, Optional(DoubleEq(5.0 / 3)));
  EXPECT_EQ(result.min, 0);
  EXPECT_EQ(result.max, 4);
}

TEST(Maximum, KeepsTheLargestAndTellsZeroFromNothing) {
  const auto result = after(
      "depth",
      [] {
        depth.record(7);
        depth.record(9);
        depth.record(8);
      },
      nothing, [] { depth.record(0); });
  EXPECT_EQ(result.kind, kind::maximum);
  EXPECT_THAT(result.threads, ElementsAre(Optional(9), std::nullopt, Optional(0)));
  EXPECT_EQ(result.count, 4);
  EXPECT_EQ(result.min, 0);
  EXPECT_EQ(result.max, 9);
  EXPECT_EQ(result.mean, 4.5);
}

TEST(Histogram, CountsByPowersOfTwo) {
  const auto result = after(
      "by_power",
      [] {
        for (const unsigned value : {3u, 4u, 7u, 8u, 40u}) by_power.record(value);
      },
      nothing, [] { by_power.record(2); });
  EXPECT_EQ(result.kind, kind::histogram);
  EXPECT_THAT(result.buckets,
              ElementsAre(FieldsAre(2, 3, 2), FieldsAre(4, 7, 2), FieldsAre(8, 15, 1),
                          FieldsAre(16, 31, 0), FieldsAre(32, 63, 1)));
  EXPECT_THAT(result.threads, ElementsAre(Optional(12.4), std::nullopt, Optional(2)));
  EXPECT_EQ(result.count, 6);
  EXPECT_EQ(result.sum, 64);
  EXPECT_THAT(result.mean, Optional(DoubleEq(64.0 / 6)));
  EXPECT_EQ(result.min, 2);
  EXPECT_EQ(result.max, 40);
}

TEST(Histogram, HoldsTheSmallestAndTheLargestNumber) {
  const auto result = after("by_power", [] {
    by_power.record(0);
    by_power.record(1);
    by_power.record(largest);
    by_power.record(largest);
  });
  ASSERT_EQ(result.buckets.size(), 65);
  EXPECT_THAT(result.buckets[0], FieldsAre(0, 0, 1));
  EXPECT_THAT(result.buckets[1], FieldsAre(1, 1, 1));
  EXPECT_THAT(result.buckets[64], FieldsAre(largest / 2 + 1, largest, 2));
  EXPECT_EQ(result.sum, 0x1p65);
  EXPECT_EQ(result.mean, 0x1p63);
  EXPECT_EQ(result.min, 0);
  EXPECT_EQ(result.max, 0x1p64);
}

TEST(Histogram, CountsInEqualPartsAndWhatLiesOutside) {
  const auto result = after("by_ten", [] {
    for (const unsigned value : {19u, 20u, 29u, 30u, 49u, 50u, 77u}) by_ten.record(value);
  });
  EXPECT_THAT(result.buckets,
              ElementsAre(FieldsAre(0, 19, 1), FieldsAre(20, 29, 2), FieldsAre(30, 39, 1),
                          FieldsAre(40, 49, 1), FieldsAre(50, 77, 2)));
}

TEST(Histogram, HasNoMeanOfNothing) {
  const auto result = after("by_ten", nothing);
  EXPECT_THAT(result.buckets, IsEmpty());
  EXPECT_EQ(result.mean, std::nullopt);
  EXPECT_EQ(result.min, std::nullopt);
  EXPECT_EQ(result.sum, 0);
}

TEST(Series, KeepsTheFirstValuesOfEachThreadInOrder) {
  const auto result = after(
      "first_three",
      [] {
        for (const unsigned value : {5u, 1u, 3u, 99u, 99u}) first_three.record(value);
      },
      [] { first_three.record(7); }, nothing);
  EXPECT_EQ(result.kind, kind::series);
  EXPECT_THAT(result.values, ElementsAre(ElementsAre(5, 1, 3), ElementsAre(7), IsEmpty()));
  EXPECT_THAT(result.threads, ElementsAre(Optional(3), Optional(7), std::nullopt));
  EXPECT_EQ(result.count, 6);  // of which four were kept
  EXPECT_EQ(result.sum, 16);
  EXPECT_EQ(result.mean, 4);
  EXPECT_EQ(result.min, 1);
  EXPECT_EQ(result.max, 7);
  EXPECT_THAT(result.variance, Optional(DoubleEq(20.0 / 3)));  // of 5, 1, 3 and 7
}

TEST(Series, KeepsWhenSomethingWas) {
  const auto result = after("first_three", [] {
    first_three.stamp();
    first_three.stamp();
  });
  ASSERT_EQ(result.values[0].size(), 2);
  EXPECT_LE(result.values[0][0], result.values[0][1]);
  EXPECT_LT(result.values[0][1], 60'000'000'000);  // since the recording began, not since the boot
}

TEST(Summary, OfKnownNumbers) {
  const auto result = after(
      "ratios",
      [] {
        for (const double value : {1e9 + 4, 1e9 + 7, 1e9 + 13}) ratios.record(value);
      },
      nothing, [] { ratios.record(1e9 + 16); });
  EXPECT_EQ(result.kind, kind::summary);
  EXPECT_THAT(result.threads,
              ElementsAre(Optional(DoubleEq(1e9 + 8)), std::nullopt, Optional(1e9 + 16)));
  EXPECT_EQ(result.count, 4);
  EXPECT_THAT(result.mean, Optional(DoubleEq(1e9 + 10)));
  EXPECT_THAT(result.variance, Optional(DoubleEq(30)));  // sums of squares lose all its digits
  EXPECT_EQ(result.min, 1e9 + 4);
  EXPECT_EQ(result.max, 1e9 + 16);
}

TEST(Summary, OfNegativeNumbersOfOneAndOfNone) {
  const auto negative = after("ratios", [] {
    ratios.record(-3);
    ratios.record(-1);
    ratios.record(std::numeric_limits<double>::infinity());
    ratios.record(std::numeric_limits<double>::quiet_NaN());
  });
  EXPECT_EQ(negative.count, 2);
  EXPECT_EQ(negative.mean, -2);
  EXPECT_EQ(negative.max, -1);
  EXPECT_EQ(negative.variance, 2);
  const auto one = after("ratios", [] { ratios.record(0.5); });
  EXPECT_EQ(one.mean, 0.5);
  EXPECT_EQ(one.variance, std::nullopt);
  const auto none = after("ratios", nothing);
  EXPECT_EQ(none.mean, std::nullopt);
  EXPECT_EQ(none.variance, std::nullopt);
}

TEST(Timer, RecordsTheTimeOfItsScope) {
  const auto result = after("durations", [] {
    const timer whole(durations);
    for (int i = 0; i < 3; ++i) const timer part(durations);
  });
  EXPECT_EQ(result.count, 4);
  EXPECT_GE(result.max, result.sum / 2);  // the whole is no shorter than its parts
  const auto of_doubles = after("ratios", [] { const timer whole(ratios); });
  EXPECT_EQ(of_doubles.count, 1);
}

TEST(Timer, RecordsNothingThatBeganBeforeTheRecording) {
  std::vector<block> blocks;
  {
    const timer whole(durations);
    begin_recording();
  }
  blocks.push_back(end_recording());
  const auto all = report(blocks);
  EXPECT_EQ(std::ranges::find(all, "durations", &recorded::name)->count, 0);
}

TEST(Recording, IsOffUntilItBeginsAndOnceItHasEnded) {
  events.add(100);
  begin_recording();
  events.add();
  block ended = end_recording();
  events.add(100);
  begin_recording();
  events.add(2);
  std::vector<block> blocks;
  blocks.push_back(std::move(ended));
  blocks.push_back(end_recording());
  const auto all = report(blocks);
  EXPECT_THAT(std::ranges::find(all, "events", &recorded::name)->threads,
              ElementsAre(Optional(1), Optional(2)));
}

TEST(Recording, IsOfTheThreadThatBeganIt) {
  const auto result = after("events", [] {
    events.add();
    std::thread([] { events.add(100); }).join();
  });
  EXPECT_EQ(result.sum, 1);
}

TEST(Recording, OfManyThreadsAtOnceIsKeptApart) {
  constexpr std::size_t number = 4;
  constexpr std::uint64_t times = 10'000;
  std::vector<std::optional<block>> ended(number);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < number; ++i) {
      threads.emplace_back([&ended, i] {
        begin_recording();
        for (std::uint64_t n = 0; n < times; ++n) {
          events.add(i);
          by_power.record(n);
        }
        ended[i] = end_recording();
      });
    }
  }
  std::vector<block> blocks;
  for (auto& each : ended) blocks.push_back(std::move(*each));
  const auto all = report(blocks);
  EXPECT_THAT(std::ranges::find(all, "events", &recorded::name)->threads,
              ElementsAre(Optional(0), Optional(times), Optional(2 * times), Optional(3 * times)));
  EXPECT_EQ(std::ranges::find(all, "by_power", &recorded::name)->count, number * times);
}

TEST(Recording, BeginsAndEndsOnce) {
  EXPECT_THROW(end_recording(), std::logic_error);
  begin_recording();
  EXPECT_THROW(begin_recording(), std::logic_error);
  end_recording();
  EXPECT_THROW(end_recording(), std::logic_error);
}

TEST(Recording, EndsWithItsThread) {
  struct late {
    ~late() { events.add(); }  // after this thread's record is gone
  };
  std::thread([] {
    thread_local const late last;
    static_cast<void>(&last);
    begin_recording();
    events.add();
  }).join();
  EXPECT_EQ(after("events", nothing).sum, 0);
}

TEST(Recording, NestsInCodeThatCallsItself) {
  struct tree {
    static void visit(std::uint64_t level) {
      events.add();
      depth.record(level);
      if (level < 5) visit(level + 1);
    }
  };
  EXPECT_EQ(after("events", [] { tree::visit(1); }).sum, 5);
  EXPECT_EQ(after("depth", [] { tree::visit(1); }).max, 5);
}

TEST(Recording, IntoABlockMadeBefore) {
  block prepared;
  begin_recording(std::move(prepared));
  events.add();
  std::vector<block> blocks;
  blocks.push_back(end_recording());
  const auto all = report(blocks);
  EXPECT_EQ(std::ranges::find(all, "events", &recorded::name)->sum, 1);
}

TEST(Recording, LeavesOutAProbeThatItsBlockIsTooOldFor) {
  const auto visit = [] {
    static const histogram late{"declared_late", "when first reached", logarithmic()};
    late.record(1);
  };
  EXPECT_EQ(after("declared_late", visit, visit).count, 1);
}

TEST(Declaration, InAHeaderOrATemplateIsOneProbe) {
  const auto count = [] {
    inline_in_header.add();
    static_in_header.add();
    instrumented<int>::visit();
    count_in_other_file();
  };
  EXPECT_EQ(after("inline_in_header", count).sum, 11);
  EXPECT_EQ(after("static_in_header", count).sum, 11);
  EXPECT_EQ(after("visits", count).sum, 2);
  EXPECT_NO_THROW(check_declared());
}

TEST(Declaration, IsReportedByName) {
  std::vector<std::string> names;
  for (const auto& each : report({})) names.push_back(each.name);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_THAT(names, testing::IsSupersetOf({"by_power", "depth", "events", "first_three", "huge"}));
}

TEST(Declaration, OfANameThatIsTakenIsAnErrorThatNamesBothPlaces) {
  const auto declare_again = [] {
    static const counter again{"events", "that happen", "times"};
    try {
      check_declared();
    } catch (const std::logic_error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(1);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(declare_again(), testing::ExitedWithCode(1),
              "two probes are named events, at .*probe_test.cpp:[0-9]+ and "
              ".*probe_test.cpp:[0-9]+; rename one");
}

TEST(Declaration, OfANameThatAnothersLargestValueHasIsAnErrorThatNamesBothPlaces) {
  const auto declare_another = [] {
    static const maximum another{"by_power_max", "of something else", "times"};
    try {
      check_declared();
    } catch (const std::logic_error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(1);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(declare_another(), testing::ExitedWithCode(1),
              "the metric probe_by_power_max would belong to two probes, by_power at "
              ".*probe_test.cpp:[0-9]+ and by_power_max at .*probe_test.cpp:[0-9]+; rename one");
}

TEST(CompiledOut, LinksWithCodeThatHasProbes) {
  EXPECT_EQ(search(5, 1), 5);
  for (const auto& each : report({})) EXPECT_THAT(each.name, testing::Not(HasSubstr("measured")));
}

}  // namespace
}  // namespace assay::probe
