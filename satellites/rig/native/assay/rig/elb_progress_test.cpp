// A thread is suspended for good at each marked point of elb_tree, and the others go on: they
// search, insert and erase in the very nodes that it was about to balance.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/point.h"
#include "assay/random/splitmix64.h"
#include "assay/rig/history.h"
#include "assay/rig/progress.h"
#include "assay/rig/test_maps.h"
#include "assay/rig/test_sets.h"
#include "assay/subject/any_map.h"
#include "assay/subject/subject.h"
#include "tests/maps/elb_test_variants.h"
#include "tests/test_maps.h"

namespace assay::rig {
namespace {

using elb_test::number;
using elb_test::per_key;
using elb_test::variant;
using subject::any_map;
using subject::subject_entry;
using workload::operation;

// An entry set as a map that may hold a key several times: progress.h counts how often. Its handles
// erase and search in all ways that there are, by turns.
template <class Set>
class entries_as_map final : public any_map {
  using set_handle = typename decltype(std::declval<Set&>().attach())::element_type;

 public:
  explicit entries_as_map(std::unique_ptr<Set> set) : set_(std::move(set)) {}

  std::unique_ptr<subject::any_handle> attach() override {
    return std::make_unique<handle>(set_->attach(), made_++);
  }
  void for_each(const subject::visitor& visit) override {
    for (const number entry : set_->walk()) visit(asked_as(entry / per_key), entry % per_key);
  }
  std::optional<std::string> broken_invariant() override { return set_->broken_invariant(); }

 private:
  class handle final : public subject::any_handle {
   public:
    handle(std::unique_ptr<set_handle> entries, number self)
        : entries_(std::move(entries)), next_(self) {}

    subject::progress perform(const workload::operation_batch&, std::size_t, std::size_t,
                              const subject::task&, subject::tally&) override {
      throw not_offered();
    }
    subject::answer ask(const subject::question& asked) override {
      const number first = held_as(asked.key) * per_key;
      const number last = first + per_key - 1;
      ++turn_;
      switch (asked.kind) {
        case operation::insert:
          // Few at a time, though others may come in between.
          if (entries_->search(first, last)) return false;
          entries_->insert(first + next_);
          next_ += handles;
          return true;
        case operation::erase:
          return (turn_ % 2 == 0 ? entries_->erase(first, last) : entries_->erase_near(first, last))
              .has_value();
        case operation::find: {
          if (turn_ % 16 == 0) static_cast<void>(entries_->approximate_size());
          if (turn_ % 2 == 0) return entries_->search(first, last);
          const auto all = entries_->visit(first, last);
          return all.empty() ? std::nullopt : std::optional(all.front());
        }
        default:
          throw not_offered();
      }
    }

   private:
    std::unique_ptr<set_handle> entries_;
    number next_;
    unsigned turn_ = 0;
  };

  // The last entries of a word are the sets' own, so that great keys are held lower
  // down. The rig asks for a few at each end, and for none between.
  static constexpr number least_moved = number{1} << 24U;  // a wide word has room for 56 bits
  static constexpr number by = (number{1} << 31U) - least_moved;
  static number held_as(number key) { return key < least_moved ? key : key - by; }
  static number asked_as(number key) { return key < least_moved / 2 ? key : key + by; }

  static constexpr number handles = 64;  // at most
  std::unique_ptr<Set> set_;
  std::atomic<number> made_{0};
};

subject_entry subject_of(std::string name, decltype(subject::held_types::build) build) {
  return {.name = std::move(name),
          .description = "an entry set",
          .max_threads = std::nullopt,
          .holds_nothing = false,
          // A key takes `per_key` entries of a word, of which some bits may be for other things.
          .types = {{subject::type_spec::kind::uint32, subject::type_spec::kind::uint64,
                     std::move(build)}},
          .operations = {operation::insert, operation::erase, operation::find},
          .lock_free = true,
          .takes_any_key = false};
}

subject_entry subject_of(const variant& of) {
  return subject_of(of.name,
                    [make = of.make](const subject::map_hints&) -> std::unique_ptr<any_map> {
                      return std::make_unique<entries_as_map<elb_test::number_set>>(make());
                    });
}

class elb_progress : public ::testing::TestWithParam<subject_entry> {};
INSTANTIATE_TEST_SUITE_P(all, elb_progress,
                         ::testing::Values(subject_of(elb_test::variants_of_words().at(0)),
                                           subject_of(elb_test::variants_of_words().at(1)),
                                           subject_of(elb_test::variants_of_wide_words().at(0)),
                                           subject_of(elb_test::variants_of_wide_words().at(1)),
                                           subject_of(elb_test::variants_of_users().at(0))),
                         [](const auto& of) { return of.param.name; });

// With 40 keys and leaves of 6 the root comes and goes, with 150 internal nodes do.
void expect_progress(const subject_entry& subject, const std::string& point) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(point + ", seed " + std::to_string(seed));
  unsigned reached = 0;
  // Roots are replaced when a tree begins to grow, and seldom after that.
  for (std::uint64_t i = 0; i < 8 || (reached < 4 && i < 40); ++i) {
    const auto seen = suspend_at(
        subject, point, {.seed = random::derive_seed(seed, i), .keys = i % 2 == 0 ? 40U : 150U});
    reached += seen.reached ? 1U : 0U;
    EXPECT_EQ(seen.waited, std::nullopt) << (seen.waited ? to_string(*seen.waited) : "");
    EXPECT_EQ(seen.problem, "");
  }
  EXPECT_GE(reached, 4U);
}

TEST_P(elb_progress, is_made_wherever_a_thread_stands) {
  const auto points = points_marked_in(LIBRARY_DIR "/assay/maps/elb_tree.h");
  EXPECT_EQ(points.size(), 15U) << "those of each step, of each kind of node, and of operations";
  for (const std::string& point : points) expect_progress(GetParam(), point);
}

// Between the announcement of a node and the second look at where it was found.
TEST(elb_progress_test, is_made_while_a_thread_has_announced_a_node) {
  expect_progress(subject_of(elb_test::variants_of_words().at(0)), "hazard_pointers_announced");
}

TEST(elb_progress_test, would_see_who_waits) {
  const auto locked = subject_of("locked_set", [](const auto&) -> std::unique_ptr<any_map> {
    using set = locked_set_by<marked_lock>;
    return std::make_unique<entries_as_map<set>>(std::make_unique<set>());
  });
  const auto seen = suspend_at(locked, "marked_lock_holding", {.seed = 1, .keys = 40});
  EXPECT_TRUE(seen.reached);
  EXPECT_NE(seen.waited, std::nullopt);
  EXPECT_EQ(seen.problem, "");
}

}  // namespace
}  // namespace assay::rig
