// ELB-trees of height 3 under relacy: a full node is split, while leaves further down below it are
// split and joined, which sets its status: who is to close it must help that first.

#include "tests/maps/elb_tree_model.h"

int main(int argc, char** argv) {
  return assay::judge<assay::elb_tree_model<930, 540>>(argc, argv, 10'000, 40'000);
}
