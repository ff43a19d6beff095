#include <cstdint>
#include <map>
#include <shared_mutex>

#include "locked_map.h"

using std_map_shared_mutex = locked_map<std::map<std::uint64_t, std::uint64_t>, std::shared_mutex>;

static const assay::trial::subject<std_map_shared_mutex> registered{
    "std_map_shared_mutex", "std::map behind one std::shared_mutex"};
