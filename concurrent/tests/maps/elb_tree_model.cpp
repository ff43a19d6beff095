// ELB-trees of height 2 under relacy: a full node above the leaves is split, while leaves below its
// sibling are split and joined.

#include "tests/maps/elb_tree_model.h"

int main(int argc, char** argv) {
  return assay::judge<assay::elb_tree_model<300, 90>>(argc, argv, 50'000, 20'000);
}
