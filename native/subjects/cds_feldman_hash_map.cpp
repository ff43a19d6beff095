#include <cds/container/feldman_hashmap_hp.h>

#include "cds_map.h"

// A trie over the bits of the key: its hash must be unique, so it is the key itself, libcds's
// default.
using feldman = cds::container::FeldmanHashMap<cds::gc::HP, std::uint64_t, std::uint64_t>;

static const assay::trial::subject<cds_map<feldman>> registered{
    "cds_feldman_hash_map",
    "libcds's wait-free-searching Feldman hash map, reclaiming by hazard pointers"};
