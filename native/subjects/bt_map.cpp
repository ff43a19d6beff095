#include "bt_map.h"

#include <cstdint>
#include <mutex>

#include "assay/probe/elided_locks.h"

template <class K, class V>
using optimistic = bt_subject<K, V, bt_subject_policies<K, assay::bt::optimistic>>;
static const assay::subject::map_template<optimistic> registered{
    "bt_map",
    "assay::bt_map: the multiway search tree of Bonnichsen (BT-tree) with optimistic locks, "
    "reclaiming by epochs",
    "epochs"};

// Policies for comparison: numbers alone.
template <class Lock>
using numbers_under = bt_subject<std::uint64_t, std::uint64_t,
                                 bt_subject_policies<std::uint64_t, assay::bt::coarse<Lock>>>;
using under_mutex = numbers_under<std::mutex>;
static const assay::subject::map<under_mutex> registered_mutex{
    "bt_map_mutex", "bt_map of which each operation is a critical section of a std::mutex",
    "epochs"};

using elided = numbers_under<assay::probe::elided_lock<std::mutex>>;
static const assay::subject::map<elided> registered_elided{
    "bt_map_elided",
    "bt_map_mutex, whose mutex is elided by transactions where the processor has them", "epochs"};
