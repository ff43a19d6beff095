// What a program shares with a library that is compiled with -fvisibility=hidden.

#pragma once

#include <assay/locks/elided_lock.h>
#include <assay/maps/bt_map.h>
#include <assay/maps/node_arena.h>
#include <assay/reclaim/epochs.h>

#include <cstddef>

using shared_map = assay::bt_map<int, int>;

#define LIBRARY [[gnu::visibility("default")]]

LIBRARY shared_map& map_of_library();
LIBRARY bool library_has(shared_map& map, int key);
LIBRARY bool library_has(shared_map::handle& handle, int key);
LIBRARY assay::reclaim::epochs& domain_of_library();
LIBRARY void library_fills(shared_map& map);
LIBRARY void library_clears(shared_map& map);
LIBRARY std::size_t bytes_of_library();
LIBRARY void library_unlocks(assay::sync::elided_lock<>& lock);
