#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "assay/input/bad_request.h"
#include "assay/layout/cache.h"
#include "assay/layout/lines.h"
#include "assay/layout/order.h"
#include "assay/layout/profile.h"
#include "assay/layout/replay.h"
#include "assay/layout/trace.h"
#include "assay/random/decision.h"

namespace assay::layout {
namespace {

using random::decisions;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Procedures of one block each, which are executed in this order; `names` has a letter for each.
trace executed(const std::string& names, const std::string& order, std::uint32_t bytes = 32) {
  trace made;
  for (const char name : names) {
    const auto number = static_cast<std::uint32_t>(made.procedures.size());
    made.procedures.push_back(
        {.name = {name}, .address = 0x1000 + std::uint64_t{number} * bytes, .bytes = bytes});
    made.blocks.push_back({.procedure = number,
                           .offset = 0,
                           .bytes = static_cast<std::uint16_t>(bytes),
                           .instructions = 8});
  }
  for (const char each : order) {
    made.executed.push_back(static_cast<std::uint32_t>(names.find(each)));
    made.instructions += 8;
  }
  return made;
}

std::string named(const trace& of, const order& all) {
  std::string names;
  for (const std::uint32_t each : all) names += of.procedures[each].name;
  return names;
}

std::vector<edge> edges_of(const trace& of,
                           std::initializer_list<std::pair<const char*, double>> weights) {
  const auto number = [&](char name) {
    const auto found = std::ranges::find(of.procedures, std::string{name}, &procedure::name);
    return static_cast<std::uint32_t>(found - of.procedures.begin());
  };
  std::vector<edge> edges;
  for (const auto& [pair, weight] : weights) {
    const auto [a, b] = std::minmax({number(pair[0]), number(pair[1])});
    edges.push_back({.a = a, .b = b, .weight = weight});
  }
  return edges;
}

// Counts how often each order is drawn.
std::map<std::string, int> orders(const trace& of, const std::vector<edge>& edges, int draws,
                                  double noise = 0) {
  std::map<std::string, int> found;
  for (int seed = 0; seed < draws; ++seed) {
    const decisions drawn(static_cast<std::uint64_t>(seed));
    ++found[named(of, pettis_hansen(of, noisy(of, edges, noise, drawn), drawn))];
  }
  return found;
}

// Expects a count of successes to be within 5 standard deviations of its mean.
void expect_share(int count, int draws, double share) {
  EXPECT_NEAR(count, draws * share, 5 * std::sqrt(draws * share * (1 - share)));
}

TEST(pettis_hansen, equal_weights_give_each_order_of_the_paper_as_often) {
  const trace four = executed("ABCD", "");
  const auto edges = edges_of(four, {{"AD", 1000}, {"AB", 100}, {"AC", 100}, {"BC", 10}});
  const auto found = orders(four, edges, 4000);
  ASSERT_EQ(found.size(), 4U);
  for (const char* each : {"DABC", "DACB", "CBAD", "BCAD"}) {
    expect_share(found.at(each), 4000, 0.25);
  }
}

TEST(pettis_hansen, a_little_more_weight_decides_unless_there_is_noise) {
  const trace four = executed("ABCD", "");
  const auto edges = edges_of(four, {{"AD", 1000}, {"AB", 101}, {"AC", 100}, {"BC", 10}});
  const auto found = orders(four, edges, 1000);
  ASSERT_EQ(found.size(), 2U);
  expect_share(found.at("DABC"), 1000, 0.5);
  expect_share(found.at("CBAD"), 1000, 0.5);
  const auto with_noise = orders(four, edges, 1000, 0.1);
  for (const char* each : {"DABC", "DACB", "CBAD", "BCAD"}) EXPECT_GT(with_noise.at(each), 100);
}

TEST(pettis_hansen, nothing_drawn_is_one_order) {
  const trace four = executed("ABCD", "");
  const auto edges = edges_of(four, {{"AD", 1000}, {"AB", 100}, {"AC", 100}, {"BC", 10}});
  const auto first = pettis_hansen(four, edges, decisions::none());
  EXPECT_EQ(pettis_hansen(four, edges, decisions::none()), first);
}

TEST(permuted, nothing_drawn_is_the_order_of_the_link) {
  const trace four = executed("ABCD", "");
  EXPECT_EQ(named(four, permuted(four, decisions::none())), "ABCD");
}

TEST(pettis_hansen, what_has_no_edge_comes_last_in_any_order) {
  const trace five = executed("ABCDE", "");
  const auto edges = edges_of(five, {{"AB", 1}});
  const auto found = orders(five, edges, 600);
  EXPECT_EQ(found.size(), 12U);  // two ways round, and six orders of the others
  for (const auto& [each, times] : found) {
    EXPECT_THAT(each.substr(0, 2), ::testing::AnyOf("AB", "BA"));
  }
}

TEST(layouts, of_one_procedure_are_all_the_same) {
  const trace one = executed("A", "AAA");
  const decisions drawn(1);
  EXPECT_EQ(pettis_hansen(one, profile(one, {}), drawn), order{0});
  EXPECT_EQ(permuted(one, drawn), order{0});
  EXPECT_EQ(replay(one, without_conflicts(one, {}, {}, drawn), {}).first, 1U);
  EXPECT_LE(replay(one, scattered(one, {}, drawn), {}).first, 2U);  // it may begin amid a line
}

TEST(profile, counts_entries_from_the_last_procedure_and_no_edge_to_itself) {
  const trace of = executed("ABC", "AABABBC");
  const auto edges = profile(of, {});
  ASSERT_EQ(edges.size(), 2U);
  EXPECT_EQ(edges[0].weight, 3);  // A and B
  EXPECT_EQ(edges[1].weight, 1);  // B and C
}

TEST(profile, history_reaches_to_powers_of_one_hundredth) {
  // A is entered once, and then B and C by turns: w(A, .) gets a^n of the entries after it.
  const auto weight_of_a = [](double a) {
    const trace of = executed("ABC", "A" + std::string("BCBCBCBCBCBCBCBCBCBC"));
    double sum = 0;
    for (const edge& each : profile(of, {.a = a})) sum += each.a == 0 ? each.weight : 0;
    return sum;
  };
  const auto powers = [](double a, int entries) {
    double sum = 0;
    for (int n = 0; n < entries; ++n) sum += std::pow(a, n);
    return sum;
  };
  EXPECT_THAT(weight_of_a(0), DoubleNear(1, 1e-12));
  EXPECT_THAT(weight_of_a(0.5), DoubleNear(powers(0.5, 7), 1e-12));
  EXPECT_THAT(weight_of_a(0.7), DoubleNear(powers(0.7, 13), 1e-12));
  EXPECT_THAT(weight_of_a(0.1), DoubleNear(powers(0.1, 3), 1e-12));
}

TEST(profile, a_distinct_history_holds_each_procedure_once) {
  const trace of = executed("ABC", "ABABABC");
  const auto edges = profile(of, {.a = 0.5, .distinct = true});
  const auto weight = [&](std::uint32_t a, std::uint32_t b) {
    for (const edge& each : edges) {
      if (each.a == a && each.b == b) return each.weight;
    }
    return 0.0;
  };
  EXPECT_THAT(weight(1, 2), DoubleNear(1, 1e-12));
  EXPECT_THAT(weight(0, 2), DoubleNear(0.5, 1e-12));
}

TEST(profile, stubs_are_a_part_of_what_calls_them) {
  trace of = executed("APB", "APBAPB");
  of.procedures[1].movable = false;
  const auto edges = profile(of, {});
  ASSERT_EQ(edges.size(), 1U);
  EXPECT_EQ(edges[0].weight, 3);
  const auto called = calls(of);
  ASSERT_EQ(called.size(), 2U);
  EXPECT_EQ(called[0].weight, 2);  // A called B, and B called A once: each entry is at a begin
  EXPECT_EQ(called[1].weight, 1);
}

TEST(profile, samples_are_a_part_of_all_entries) {
  const trace of = executed("AB", "ABABABABAB");
  EXPECT_EQ(profile(of, {})[0].weight, 9);
  EXPECT_EQ(profile(of, {.sampled = {.one_in = 3, .offset = 0}})[0].weight,
            3);  // the first one has no history
  EXPECT_EQ(profile(of, {.sampled = {.one_in = 3, .offset = 1}})[0].weight, 3);
}

TEST(profile_lines, counts_what_comes_between_two_executions_of_a_line) {
  const trace of = executed("ABC", "ABCABA");
  const line_profile found = profile_lines(of, {});
  std::map<std::string, double> weights;
  for (const edge& each : found.edges) {
    std::string pair;
    for (const std::uint32_t line : {each.a, each.b}) {
      pair += of.procedures[found.lines[line].procedure].name;
    }
    std::ranges::sort(pair);
    weights[pair] += each.weight;
  }
  // Between two of A: BC, and B; between two of B: CA; C comes once.
  EXPECT_EQ(weights, (std::map<std::string, double>{{"AB", 3}, {"AC", 1}, {"BC", 1}}));
}

TEST(by_lines, lines_that_are_executed_in_turn_share_no_set) {
  // Each procedure has two lines and executes only the first one: these need eight sets.
  trace of = executed("ABCDEFGH", "ABCDEFGHABCDEFGHHGFEDCBAHGFEDCBA", 64);
  for (block& each : of.blocks) each.bytes = 32;
  const cache_shape cache{.bytes = 256, .ways = 1, .line = 32};  // eight sets
  const line_profile profile = profile_lines(of, cache);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const addresses where = by_lines(of, profile, cache, 0.1, decisions(seed));
    EXPECT_EQ(replay(of, where, {.first = cache}).first, 8U);
  }
}

TEST(by_lines, nothing_drawn_is_one_layout) {
  const trace of = executed("ABCDE", "ABCABDEDECABDE", 100);
  const line_profile profile = profile_lines(of, {});
  const addresses first = by_lines(of, profile, {}, 0, decisions::none());
  EXPECT_EQ(by_lines(of, profile, {}, 0, decisions::none()), first);
}

TEST(with_gaps, each_begins_with_its_set_and_none_overlap) {
  const cache_shape cache{.bytes = 1024, .ways = 1, .line = 32};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const decisions drawn(seed);
    trace of = executed("ABCDEFGHIJKL", "");
    of.procedures[10].movable = false;
    random::decision draw = drawn.named("test");
    for (procedure& each : of.procedures) {
      each.bytes = static_cast<std::uint32_t>(draw.choose(300));
    }
    std::vector<begin_at> placed;
    for (std::uint32_t i = 0; i < 6; ++i) {
      placed.push_back({.procedure = i, .set = draw.choose(32)});
    }
    const addresses where = with_gaps(of, placed, {6, 7, 8}, cache, drawn);
    for (const begin_at& each : placed) EXPECT_EQ(where[each.procedure] / 32 % 32, each.set);
    const order all = order_of(where);
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_GE(where[all[i]], where[all[i - 1]] + of.procedures[all[i - 1]].bytes);
    }
  }
}

