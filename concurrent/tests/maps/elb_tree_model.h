// What the models of ELB-trees share: three threads that change a tree, with hazard pointers that
// free at once, so that their balancings meet and obstruct each other. One splits a full
// internal node, one a full leaf elsewhere below that one's parent, or below itself, and one joins
// this leaf with a sparse one. What must hold: each entry that was inserted and not erased is there
// at the end, once, in a tree that is sound; and no node is touched after it was freed, which
// relacy sees of its atomic words.

#ifndef TESTS_MAPS_ELB_TREE_MODEL_H_
#define TESTS_MAPS_ELB_TREE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>

#define ASSAY_MODEL_STALLS 128
#include "tests/base/model_atomics.h"
// The product's own headers, with relacy's atomics.
#include "assay/maps/elb_tree.h"
#include "assay/reclaim/hazard_pointers.h"

namespace assay {

struct frees_at_once : reclaim::hazard_pointers_settings {
  static constexpr std::size_t nodes_between_scans = 1;
  static constexpr std::size_t records_per_chunk = 4;
};

// Entries are multiples of ten. Those inserted in ascending order leave leaves of three and nodes
// of three children, but the last ones, which have six. `highest` is such that the last node of the
// highest level but the root is full. The leaf up to `full_leaf` has three neighbours before it.
template <std::uint64_t Highest, std::uint64_t FullLeaf>
struct elb_tree_model : rl::test_suite<elb_tree_model<Highest, FullLeaf>, 3> {
  using tree = elb_tree<std::uint64_t, reclaim::basic_hazard_pointers<frees_at_once>, elb_nodes<6>>;

  void before() {
    tree_.emplace();
    expected_.clear();
    auto handle = tree_->attach();
    for (std::uint64_t entry = 10; entry <= Highest; entry += 10) insert(handle, entry);
    for (const std::uint64_t less : {19, 9, 5}) insert(handle, FullLeaf - less);
    for (const std::uint64_t less : {50, 40}) erase(handle, FullLeaf - less, FullLeaf - less);
  }

  void thread(unsigned index) {
    auto handle = tree_->attach();
    if (index == 0) {
      insert(handle, Highest + 5);
    } else if (index == 1) {
      insert(handle, FullLeaf - 15);
    } else {
      erase(handle, FullLeaf - 50, FullLeaf - 21);
      insert(handle, FullLeaf - 2);
    }
  }

  void after() {
    std::set<std::uint64_t> held;
    tree_->for_each([&](std::uint64_t entry) { RL_ASSERT(held.insert(entry).second); });
    RL_ASSERT(held == expected_);
    RL_ASSERT(!tree_->broken_invariant());
    tree_.reset();
  }

 private:
  void insert(typename tree::handle& handle, std::uint64_t entry) {
    handle.insert(entry);
    expected_.insert(entry);
  }
  // The smallest of them has been there from the beginning.
  void erase(typename tree::handle& handle, std::uint64_t lo, std::uint64_t hi) {
    const auto erased = handle.erase(lo, hi);
    RL_ASSERT(erased && *erased == *expected_.lower_bound(lo));
    expected_.erase(*erased);
  }

  std::optional<tree> tree_;
  std::set<std::uint64_t> expected_;  // of all threads: relacy runs one at a time
};

}  // namespace assay

#endif  // TESTS_MAPS_ELB_TREE_MODEL_H_
