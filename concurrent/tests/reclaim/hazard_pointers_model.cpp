// Hazard pointers under relacy: two readers follow a shared pointer under guards, and a writer
// replaces the node, retires it and scans.

#include "tests/reclaim/model.h"
// The product's own headers, with relacy's atomics.
#include "assay/reclaim/hazard_pointers.h"

namespace assay::reclaim {
namespace {

struct model_settings : hazard_pointers_settings {
  static constexpr std::size_t nodes_between_scans = 1;
  static constexpr std::size_t records_per_chunk = 3;
};

struct hazard_pointers_model : rl::test_suite<hazard_pointers_model, 3> {
  using domain = basic_hazard_pointers<model_settings>;

  void before() {
    domain_.emplace();
    root_.store(nodes_.make(), memory_order_relaxed);
  }

  void thread(unsigned index) {
    auto me = domain_->join();
    for (int round = 0; round < 2; ++round) {
      auto guard = me.pin();
      if (index == 0) {
        guard.retire(root_.exchange(nodes_.make(), memory_order_acq_rel));
      } else {
        const model_nodes::node* const found = guard.protect(0, root_);
        for (int i = 0; i < 4; ++i) found->expect_alive();
      }
    }  // and the writer scans once more as it leaves
  }

  void after() {
    delete root_.load(memory_order_relaxed);
    domain_.reset();
  }

 private:
  model_nodes nodes_;
  std::optional<domain> domain_;
  atomic<model_nodes::node*> root_;
};

}  // namespace
}  // namespace assay::reclaim

int main(int argc, char** argv) {
  return assay::judge<assay::reclaim::hazard_pointers_model>(argc, argv, 100'000);
}
