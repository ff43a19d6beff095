// Epochs under relacy: threads follow a shared pointer under guards, and two of them replace the
// node and retire it, and are pinned often enough to advance the epoch and to free it. Two, because
// a thread that has retired nothing does not advance the epoch, and only another can do so while a
// writer is inside a guard.

#include "tests/reclaim/model.h"
// The product's own headers, with relacy's atomics.
#include "assay/reclaim/epochs.h"

namespace assay::reclaim {
namespace {

template <std::size_t Bags>
struct model_settings : epochs_settings {
  static constexpr std::int32_t period = 1;
  static constexpr std::size_t records_per_chunk = 3;
  static constexpr std::size_t bags = Bags;
};

template <std::size_t Bags>
struct epochs_model : rl::test_suite<epochs_model<Bags>, 3> {
  using domain = basic_epochs<model_settings<Bags>>;

  void before() {
    domain_.emplace();
    root_.store(nodes_.make(), memory_order_relaxed);
  }

  void thread(unsigned index) {
    auto me = domain_->join();
    const bool writes = index < 2;
    if (writes) replace(me);
    for (int round = 0; round < 3; ++round) read(me);
    if (index == 0) replace(me);
    for (int round = 0; writes && round < 3; ++round) me.pin();
  }

  void after() {
    delete root_.load(memory_order_relaxed);
    domain_.reset();
  }

 private:
  void read(typename domain::participant& me) {
    auto guard = me.pin();
    const model_nodes::node* const found = guard.protect(0, root_);
    for (int i = 0; i < 8; ++i) found->expect_alive();
  }

  void replace(typename domain::participant& me) {
    auto guard = me.pin();
    guard.retire(root_.exchange(nodes_.make(), memory_order_acq_rel));
  }

  model_nodes nodes_;
  std::optional<domain> domain_;
  atomic<model_nodes::node*> root_;
};

}  // namespace
}  // namespace assay::reclaim

int main(int argc, char** argv) {
  using namespace assay::reclaim;
  const bool two_bags = argc > 1 && std::string_view(argv[1]) == "two_bags";
  const auto judged =
      two_bags ? assay::judge<epochs_model<2>> : assay::judge<epochs_model<epochs_settings::bags>>;
  return judged(argc, argv, 100'000, rl::test_params().execution_depth_limit);
}
