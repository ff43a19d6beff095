// Inserts of one entry under relacy: two threads insert the same entry, in whose leaf places become
// free and are filled meanwhile, and one erases it. What must hold: of each entry, what inserts say
// that they added, less what erases return, is what is there at the end.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

#define ASSAY_MODEL_STALLS 32
#include "tests/base/model_atomics.h"
// The product's own headers, with relacy's atomics.
#include "assay/maps/elb_tree.h"
#include "assay/reclaim/hazard_pointers.h"

namespace assay {

struct frees_at_once : reclaim::hazard_pointers_settings {
  static constexpr std::size_t nodes_between_scans = 1;
  static constexpr std::size_t records_per_chunk = 4;
};
// Claims are often taken when they are wanted.
struct impatient : elb_nodes<6> {
  static constexpr unsigned patience = 1;
};

struct elb_insert_model : rl::test_suite<elb_insert_model, 3> {
  using tree = elb_tree<std::uint64_t, reclaim::basic_hazard_pointers<frees_at_once>, impatient>;

  void before() {
    tree_.emplace();
    net_ = {};
    auto handle = tree_->attach();
    for (const std::uint64_t entry : {2, 3}) insert(handle, entry);
  }

  void thread(unsigned index) {
    auto handle = tree_->attach();
    if (index == 0) {
      insert(handle, 1);
      erase(handle, 1);
    } else if (index == 1) {
      erase(handle, 2);
      insert(handle, 1);
    } else {
      insert(handle, 1);
      insert(handle, 2);
    }
  }

  void after() {
    tree_->for_each([&](std::uint64_t entry) { --net_.at(entry); });
    for (const int left : net_) RL_ASSERT(left == 0);
    RL_ASSERT(!tree_->broken_invariant());
    tree_.reset();
  }

 private:
  void insert(typename tree::handle& handle, std::uint64_t entry) {
    if (handle.insert(entry)) ++net_.at(entry);
  }
  void erase(typename tree::handle& handle, std::uint64_t entry) {
    if (handle.erase(entry, entry)) --net_.at(entry);
  }

  std::optional<tree> tree_;
  std::array<int, 4> net_{};  // of all threads: relacy runs one at a time
};

}  // namespace assay

int main(int argc, char** argv) {
  return assay::judge<assay::elb_insert_model>(argc, argv, 50'000, 20'000);
}
