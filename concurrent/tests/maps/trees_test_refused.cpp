// What must not compile: a TREE with a POLICY that is unsound for it, or that is none.

#include "tests/maps/trees_test_refused.h"

assay::TREE<int, int, POLICY> refused;
