#include <absl/container/btree_map.h>

#include <shared_mutex>

#include "locked_map.h"

template <class K, class V>
using absl_btree_shared_mutex = locked_map<absl::btree_map<K, V>, std::shared_mutex>;

static const assay::subject::map_template<absl_btree_shared_mutex> registered{
    "absl_btree_shared_mutex",
    "absl::btree_map behind one std::shared_mutex; every operation is atomic", "at once"};
