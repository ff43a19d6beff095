#include "assay/host/calibration.h"

#include <gmock/gmock.h>

#include <thread>

namespace assay::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// In a thread of its own, as calibrating binds the thread.
calibration calibrated(const pinning& pinning, unsigned threads) {
  calibration found;
  std::jthread([&] { found = calibrate(placement(pinning, threads)); }).join();
  return found;
}

TEST(calibrate, measures_each_metric_or_says_why_not) {
  const calibration found = calibrated({.kind = pinning::policy::cores_first, .processors = {}}, 2);
  for (const char* name : {"core_to_core_ns", "memory_ns", "arithmetic_ns"}) {
    EXPECT_NE(found.metrics.contains(name), found.unavailable.contains(name)) << name;
    if (found.metrics.contains(name)) {
      EXPECT_GT(found.metrics.at(name), 0) << name;
    } else {
      EXPECT_FALSE(found.unavailable.at(name).empty()) << name;
    }
  }
  EXPECT_TRUE(found.metrics.contains("arithmetic_ns"));
}

// From a processor twenty times as fast as today's to a memory that is a network away.
TEST(calibrate, finds_latencies_that_a_machine_can_have) {
  const calibration found = calibrated({.kind = pinning::policy::cores_first, .processors = {}}, 2);
  for (const auto& [name, ns] : found.metrics) {
    EXPECT_GT(ns, 0.05) << name;
    EXPECT_LT(ns, 10'000) << name;
  }
}

TEST(calibrate, measures_between_the_processors_asked_for_in_their_order) {
  const std::vector<unsigned> allowed = bound_to();
  if (allowed.size() < 2) {
    GTEST_SKIP() << "one processor: there are no pairs";
  }
  const calibration found =
      calibrated({.kind = pinning::policy::list, .processors = {allowed[1], allowed[0]}}, 2);
  EXPECT_THAT(found.processors, ElementsAre(allowed[1], allowed[0]));
  for (const auto& [a, b, one_way_ns] : found.pairs) {
    EXPECT_EQ(a, allowed[1]);
    EXPECT_EQ(b, allowed[0]);
    EXPECT_EQ(found.metrics.at("core_to_core_ns"), one_way_ns);
  }
}

TEST(calibrate, has_no_pair_on_one_processor) {
  const unsigned processor = bound_to().front();
  const calibration found =
      calibrated({.kind = pinning::policy::list, .processors = {processor, processor}}, 8);
  EXPECT_THAT(found.processors, ElementsAre(processor));
  EXPECT_THAT(found.pairs, IsEmpty());
  EXPECT_EQ(found.unavailable.at("core_to_core_ns"), "the threads use one processor only");
}

TEST(calibrate, measures_between_distinct_processors_when_threads_share_them) {
  const std::size_t processors = bound_to().size();
  if (processors < 2) {
    GTEST_SKIP() << "one processor: there are no pairs";
  }
  const calibration found = calibrated({.kind = pinning::policy::compact, .processors = {}}, 4096);
  EXPECT_EQ(found.processors.size(), processors);
  EXPECT_THAT(found.pairs,
              ::testing::SizeIs(::testing::Le(std::min<std::size_t>(processors - 1, 8))));
  for (const auto& [a, b, one_way_ns] : found.pairs) {
    EXPECT_NE(a, b);
    EXPECT_GT(one_way_ns, 0);
  }
}

}  // namespace
}  // namespace assay::host
