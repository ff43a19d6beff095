// A thread is suspended for good at each marked point of our own maps, one point after the other.

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "assay/rig/history.h"
#include "assay/rig/progress.h"
#include "assay/subject/subject.h"

namespace assay::rig {
namespace {

using workload::operation;

struct marked_map {
  std::string name;
  std::vector<std::string> sources;  // below native/
  // Where a suspended thread holds up updates of other threads: where it holds a lock.
  std::vector<std::string> holding{};
  // Where it may hold locks or none yet.
  std::vector<std::string> may_hold{};
  // Points that only another of these maps passes.
  std::vector<std::string> elsewhere{};
  bool lock_free = false;
  bool searches_wait = false;  // for who holds a lock, as updates do
  std::uint64_t keys = 8;
};
std::ostream& operator<<(std::ostream& out, const marked_map& map) { return out << map.name; }

class suspended_in : public ::testing::TestWithParam<marked_map> {
 protected:
  const subject::subject_entry& subject = subject::find_subject(GetParam().name);

  std::vector<std::string> marked() const {
    std::vector<std::string> points;
    for (const auto& source : GetParam().sources) {
      const auto more = points_marked_in(LIBRARY_DIR + ("/" + source));
      points.insert(points.end(), more.begin(), more.end());
    }
    std::erase_if(points, [](const auto& point) { return contains(GetParam().elsewhere, point); });
    return points;
  }
  static bool contains(const std::vector<std::string>& points, const std::string& point) {
    return std::ranges::find(points, point) != points.end();
  }
};

// Also that every point is reached, and that none was left out of the list above by a new name.
TEST_P(suspended_in, updates_of_others_wait_where_a_lock_is_held_and_nowhere_else) {
  const auto points = marked();
  EXPECT_FALSE(points.empty());
  for (const auto& point : points) {
    const auto seen = suspend_at(subject, point, {.seed = 1, .keys = GetParam().keys});
    EXPECT_TRUE(seen.reached) << point;
    if (!contains(GetParam().may_hold, point)) {
      EXPECT_EQ(seen.waited.has_value(), contains(GetParam().holding, point))
          << point << (seen.waited ? ": " + to_string(*seen.waited) : "");
    }
    EXPECT_EQ(seen.problem, "") << point;
  }
}

// Where searches wait for who holds a lock, all others may be in an update by then, and wait too.
TEST_P(suspended_in, searches_of_others_never_wait_unless_it_is_said) {
  for (const auto& point : marked()) {
    const bool holds = contains(GetParam().holding, point) || contains(GetParam().may_hold, point);
    if (GetParam().searches_wait && holds) continue;
    const auto seen = suspend_at(subject, point,
                                 {.seed = 2, .others = {operation::find}, .keys = GetParam().keys});
    EXPECT_TRUE(seen.reached) << point;
    EXPECT_EQ(seen.waited, std::nullopt) << point;
    EXPECT_EQ(seen.problem, "") << point;
  }
}

// Who waits for a lock that is not the structure's own is seen, too.
TEST(suspended_in_a_critical_section, is_waited_for_by_others) {
  for (const auto* name : {"bt_map_mutex", "bt_map_spin", "bt_map_elided_6"}) {
    const auto seen =
        suspend_at(subject::find_subject(name), "bt_map_insert_locked", {.seed = 1, .keys = 8});
    EXPECT_TRUE(seen.reached) << name;
    EXPECT_NE(seen.waited, std::nullopt) << name;
    EXPECT_EQ(seen.problem, "") << name;
  }
}

TEST_P(suspended_in, says_whether_it_is_lock_free) {
  EXPECT_EQ(subject.lock_free, GetParam().lock_free);
}

// With so few keys and leaves of 6, nodes are split and joined all the time. A snapshot that locks
// leaves, as it was disturbed again and again, holds those before the one that it comes to.
marked_map bt_map(const std::string& name, const std::string& index = "bt_tree.h",
                  const std::string& balance = "bt_balance.h") {
  return {name,
          {"assay/maps/" + index, "assay/maps/" + balance, "assay/maps/bt_leaves.h",
           "assay/maps/bt_reader.h", "assay/maps/bt_writer.h"},
          {"bt_map_insert_locked", "bt_map_erase_locked", "bt_map_assign_locked",
           "bt_map_balance_locked", "bt_map_balance_before_unlock"},
          {"bt_map_walk_before_lock", "bt_map_walk_waits"},
          {},
          false,
          true,
          100};
}

marked_map ticket_bst(const std::string& name, const std::string& reclaimer,
                      const std::vector<std::string>& elsewhere) {
  return {name,
          {"assay/maps/ticket_bst.h", "assay/maps/external_tree.h", reclaimer},
          {"ticket_bst_insert_locked", "ticket_bst_insert_before_unlock",
           "ticket_bst_erase_locked_above", "ticket_bst_erase_locked",
           "ticket_bst_erase_before_unlock"},
          {},
          elsewhere};
}

INSTANTIATE_TEST_SUITE_P(
    points, suspended_in,
    ::testing::Values(marked_map{"natarajan_mittal_bst",
                                 {"assay/maps/natarajan_mittal_bst.h", "assay/maps/external_tree.h",
                                  "assay/reclaim/epochs.h"},
                                 {},
                                 {},
                                 {},
                                 true},
                      ticket_bst("ticket_bst", "assay/reclaim/epochs.h",
                                 {"ticket_bst_seek_after_protect"}),
                      ticket_bst("ticket_bst_hazard", "assay/reclaim/hazard_pointers.h",
                                 {"external_tree_search_step"}),
                      bt_map("bt_map_6"), bt_map("bt_map_replacing_6"),
                      bt_map("radix_map_6", "radix_tree.h", "radix_balance.h")),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace assay::rig
