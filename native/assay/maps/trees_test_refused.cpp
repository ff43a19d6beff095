// What must not compile: a TREE with a POLICY that is unsound for it, or that is none.

#include "assay/maps/natarajan_mittal_bst.h"
#include "assay/maps/ticket_bst.h"
#include "assay/reclaim/hazard_pointers.h"

struct no_policy {};
// Nearly one: nodes cannot be retired.
struct half_a_policy : assay::reclaim::epochs {
  struct guard {};
};

assay::TREE<int, int, POLICY> refused;
