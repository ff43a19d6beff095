// Histories of bt_map with keys and values that are no numbers, which the rig gives subjects alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "assay/maps/bt_map.h"
#include "assay/rig/linearizability.h"
#include "assay/subject/subject.h"
#include "tests/maps/bt_map_test_fixture.h"
#include "tests/maps/bt_map_test_subject.h"
#include "tests/maps/trees_test_fixture.h"

namespace assay::rig {
namespace {

// Nodes of 6, so that a few keys are in several of them, and values that keep all of a number.
std::vector<bt_test::variant> variants() {
  std::vector<bt_test::variant> all = bt_test::variants_of_words();
  std::ranges::copy(bt_test::variants_of_records(), std::back_inserter(all));
  std::ranges::copy(bt_test::variants_of_digits(), std::back_inserter(all));
  std::erase_if(all, [](const bt_test::variant& each) {
    return each.leaf_capacity > 6 || each.most_value < 0x7fff'ffff;
  });
  return all;
}

subject::subject_entry subject_of(const bt_test::variant& of) {
  using workload::operation;
  subject::subject_entry subject{
      .name = of.name,
      .description = "",
      .max_threads = std::nullopt,
      .holds_nothing = false,
      // What all of these keep, and keep in order: doubles have 53 bits, other keys a sign.
      .types = {{subject::type_spec::kind::uint32, subject::type_spec::kind::uint32,
                 [make = of.make_map](const subject::map_hints& /*hints*/) { return make(); }}},
      .operations = {operation::insert, operation::erase, operation::find, operation::size,
                     operation::snapshot}};
  subject.atomic = subject.operations;
  subject::add_extra<bt_map<std::uint64_t, std::uint64_t>::handle>(subject,
                                                                   subject::detail::assays_own());
  return subject;
}

class bt_map_histories : public testing::TestWithParam<bt_test::variant> {};
INSTANTIATE_TEST_SUITE_P(all, bt_map_histories, testing::ValuesIn(variants()), bt_test::name_of);

TEST_P(bt_map_histories, are_linearizable) {
  const auto histories = static_cast<std::uint64_t>(1000 / trees_test::slowdown);
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  recorded counts;
  EXPECT_EQ(
      check_linearizability(subject_of(GetParam()), {.seed = seed, .histories = histories}, counts),
      judgement::linearizable);
  // That the histories are worth it.
  EXPECT_GE(counts.meeting, histories / 10);
}

}  // namespace
}  // namespace assay::rig
