// bt_map with other policies: numbers alone, as they have nothing of their own to do with other
// types. And with nodes so small that they are balanced all the time: for the rig, also with byte
// strings as keys, whose records are shared by leaves and separators.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "assay/locks/spin_lock.h"
#include "assay/probe/elided_locks.h"
#include "bt_map.h"

template <class K, class Synchronisation>
struct small_nodes : bt_subject_policies<K, Synchronisation> {
  static constexpr std::size_t leaf_capacity = 6;
  static constexpr std::size_t internal_capacity = 6;
};

template <class Synchronisation, template <class, class> class Policies>
using numbers = bt_subject<std::uint64_t, std::uint64_t, Policies<std::uint64_t, Synchronisation>>;

using under_spin_lock = assay::bt::coarse<assay::sync::spin_lock>;
namespace subject = assay::subject;
using assay::bt::optimistic;
using assay::bt::optimistic_replacing;

static const subject::map<numbers<optimistic_replacing, bt_subject_policies>> replacing{
    "bt_map_replacing", "bt_map whose balancing replaces parents, too, as the thesis has it",
    "epochs"};
static const subject::map<numbers<under_spin_lock, bt_subject_policies>> spin{
    "bt_map_spin", "bt_map of which each operation is a critical section of a spin lock", "epochs"};

template <class K, class V>
using small_optimistic = bt_subject<K, V, small_nodes<K, optimistic>>;
template <class K, class V>
using small_optimistic_replacing = bt_subject<K, V, small_nodes<K, optimistic_replacing>>;
#if ASSAY_FEW_TYPES
template <template <class, class> class Map>
using small_subject = subject::map_template<Map, std::uint64_t, std::string>;
#else
template <template <class, class> class Map>
using small_subject = subject::map<Map<std::uint64_t, std::uint64_t>>;
#endif
static const small_subject<small_optimistic> small{"bt_map_6", "bt_map with nodes of 6", "epochs"};
static const small_subject<small_optimistic_replacing> small_replacing{
    "bt_map_replacing_6", "bt_map_replacing with nodes of 6", "epochs"};
static const subject::map<numbers<under_spin_lock, small_nodes>> small_spin{
    "bt_map_spin_6", "bt_map_spin with nodes of 6", "epochs"};

using under_elided_lock = assay::bt::coarse<assay::probe::elided_lock<std::mutex>>;
static const subject::map<numbers<under_elided_lock, small_nodes>> small_elided{
    "bt_map_elided_6", "bt_map_elided with nodes of 6", "epochs"};
