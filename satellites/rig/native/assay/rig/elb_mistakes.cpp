// Whether recorded histories show the mistake in elb_tree.h that the argument names.

#include <cstdint>
#include <cstdio>

#include "assay/maps/elb_tree.h"
#include "assay/rig/clock.h"
#include "assay/rig/entry_histories.h"
#include "tests/base/model_mistake.h"
#include "tests/maps/elb_test_variants.h"

int main(int argc, char** argv) {
  if (argc > 1) assay::planted_mistake = argv[1];
  using tree = assay::elb_tree<std::uint64_t, assay::reclaim::hazard_pointers, assay::elb_nodes<6>>;
  const assay::rig::stamp_clock clock;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    assay::elb_test::numbered<tree, std::uint64_t> set;
    const auto seen =
        assay::rig::record_entries(set, {.seed = seed, .keys = seed % 2 == 0 ? 12U : 200U}, clock);
    auto broken = assay::rig::broken_promise(seen, 5);
    if (!broken) broken = set.broken_invariant();
    if (!broken) continue;
    std::printf("found in history %ju: %s\n", std::uintmax_t{seed}, broken->c_str());
    return 0;
  }
  std::puts("the planted mistake was not found");
  return 1;
}