TEST(replay, procedures_conflict_in_a_direct_mapped_cache_if_they_share_a_set) {
  const trace two = executed("AB", "ABABABAB");
  const hierarchy caches{.first = {.bytes = 1024, .ways = 1, .line = 32}};
  EXPECT_EQ(replay(two, {0x1000, 0x1020}, caches).first, 2U);
  const misses shared = replay(two, {0x1000, 0x1000 + 1024}, caches);
  EXPECT_EQ(shared.first, 8U);
  EXPECT_EQ(shared.second, 2U);
  const std::vector<conflict> pairs = conflicts(two, {0x1000, 0x1000 + 1024}, caches);
  ASSERT_EQ(pairs.size(), 2U);  // each of the other
  EXPECT_EQ(pairs[0].times + pairs[1].times, 6U);
}

TEST(replay, expansion_moves_procedures_into_each_other_s_way) {
  // As the spike of Blackwell 1998, figure 6: two procedures that conflict at one factor alone.
  const trace two = executed("AB", "ABABABAB");
  const hierarchy caches{.first = {.bytes = 8192, .ways = 1, .line = 32}};
  const addresses where{0x1000, 0x1000 + 5856};  // 5856 x 1.4 = 8198, one line of 32 bytes
  EXPECT_EQ(replay(two, where, caches, 1.0).first, 2U);
  EXPECT_GT(replay(two, where, caches, 1.4).first, 8U);
  EXPECT_EQ(replay(two, where, caches, 1.2).first, 4U);
}

