// A map that one file makes and another fills.

#pragma once

#include <assay/maps/natarajan_mittal_bst.h>

using shared_map = assay::natarajan_mittal_bst<int, int>;

void fill(shared_map& map);
