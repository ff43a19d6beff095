// What must not compile: a tree with a policy that is unsound for it.

#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/reclaim/hazard_pointers.h"

assay::natarajan_mittal_bst<int, int, assay::reclaim::hazard_pointers> refused;
