#include <mutex>
#include <unordered_map>

#include "assay/probe/elided_locks.h"
#include "locked_map.h"

template <class K, class V>
using std_unordered_map_elided =
    locked_map<std::unordered_map<K, V>, assay::probe::elided_lock<std::mutex>>;

static const assay::subject::map_template<std_unordered_map_elided> registered{
    "std_unordered_map_elided",
    "std_unordered_map_mutex, whose mutex is elided by transactions where the processor has them",
    "at once"};