TEST(replay, a_fully_associative_cache_knows_no_layout) {
  std::string often;
  for (int i = 0; i < 400; ++i) often += "ABCDEFGH"[i * i % 7 + i % 2];
  const trace of = executed("ABCDEFGH", often, 64);
  const hierarchy caches{.first = {.bytes = 256, .ways = 8, .line = 32}};
  std::set<std::uint64_t> found;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    // Each begins with a line, so that none shares one.
    const addresses where = in_order(of, permuted(of, decisions(seed)));
    found.insert(replay(of, where, caches).first);
  }
  EXPECT_EQ(found.size(), 1U);
}

TEST(replay, a_block_of_many_lines_takes_each_of_them_and_the_second_cache_counts_its_own) {
  const trace one = executed("A", "AA", 100);
  const hierarchy caches{.first = {.bytes = 64, .ways = 1, .line = 32},
                         .second = {.bytes = 256, .ways = 1, .line = 32}};
  const misses counted = replay(one, {0x1010}, caches);  // four lines, in two sets
  EXPECT_EQ(counted.first, 8U);
  EXPECT_EQ(counted.second, 4U);
}

TEST(scattered, begins_anywhere_in_the_cache_as_often) {
  const trace of = executed("AB", "");
  const cache_shape cache{.bytes = 1024, .ways = 1, .line = 32};
  std::map<std::uint64_t, int> quarters;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    ++quarters[scattered(of, {.first = cache}, decisions(seed))[1] % 1024 / 256];
  }
  for (std::uint64_t each = 0; each < 4; ++each) expect_share(quarters[each], 4000, 0.25);
}

