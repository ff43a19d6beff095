#include <cstdint>
#include <map>
#include <mutex>

#include "locked_map.h"

using std_map_mutex = locked_map<std::map<std::uint64_t, std::uint64_t>, std::mutex>;

static const assay::trial::subject<std_map_mutex> registered{"std_map_mutex",
                                                             "std::map behind one std::mutex"};
