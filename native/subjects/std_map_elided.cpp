#include <map>
#include <mutex>
#include <shared_mutex>

#include "assay/probe/elided_locks.h"
#include "locked_map.h"

template <class K, class V>
using std_map_elided = locked_map<std::map<K, V>, assay::probe::elided_lock<std::mutex>>;
static const assay::subject::map_template<std_map_elided> registered{
    "std_map_elided",
    "std_map_mutex, whose mutex is elided by transactions where the processor has them", "at once"};

template <class K, class V>
using std_map_elided_shared =
    locked_map<std::map<K, V>, assay::probe::elided_shared_lock<std::shared_mutex>>;
static const assay::subject::map_template<std_map_elided_shared> registered_shared{
    "std_map_elided_shared",
    "std_map_shared_mutex, whose mutex is elided by transactions where the processor has them",
    "at once"};
