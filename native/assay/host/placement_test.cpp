#include "assay/host/placement.h"

#include <gmock/gmock.h>
#include <hwloc.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "assay/host/topology.h"
#include "assay/input/bad_request.h"

namespace assay::host {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using policy = pinning::policy;

std::vector<unsigned> order(policy kind, unsigned threads, const topology& machine) {
  return placement({.kind = kind, .processors = {}}, threads, machine).processors();
}

// 2 packages of 1 NUMA node of 2 cores of 2 hardware threads. Operating systems often number the
// second hardware threads last; pu numbers here: package 0 has cores {0, 4} and {1, 5}, package 1
// {2, 6} and {3, 7}.
const topology& two_packages() {
  static const topology machine("package:2 numa:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
  return machine;
}

TEST(placement, compact_fills_a_core_then_a_package) {
  EXPECT_THAT(order(policy::compact, 8, two_packages()), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
}

TEST(placement, cores_first_gives_every_core_a_thread_before_any_gets_a_second) {
  EXPECT_THAT(order(policy::cores_first, 8, two_packages()), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(placement, scatter_alternates_packages_then_cores_then_hardware_threads) {
  EXPECT_THAT(order(policy::scatter, 8, two_packages()), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(placement, scatter_alternates_numa_nodes_within_a_package) {
  const topology machine("package:2 numa:2 core:2 pu:1");
  EXPECT_THAT(order(policy::scatter, 8, machine), ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
}

TEST(placement, scatter_and_cores_first_agree_where_there_is_one_package) {
  const topology machine("package:1 core:4 pu:2");
  EXPECT_THAT(order(policy::scatter, 8, machine), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_EQ(order(policy::cores_first, 8, machine), order(policy::scatter, 8, machine));
}

TEST(placement, hardware_threads_without_cores_count_as_cores) {
  const topology machine("package:2 pu:2");
  EXPECT_THAT(order(policy::scatter, 4, machine), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(order(policy::cores_first, 4, machine), ElementsAre(0, 1, 2, 3));
}

TEST(placement, every_policy_orders_exactly_the_allowed_processors) {
  const topology machine("package:2 numa:2 core:2 pu:2", "1-4,11,13-14");
  for (const policy kind : {policy::none, policy::compact, policy::scatter, policy::cores_first}) {
    EXPECT_THAT(order(kind, 100, machine), ::testing::UnorderedElementsAre(1, 2, 3, 4, 11, 13, 14));
  }
}

TEST(placement, scatter_skips_what_is_not_allowed) {
  const topology machine("package:2 core:2 pu:2", "1,4-7");
  EXPECT_THAT(order(policy::scatter, 5, machine), ElementsAre(1, 4, 6, 5, 7));
}

struct expected_marks {
  policy kind;
  std::optional<unsigned> smt;
  std::vector<unsigned> socket;
};

void expect_marks(const topology& machine, const std::vector<expected_marks>& expected) {
  for (const auto& [kind, smt, socket] : expected) {
    const sharing_marks marks = marks_of(kind, machine);
    EXPECT_EQ(marks.smt, smt) << static_cast<int>(kind);
    EXPECT_EQ(marks.socket, socket) << static_cast<int>(kind);
  }
}

TEST(marks, are_where_a_core_is_shared_and_where_each_further_package_is_used) {
  expect_marks(
      two_packages(),
      {{policy::compact, 2, {5}}, {policy::cores_first, 5, {3}}, {policy::scatter, 5, {2}}});
  expect_marks(topology("package:3 numa:2 core:2 pu:2"), {{policy::compact, 2, {9, 17}},
                                                          {policy::cores_first, 13, {5, 9}},
                                                          {policy::scatter, 13, {2, 3}}});
}

TEST(marks, are_not_where_nothing_is_shared_or_only_one_package_is_there) {
  expect_marks(topology("package:1 core:4 pu:1"), {{policy::compact, std::nullopt, {}},
                                                   {policy::cores_first, std::nullopt, {}},
                                                   {policy::scatter, std::nullopt, {}}});
  expect_marks(topology("package:2 pu:2"), {{policy::compact, std::nullopt, {3}},
                                            {policy::cores_first, std::nullopt, {3}},
                                            {policy::scatter, std::nullopt, {2}}});
}

TEST(marks, know_only_the_allowed_processors) {
  const topology machine("package:2 core:2 pu:2", "1,4-7");
  expect_marks(
      machine,
      {{policy::compact, 3, {2}}, {policy::cores_first, 4, {2}}, {policy::scatter, 4, {2}}});
}

TEST(placement, uses_no_more_processors_than_threads) {
  EXPECT_THAT(order(policy::compact, 3, two_packages()), ElementsAre(0, 4, 1));
}

TEST(placement, an_unbound_placement_may_use_every_allowed_processor) {
  EXPECT_THAT(order(policy::none, 1, two_packages()), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(placement, a_list_is_taken_in_order_and_each_processor_is_in_use_once) {
  const placement place({.kind = policy::list, .processors = {6, 6, 2, 0}}, 3, two_packages());
  EXPECT_THAT(place.processors(), ElementsAre(6, 2));
}

TEST(placement, names_a_listed_processor_that_does_not_exist) {
  EXPECT_THAT([] { placement({.kind = policy::list, .processors = {1, 8}}, 1, two_packages()); },
              ThrowsMessage<bad_request>("pinning: processor 8 does not exist; allowed are 0-7"));
}

TEST(placement, names_a_listed_processor_that_may_not_be_used) {
  const topology machine("package:1 core:8 pu:1", "0-2,5");
  EXPECT_THAT([&] { placement({.kind = policy::list, .processors = {3}}, 1, machine); },
              ThrowsMessage<bad_request>(
                  "pinning: processor 3 may not be used by this process; allowed are 0-2,5"));
}

TEST(placement, binds_threads_to_this_machines_processors_in_turn) {
  const placement all({.kind = policy::compact, .processors = {}}, 4096);
  const auto& processors = all.processors();
  for (unsigned i = 0; i < 2 * processors.size(); ++i) {
    std::jthread([&] {
      all.bind_this_thread(i);
      EXPECT_THAT(bound_to(), ElementsAre(processors[i % processors.size()]));
      EXPECT_EQ(last_ran_on(), processors[i % processors.size()]);
    });
  }
}

// --- Exchanges
// ---------------------------------------------------------------------------------------------

constexpr std::uint64_t exchanges = 300;

// Which processor takes the place of which.
std::map<unsigned, unsigned> exchange(policy kind, const topology& machine, std::uint64_t seed) {
  const pinning pinning{.kind = kind, .processors = {}};
  const auto before = placement(pinning, 1000, machine).processors();
  const auto after = placement(pinning, 1000, machine, seed).processors();
  EXPECT_EQ(before.size(), after.size());
  std::map<unsigned, unsigned> places;
  for (std::size_t i = 0; i < before.size(); ++i) places[before[i]] = after[i];
  return places;
}

// The type of the smallest part that has both, and that part's depth.
std::pair<int, int> shared_by(unsigned a, unsigned b, const topology& machine) {
  const auto object = [&](unsigned number) {
    return hwloc_get_pu_obj_by_os_index(machine.get(), number);
  };
  const hwloc_obj* const both = hwloc_get_common_ancestor_obj(machine.get(), object(a), object(b));
  return {both->type, both->depth};
}

struct places_of {
  const char* machine;
  const char* allowed;
  std::map<unsigned, std::set<unsigned>> of_some;  // each place that a processor comes to
};

TEST(exchange, is_among_equivalent_processors_of_which_each_comes_to_each_place) {
  const std::set<unsigned> all{0, 1, 2, 3, 4, 5, 6, 7};
  for (const auto& [synthetic, allowed, of_some] : std::initializer_list<places_of>{
           {"package:2 numa:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)", "", {{0, all}, {7, all}}},
           {"package:2 l3:2 l2:1 core:1 pu:2", "", {{0, all}, {3, all}}},
           {"package:2 pu:4", "", {{0, all}}},
           // Package 0 has but one processor, and core 1 of package 1 as well.
           {"package:2 core:2 pu:2", "0,4-6", {{0, {0}}, {4, {4, 5}}, {5, {4, 5}}, {6, {6}}}},
           // Cores 1 and 2 are alike, and differ from core 0.
           {"core:3 pu:2", "0,2-5", {{0, {0}}, {2, {2, 3, 4, 5}}}},
           {"core:1 pu:1", "", {{0, {0}}}},
       }) {
    const topology machine(synthetic, allowed);
    for (const policy kind : {policy::compact, policy::scatter, policy::cores_first}) {
      std::map<unsigned, std::set<unsigned>> seen;
      for (std::uint64_t seed = 0; seed < exchanges; ++seed) {
        const auto places = exchange(kind, machine, seed);
        std::vector<unsigned> taken;
        for (const auto& [processor, place] : places) {
          taken.push_back(place);
          seen[processor].insert(place);
          for (const auto& [other, other_place] : places) {
            EXPECT_EQ(shared_by(place, other_place, machine), shared_by(processor, other, machine));
          }
        }
        EXPECT_THAT(taken, ::testing::UnorderedElementsAreArray(to_vector(machine.allowed())));
      }
      for (const auto& [processor, comes_to] : of_some) {
        EXPECT_EQ(seen.at(processor), comes_to) << synthetic << " " << processor;
      }
    }
  }
}

TEST(exchange, is_never_between_kinds_of_cores) {
  const topology machine("package:1 core:4 pu:2");
  hwloc_bitmap_t big = hwloc_bitmap_alloc();
  hwloc_bitmap_set_range(big, 0, 3);
  ASSERT_EQ(hwloc_cpukinds_register(machine.get(), big, 1, 0, nullptr, 0), 0);
  hwloc_bitmap_free(big);
  std::set<unsigned> of_the_first, of_the_last;
  for (std::uint64_t seed = 0; seed < exchanges; ++seed) {
    const auto places = exchange(policy::compact, machine, seed);
    of_the_first.insert(places.at(0));
    of_the_last.insert(places.at(7));
  }
  EXPECT_THAT(of_the_first, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(of_the_last, ElementsAre(4, 5, 6, 7));
}

TEST(exchange, is_the_same_for_the_same_seed_and_for_fewer_threads) {
  const pinning scatter{.kind = policy::scatter, .processors = {}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto all = placement(scatter, 8, two_packages(), seed).processors();
    EXPECT_EQ(placement(scatter, 8, two_packages(), seed).processors(), all);
    EXPECT_THAT(placement(scatter, 2, two_packages(), seed).processors(),
                ElementsAre(all[0], all[1]));
  }
}

TEST(exchange, is_none_where_no_thread_is_bound) {
  const pinning none{.kind = policy::none, .processors = {}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_THAT(placement(none, 1, two_packages(), seed).processors(),
                ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  }
}

TEST(exchange, of_listed_processors_is_refused) {
  EXPECT_THAT(
      [] { placement({.kind = policy::list, .processors = {1}}, 1, two_packages(), 0); },
      ThrowsMessage<bad_request>(
          "placement: exchanges the processors of a policy, and pinning lists some; name a policy "
          "(compact, scatter or cores_first), or leave placement out"));
}

TEST(exchange, of_this_machine_keeps_to_the_allowed_processors) {
  const auto allowed = bound_to();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_THAT(placement({.kind = policy::cores_first, .processors = {}}, 4096, seed).processors(),
                ::testing::UnorderedElementsAreArray(allowed));
  }
}

TEST(placement, leaves_unbound_threads_alone) {
  const auto before = bound_to();
  const placement free({.kind = policy::none, .processors = {}}, 2);
  free.bind_this_thread(0);
  EXPECT_EQ(bound_to(), before);
  EXPECT_THAT(before, Contains(last_ran_on().value()));
}

TEST(placement, fails_to_bind_to_a_processor_that_does_not_exist) {
  EXPECT_THROW(bind_this_thread_to(100'000), std::system_error);
}

TEST(pinning, is_read_from_the_protocol) {
  EXPECT_EQ(parse_pinning("none").kind, policy::none);
  EXPECT_EQ(parse_pinning("compact").kind, policy::compact);
  EXPECT_EQ(parse_pinning("scatter").kind, policy::scatter);
  EXPECT_EQ(parse_pinning("cores_first").kind, policy::cores_first);
  const pinning list = parse_pinning(nlohmann::json::parse("[3, 1]"));
  EXPECT_EQ(list.kind, policy::list);
  EXPECT_THAT(list.processors, ElementsAre(3, 1));
}

TEST(pinning, refuses_anything_else_and_shows_it) {
  for (const auto& [wrong, shown] : {std::pair("\"packed\"", "not \"packed\""),
                                     {"[]", "not an empty list"},
                                     {"7", "not 7"},
                                     {"null", "not null"},
                                     {"{}", "not an object"}}) {
    const auto value = nlohmann::json::parse(wrong);
    EXPECT_THAT([&] { parse_pinning(value); }, ThrowsMessage<bad_request>(HasSubstr(shown)));
  }
  for (const char* wrong : {"-1", "1.5", "\"0\"", "4294967296"}) {
    EXPECT_THAT([&] { parse_pinning(nlohmann::json::array({0, nlohmann::json::parse(wrong)})); },
                ThrowsMessage<bad_request>(HasSubstr(wrong)));
  }
}

}  // namespace
}  // namespace assay::host
