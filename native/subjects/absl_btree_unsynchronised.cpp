#include <absl/container/btree_map.h>

#include <cstdint>

#include "locked_map.h"

struct absl_btree_unsynchronised
    : locked_map<absl::btree_map<std::uint64_t, std::uint64_t>, no_lock> {
  static constexpr unsigned max_threads = 1;
};

static const assay::trial::subject<absl_btree_unsynchronised> registered{
    "absl_btree_unsynchronised", "absl::btree_map without any lock, for one thread"};
