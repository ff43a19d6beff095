#include "shared.h"

void fill(shared_map& map) { map.attach().insert(1, 1); }