TEST(replay, least_recent_lines_go_first_and_random_ones_are_drawn) {
  const trace three = executed("ABC", "ABACABAC");
  const addresses where{0x1000, 0x1020, 0x1040};
  hierarchy caches{.first = {.bytes = 64, .ways = 2, .line = 32}};
  EXPECT_EQ(replay(three, where, caches).first, 5U);  // A stays
  caches.first.policy = replacement::random;
  std::set<std::uint64_t> found;
  for (caches.seed = 0; caches.seed < 40; ++caches.seed) {
    found.insert(replay(three, where, caches).first);
  }
  EXPECT_GT(found.size(), 1U);
}

TEST(replay, the_same_layout_costs_the_same) {
  const trace of = executed("ABCDEFGH", "ABCDEFGHHGFEDCBAACEG", 96);
  const decisions drawn(5);
  const addresses where = scattered(of, {}, drawn);
  EXPECT_EQ(where, scattered(of, {}, drawn));
  EXPECT_EQ(replay(of, where, {}).first, replay(of, where, {}).first);
}

TEST(without_conflicts, procedures_that_run_together_share_no_set_if_there_is_room) {
  const trace of = executed("ABCDEFGH", "ABCDEFGHABCDEFGHABCDEFGHABCDEFGH", 128);
  // Seven that are placed leave room for the eighth, wherever they are.
  const cache_shape cache{.bytes = 2048, .ways = 1, .line = 32};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const addresses where = without_conflicts(of, profile(of, {.a = 0.7}), cache, decisions(seed));
    EXPECT_EQ(replay(of, where, {.first = cache}).first, 32U) << seed;  // each line once
  }
}

TEST(layouts, no_procedures_overlap) {
  const trace of = executed("ABCDEFGHIJ", "ABABCDCDACAC", 200);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const decisions drawn(seed);
    const auto edges = profile(of, {.a = 0.5});
    for (const addresses& where :
         {scattered(of, {}, drawn), without_conflicts(of, edges, {}, drawn),
          in_order(of, permuted(of, drawn)), in_order(of, pettis_hansen(of, edges, drawn))}) {
      const order all = order_of(where);
      for (std::size_t i = 1; i < all.size(); ++i) {
        EXPECT_GE(where[all[i]], where[all[i - 1]] + 200);
      }
    }
  }
}

class trace_file : public ::testing::Test {
 protected:
  void SetUp() override {
    trace_writer writer(path, R"({"program":"p","build_id":"ab","procedures":[["f",4096,32,1]]})");
    for (int i = 0; i < 200'000; ++i) writer.add(static_cast<std::uint32_t>(i % 2));
    writer.finish({{.procedure = 0, .offset = 0, .bytes = 8, .instructions = 2},
                   {.procedure = 0, .offset = 8, .bytes = 4, .instructions = 1}},
                  7);
  }
  void TearDown() override { std::filesystem::remove(path); }

  [[nodiscard]] std::string content() const {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return std::move(all).str();
  }
  void replace(const std::string& content) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  const std::filesystem::path path =
      ::testing::TempDir() + "layout_test." + std::to_string(::getpid()) + ".trace";
};

TEST_F(trace_file, is_read_as_it_was_written) {
  const trace found = read_trace(path);
  EXPECT_EQ(found.program, "p");
  EXPECT_EQ(found.build_id, "ab");
  EXPECT_EQ(found.outside, 7U);
  ASSERT_EQ(found.executed.size(), 200'000U);
  EXPECT_EQ(found.executed[199'999], 1U);
  EXPECT_EQ(found.instructions, 300'000U);
}

TEST_F(trace_file, is_refused_if_it_is_truncated_anywhere) {
  const std::string whole = content();
  for (const std::size_t length : {whole.size() - 1, whole.size() / 2, std::size_t{60}}) {
    replace(whole.substr(0, length));
    EXPECT_THAT([&] { static_cast<void>(read_trace(path)); },
                ThrowsMessage<bad_request>(HasSubstr("is truncated")));
  }
}

TEST_F(trace_file, is_refused_if_it_is_damaged_or_something_else) {
  std::string whole = content();
  whole[whole.find('\n') + 20] ^= 1;
  replace(whole);
  EXPECT_THAT([&] { static_cast<void>(read_trace(path)); },
              ThrowsMessage<bad_request>(HasSubstr("is damaged")));
  replace("#!/bin/sh\n");
  EXPECT_THAT([&] { static_cast<void>(read_trace(path)); },
              ThrowsMessage<bad_request>(HasSubstr("is no trace")));
}

}  // namespace
}  // namespace assay::layout
