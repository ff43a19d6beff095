// A container that one file makes and another one uses: CONTAINER is its type.

#pragma once

#include <assay/maps/bt_map.h>
#include <assay/maps/elb_priority_queue.h>
#include <assay/maps/natarajan_mittal_bst.h>

struct own_policies : assay::bt_policies<int> {};

using container = CONTAINER;

void use(container& shared);
