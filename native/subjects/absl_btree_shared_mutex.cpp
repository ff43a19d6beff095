#include <absl/container/btree_map.h>

#include <cstdint>
#include <shared_mutex>

#include "locked_map.h"

using absl_btree_shared_mutex =
    locked_map<absl::btree_map<std::uint64_t, std::uint64_t>, std::shared_mutex>;

static const assay::trial::subject<absl_btree_shared_mutex> registered{
    "absl_btree_shared_mutex", "absl::btree_map behind one std::shared_mutex"};
